/// \file
/// One product on the threads of the host: what its phases share, and the phases.
#pragma once

#include "core/memory_budget.hpp"
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "spgemm/host/accumulators/row_workspace.hpp"
#include "spgemm/host/analysis.hpp"
#include "tessera/spgemm.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace tessera::host {

/// Factors, analysis, budget and choice of accumulators of a product.
template <class T>
struct HostJob {
  CsrView<T> a;
  CsrView<T> b;
  Device device;
  detail::MemoryBudget budget;
  ProductAnalysis analysis;
  AccumulatorPolicy policy;
  WorkspaceSizes sizes;
  int workers = 1;

  [[nodiscard]] std::int64_t rows() const noexcept { return a.rows; }
  [[nodiscard]] RowTask task(std::int64_t i) const noexcept { return analysis.task(a.row_offsets.data(), i); }
};

/// Rows below this many products and rows are done by one thread.
inline constexpr std::int64_t serial_products = 4096;

/// Products and rows of a block, at least.
inline constexpr std::int64_t products_per_block = 1024;

/// body(worker, Range of rows) over blocks with nearly equal numbers of products, handed out in order. Each worker is
/// one thread at a time. body must not throw.
template <class T, class Body>
void for_product_blocks(const HostJob<T>& job, Body&& body) {
  const offset_t* products = job.analysis.products.data();
  const offset_t total = job.analysis.total();
  const offset_t length = total + job.rows();
  if (job.workers == 1 || length < grain(serial_products)) {
    body(0, Range{0, job.rows()});
    return;
  }
  const std::int64_t blocks =
      std::min<std::int64_t>(std::int64_t{64} * job.workers, 1 + length / grain(products_per_block));
  const auto row_at = [&](std::int64_t block) -> std::int64_t {
    if (block == blocks) return job.rows();
    // length * block may overflow; the path needs no exact parts.
    const offset_t diagonal = length / blocks * block;
    return merge_search(products, job.a.rows, total, diagonal).y;
  };
  std::atomic<std::int64_t> next{0};
  parallel_tasks(job.device, job.workers, [&](std::int64_t worker) {
    for (std::int64_t block = next.fetch_add(1); block < blocks; block = next.fetch_add(1)) {
      const Range range{row_at(block), row_at(block + 1)};
      if (range.size() > 0) body(static_cast<std::size_t>(worker), range);
    }
  });
}

/// A workspace for every worker, made before the threads start, so that nothing fails inside them.
template <class V>
[[nodiscard]] std::vector<RowWorkspace<V>> make_workspaces(const WorkspaceSizes& sizes, int workers) {
  std::vector<RowWorkspace<V>> workspaces;
  workspaces.reserve(static_cast<std::size_t>(workers));
  for (int w = 0; w < workers; ++w) workspaces.emplace_back(sizes);
  return workspaces;
}

/// Decides how many threads share the rows, and whether accumulators with less memory are chosen, so that the
/// workspaces fit beside `other_bytes`; sets job.sizes, job.workers and job.policy.low_memory. \tparam V T or NoValue
/// \throws OutOfMemory when not even one thread with little memory fits
template <class V, class T>
void fit_workspaces(HostJob<T>& job, std::uint64_t other_bytes);

/// Rows and products by accumulator, those without products left out.
template <class T>
[[nodiscard]] std::vector<SpgemmAccumulatorUse> accumulator_use(const HostJob<T>& job);

/// Symbolic phase: row offsets of C. \throws OutOfMemory
template <class T>
[[nodiscard]] Array<offset_t> count_entries(HostJob<T>& job);

/// Numeric phase: sums every row at its offset. \param columns may be null: values only \param values null for a
/// pattern
template <class V, class T>
void sum_rows(const HostJob<T>& job, std::vector<RowWorkspace<V>>& workspaces, const offset_t* offsets,
              index_t* columns, V* values);

/// Running sum of the counts at counts[1] ...; counts[0] becomes 0.
void counts_to_offsets(Array<offset_t>& counts);

/// Numeric phase of C, whose offsets are known. The caller has reserved its bytes, not those of the workspaces.
template <class V, class T>
[[nodiscard]] Csr<T> sum_into_place(HostJob<T>& job, Array<offset_t> offsets);

/// A matrix with values of type T, or a pattern where V is NoValue.
template <class V, class T>
[[nodiscard]] Csr<T> assemble_result(const HostJob<T>& job, Array<offset_t> offsets, Array<index_t> columns,
                                     Array<V> values) {
  if constexpr (has_values<V>) {
    return Csr<T>(job.a.rows, job.b.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  } else {
    return Csr<T>::pattern(job.a.rows, job.b.cols, std::move(offsets), std::move(columns), Check::trusted);
  }
}

/// Analyses the product and begins to count its memory. \throws OutOfMemory, InvalidArgument
template <class T>
[[nodiscard]] HostJob<T> start_job(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options);

}  // namespace tessera::host
