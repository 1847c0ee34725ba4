#include "spgemm/host/job.hpp"

#include <utility>

namespace tessera::host {

template <class V, class T>
void sum_rows(const HostJob<T>& job, std::vector<RowWorkspace<V>>& workspaces, const offset_t* offsets,
              index_t* columns, V* values) {
  const auto factors = factors_of<V>(job.a, job.b);
  for_product_blocks(job, [&](std::size_t worker, Range rows) {
    RowWorkspace<V>& workspace = workspaces[worker];
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      RowTask row = job.task(i);
      if (row.products == 0) continue;
      const SpgemmAccumulator accumulator = choose_accumulator(row, job.policy);
      row.limit = offsets[i + 1] - offsets[i];
      workspace.accumulate(factors, row, accumulator);
      workspace.emit(columns == nullptr ? nullptr : columns + offsets[i],
                     has_values<V> ? values + offsets[i] : nullptr);
    }
  });
}

template <class V, class T>
Csr<T> sum_into_place(HostJob<T>& job, Array<offset_t> offsets) {
  const offset_t nnz = offsets[job.rows()];
  fit_workspaces<V>(job, 0);
  const std::uint64_t bytes = RowWorkspace<V>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers);
  job.budget.reserve(bytes, "workspace of a sparse product");
  auto workspaces = make_workspaces<V>(job.sizes, job.workers);
  Array<index_t> columns(nnz, Init::none);
  Array<V> values(has_values<V> ? nnz : 0, Init::none);
  sum_rows<V>(job, workspaces, offsets.data(), columns.data(), values.data());
  job.budget.release(bytes);
  return assemble_result<V, T>(job, std::move(offsets), std::move(columns), std::move(values));
}

template void sum_rows(const HostJob<float>&, std::vector<RowWorkspace<float>>&, const offset_t*, index_t*, float*);
template void sum_rows(const HostJob<double>&, std::vector<RowWorkspace<double>>&, const offset_t*, index_t*, double*);
template Csr<float> sum_into_place<float>(HostJob<float>&, Array<offset_t>);
template Csr<float> sum_into_place<NoValue>(HostJob<float>&, Array<offset_t>);
template Csr<double> sum_into_place<double>(HostJob<double>&, Array<offset_t>);
template Csr<double> sum_into_place<NoValue>(HostJob<double>&, Array<offset_t>);

}  // namespace tessera::host
