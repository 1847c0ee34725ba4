/// Gathering rows of a matrix on several GPUs: sizes and places by the communicator, arrays by copies between GPUs.
#include "solvers/distributed/amg_setup_ranks.hpp"

#include "solvers/distributed/group.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// The rows that a rank has formed.
template <class T>
struct FormedRows {
  index_t rows;
  offset_t nnz;
  const offset_t* offsets;
  const index_t* columns;
  const T* values;
};

}  // namespace

template <class T>
Csr<T> GpuSetupRanks<T>::gather(Csr<T> own) {
  const Device here = group_.device(rank_);
  Communicator& communicator = *group_.impl()->communicator;
  synchronize(here);  // what others read is complete
  std::vector<FormedRows<T>> all(static_cast<std::size_t>(size()));
  communicator.gather(
      rank_, FormedRows<T>{own.rows(), own.nnz(), own.row_offsets().data(), own.columns().data(), own.values().data()},
      std::span(all));
  index_t rows = 0;
  offset_t nnz = 0;
  for (const FormedRows<T>& each : all) {
    rows += each.rows;
    nnz += each.nnz;
  }
  Array<offset_t> offsets(std::int64_t{rows} + 1, Init::none, here);
  Array<index_t> columns(nnz, Init::none, here);
  Array<T> values(own.is_pattern() ? 0 : nnz, Init::none, here);
  rows = 0;
  nnz = 0;
  for (int other = 0; other < size(); ++other) {
    const FormedRows<T>& formed = all[static_cast<std::size_t>(other)];
    const Device there = group_.device(other);
    const auto entries = static_cast<std::uint64_t>(formed.nnz);
    // The last offset of a part is the first of the next.
    copy_bytes(here, offsets.data() + rows, there, formed.offsets,
               (static_cast<std::uint64_t>(formed.rows) + 1) * sizeof(offset_t));
    fused::transform_reduce(here, std::int64_t{formed.rows} + 1, ShiftOffsets{offsets.data() + rows, nnz});
    copy_bytes(here, columns.data() + nnz, there, formed.columns, entries * sizeof(index_t));
    if (!own.is_pattern()) copy_bytes(here, values.data() + nnz, there, formed.values, entries * sizeof(T));
    rows += formed.rows;
    nnz += formed.nnz;
  }
  synchronize(here);
  communicator.wait(rank_);  // all have read `own`
  if (own.is_pattern())
    return Csr<T>::pattern(rows, own.cols(), std::move(offsets), std::move(columns), Check::trusted);
  return Csr<T>(rows, own.cols(), std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template class GpuSetupRanks<float>;
template class GpuSetupRanks<double>;

}  // namespace tessera::detail
