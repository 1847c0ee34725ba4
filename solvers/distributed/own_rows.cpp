/// The rows of a rank from its diagonal block and its halo: entries move by as many as stand before them in the halo.
#include "solvers/distributed/own_rows.hpp"

#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <algorithm>
#include <limits>

namespace tessera::detail {

namespace {

/// Columns of the halo before the own ones. Waits.
template <class T>
index_t lower_halo(const LocalMatrix<T>& local, index_t first_row) {
  const Array<index_t> halo = local.halo_columns.to(Device{});
  return static_cast<index_t>(std::lower_bound(halo.begin(), halo.end(), first_row) - halo.begin());
}

}  // namespace

template <class T>
SplitRows split_rows(const LocalMatrix<T>& local) {
  const CsrView<T> own = local.diagonal.matrix();
  SplitRows result{.rows = own.rows, .nnz = own.nnz(), .own_offsets = own.row_offsets.data()};
  if (!local.off_diagonal) return result;
  const CsrView<T> halo = local.off_diagonal->matrix();
  result.nnz += halo.nnz();
  result.boundary_rows = halo.rows;
  result.boundary = local.boundary_rows.data();
  result.halo_offsets = halo.row_offsets.data();
  return result;
}

template <class T>
index_t bandwidth_of_split(const LocalMatrix<T>& local, index_t first_row) {
  const Device device = local.boundary_rows.device();
  const CsrView<T> own = local.diagonal.matrix();
  IndexRange range = fused::transform_reduce(
      device, own.rows, Bandwidth{.offsets = own.row_offsets.data(), .columns = own.columns.data()});
  if (local.off_diagonal) {
    const CsrView<T> halo = local.off_diagonal->matrix();
    range += fused::transform_reduce(device, halo.rows,
                                     HaloBandwidth{.offsets = halo.row_offsets.data(),
                                                   .columns = halo.columns.data(),
                                                   .halo = local.halo_columns.data(),
                                                   .boundary = local.boundary_rows.data(),
                                                   .first = first_row});
  }
  return std::max<index_t>(range.most, 0);
}

namespace {

/// Own entries [begin, end), all moved by as much.
template <class T>
void move_entries(const Device& device, const CsrView<T>& own, index_t first_row, offset_t begin, offset_t end,
                  offset_t move, index_t* columns, T* values) {
  if (begin == end) return;
  fused::transform_reduce(device, end - begin,
                          ShiftColumns{own.columns.data() + begin, columns + begin + move, -first_row});
  if (own.is_pattern()) return;
  const auto bytes = static_cast<std::uint64_t>(end - begin) * sizeof(T);
  copy_bytes(device, values + begin + move, device, own.values.data() + begin, bytes);
}

}  // namespace

template <class T>
void join_rows(const LocalMatrix<T>& local, index_t first_row, index_t* columns, T* values) {
  const Device device = local.boundary_rows.device();
  const CsrView<T> own = local.diagonal.matrix();
  if (!local.off_diagonal) return move_entries(device, own, first_row, 0, own.nnz(), 0, columns, values);
  const SplitRows split = split_rows(local);
  const CsrView<T> halo = local.off_diagonal->matrix();
  const index_t lower = lower_halo(local, first_row);
  const index_t count = 2 * split.boundary_rows;
  Array<offset_t> ends(count, Init::none, device);
  Array<offset_t> moves(count + 1, Init::none, device);
  fused::transform_reduce(device, split.boundary_rows,
                          FindMoves{.split = split,
                                    .halo_columns = halo.columns.data(),
                                    .lower = lower,
                                    .ends = ends.data(),
                                    .moves = moves.data()});
  fused::transform_reduce(device, split.boundary_rows,
                          JoinHalo<T>{.split = split,
                                      .columns = halo.columns.data(),
                                      .values = halo.is_pattern() ? nullptr : halo.values.data(),
                                      .halo = local.halo_columns.data(),
                                      .lower = lower,
                                      .to_columns = columns,
                                      .to_values = values});
  // Boundary rows tend to lie at the ends of a part, so most entries move alike.
  offset_t begin = 0;
  offset_t end = 0;
  copy_bytes(Device{}, &begin, device, ends.data(), sizeof(begin));
  copy_bytes(Device{}, &end, device, ends.data() + count - 1, sizeof(end));
  move_entries(device, own, first_row, 0, begin, 0, columns, values);
  move_entries(device, own, first_row, end, own.nnz(), halo.nnz(), columns, values);
  fused::transform_reduce(device, end - begin,
                          JoinOwn<T>{.columns = own.columns.data(),
                                     .values = own.is_pattern() ? nullptr : own.values.data(),
                                     .first = first_row,
                                     .begin = begin,
                                     .ends = ends.data(),
                                     .moves = moves.data(),
                                     .count = count,
                                     .to_columns = columns,
                                     .to_values = values});
}

template SplitRows split_rows(const LocalMatrix<float>&);
template SplitRows split_rows(const LocalMatrix<double>&);
template index_t bandwidth_of_split(const LocalMatrix<float>&, index_t);
template index_t bandwidth_of_split(const LocalMatrix<double>&, index_t);
template void join_rows(const LocalMatrix<float>&, index_t, index_t*, float*);
template void join_rows(const LocalMatrix<double>&, index_t, index_t*, double*);

}  // namespace tessera::detail
