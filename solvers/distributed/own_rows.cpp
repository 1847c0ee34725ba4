/// The rows of a rank from its diagonal block and its halo: lengths, their exclusive sum, entries.
#include "solvers/distributed/own_rows.hpp"

#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
Csr<T> own_rows(const LocalMatrix<T>& local, index_t first_row, index_t cols) {
  const CsrView<T> diagonal = local.diagonal.matrix();
  const CsrView<T> halo = local.off_diagonal ? local.off_diagonal->matrix() : CsrView<T>{};
  const Device device = local.boundary_rows.device();
  const index_t* const boundary = local.boundary_rows.data();
  const index_t* const halo_columns = local.halo_columns.data();
  const index_t rows = diagonal.rows;
  Array<offset_t> offsets(std::int64_t{rows} + 1, Init::none, device);
  Array<offset_t> lower(rows, Init::zero, device);
  fused::transform_reduce(device, rows, OwnLengths{.offsets = diagonal.row_offsets.data(), .lengths = offsets.data()});
  if (local.off_diagonal) {
    transform_rows(device, all_rows(halo),
                   HaloLengths<T>{.block = pointers_of(halo),
                                  .boundary = boundary,
                                  .halo = halo_columns,
                                  .first = first_row,
                                  .lengths = offsets.data(),
                                  .lower = lower.data()});
  }
  const offset_t nnz = sum_to_offsets(device, offsets.span());
  Array<index_t> columns(nnz, Init::none, device);
  Array<T> values(diagonal.is_pattern() ? 0 : nnz, Init::none, device);
  const JoinedRows<T> to{.offsets = offsets.data(),
                         .lower = lower.data(),
                         .columns = columns.data(),
                         .values = diagonal.is_pattern() ? nullptr : values.data()};
  transform_rows(device, all_rows(diagonal), JoinOwn<T>{.block = pointers_of(diagonal), .first = first_row, .to = to});
  if (local.off_diagonal) {
    transform_rows(device, all_rows(halo),
                   JoinHalo<T>{.block = pointers_of(halo),
                               .boundary = boundary,
                               .halo = halo_columns,
                               .first = first_row,
                               .own_offsets = diagonal.row_offsets.data(),
                               .to = to});
  }
  if (diagonal.is_pattern()) {
    return Csr<T>::pattern(rows, cols, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(rows, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> own_rows(const LocalMatrix<float>&, index_t, index_t);
template Csr<double> own_rows(const LocalMatrix<double>&, index_t, index_t);

}  // namespace tessera::detail
