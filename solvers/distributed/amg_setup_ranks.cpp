/// Gathering rows of a matrix on several GPUs: sizes and places by the communicator, arrays read by kernels in the
/// memory of the others, after all have formed theirs.
#include "solvers/distributed/amg_setup_ranks.hpp"

#include "core/borrowed_csr.hpp"
#include "core/row_slice.hpp"
#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/distributed/amg_hierarchy.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// \param values none of a pattern
template <class T>
Csr<T> make_csr(bool is_pattern, index_t rows, index_t cols, Array<offset_t> offsets, Array<index_t> columns,
                Array<T> values) {
  if (is_pattern) return Csr<T>::pattern(rows, cols, std::move(offsets), std::move(columns), Check::trusted);
  return Csr<T>(rows, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class E>
void copy_from(const Device& here, std::int64_t count, const E* from, E* to) {
  fused::transform_reduce(here, count, CopyElements<E>{from, to});
}

}  // namespace

template <class T>
Stopwatch GpuSetupRanks<T>::begin() const {
  synchronize(group_.device(rank_));
  return {};
}

template <class T>
void GpuSetupRanks<T>::end(const Stopwatch& watch) {
  synchronize(group_.device(rank_));
  communicator().wait(rank_);
  exchange_ms_ += watch.milliseconds();
}

template <class T>
Csr<T> GpuSetupRanks<T>::gather(Csr<T> own) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  std::vector<FormedRows<T>> all(static_cast<std::size_t>(size()));
  communicator().gather(
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
    // The last offset of a part is the first of the next.
    fused::transform_reduce(here, std::int64_t{formed.rows} + 1,
                            CopyOffsets{formed.offsets, offsets.data() + rows, nnz});
    copy_from(here, formed.nnz, formed.columns, columns.data() + nnz);
    if (!own.is_pattern()) copy_from(here, formed.nnz, formed.values, values.data() + nnz);
    rows += formed.rows;
    nnz += formed.nnz;
  }
  end(watch);
  return make_csr(own.is_pattern(), rows, own.cols(), std::move(offsets), std::move(columns), std::move(values));
}

template <class T>
void GpuSetupRanks<T>::coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) {
  partitions_.push_back(
      partition_of_coarse(partitions_.back(), aggregates.of_row, block, aggregates.count, coarse_rows));
}

template <class T>
void GpuSetupRanks<T>::exchange(void* values, std::size_t element_bytes, const Partition& partition, index_t reach) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  std::vector<const std::uint32_t*> all(static_cast<std::size_t>(size()));
  auto* const own = static_cast<std::uint32_t*>(values);
  communicator().template gather<const std::uint32_t*>(rank_, own, std::span(all));
  const auto words = static_cast<std::int64_t>(element_bytes / sizeof(std::uint32_t));
  const std::int64_t first = std::int64_t{partition.first_row(rank_)} - reach;
  const std::int64_t last = std::int64_t{partition.first_row(rank_ + 1)} + reach;
  for (int other = 0; other < size(); ++other) {
    if (other == rank_) continue;
    const std::int64_t begin = words * std::max<std::int64_t>(first, partition.first_row(other));
    const std::int64_t end = words * std::min<std::int64_t>(last, partition.first_row(other + 1));
    if (begin < end) copy_from(here, end - begin, all[static_cast<std::size_t>(other)] + begin, own + begin);
  }
  end(watch);
}

template <class T>
Device GpuSetupRanks<T>::home() const {
  return matrix_.device().is_host() ? share_of_host(size()) : Device::cuda(matrix_.device().ordinal());
}

/// From the host, every rank brings its rows, and gets those of the others from them.
template <class T>
Csr<T> GpuSetupRanks<T>::finest() {
  const Device here = group_.device(rank_);
  if (matrix_.device() == here) return borrow_csr(matrix_.view(), here);
  if (!matrix_.device().is_host()) return borrow_csr(matrix_.view(), home()).to(here);
  const RowRange own = this->rows(0);
  const RowSlice<T> slice = slice_rows(matrix_.view(), Device{}, own.first, own.size());
  return gather(borrow_csr(slice.view, Device{}).to(here));
}

template <class T>
Csr<T> GpuSetupRanks<T>::finest_rows(const RowRange& range) {
  const Device here = group_.device(rank_);
  if (matrix_.device() == here) return borrow_csr(matrix_.view(), here);
  const Device there = home();
  const offset_t* const from = matrix_.row_offsets().data() + range.first;
  offset_t begin = 0;
  copy_bytes(Device{}, &begin, there, from, sizeof(begin));
  const offset_t nnz = entries_of(there, matrix_.row_offsets().span(), range);
  Array<offset_t> part(std::int64_t{range.size()} + 1, Init::none, here);
  copy_bytes(here, part.data(), there, from, part.bytes());
  Array<offset_t> offsets(std::int64_t{matrix_.rows()} + 1, Init::none, here);
  fused::transform_reduce(here, offsets.size(),
                          PlaceOffsets{.from = part.data(), .to = offsets.data(), .rows = range, .begin = begin});
  Array<index_t> columns(nnz, Init::none, here);
  copy_bytes(here, columns.data(), there, matrix_.columns().data() + begin, columns.bytes());
  Array<T> values(matrix_.is_pattern() ? 0 : nnz, Init::none, here);
  if (!values.empty()) copy_bytes(here, values.data(), there, matrix_.values().data() + begin, values.bytes());
  return make_csr(matrix_.is_pattern(), matrix_.rows(), matrix_.cols(), std::move(offsets), std::move(columns),
                  std::move(values));
}

/// From the first rank for all, where the matrix lies on a GPU.
template <class T>
index_t GpuSetupRanks<T>::finest_reach() {
  const bool is_on_host = matrix_.device().is_host();
  IndexRange range;
  if (is_on_host) {
    range = bandwidth(home(), matrix_.view(), this->rows(0));
  } else if (rank_ == 0) {
    const Device first = group_.device(0);
    range = bandwidth(matrix_.device() == first ? first : home(), matrix_.view(), {0, matrix_.rows()});
  }
  range = communicator().sum(rank_, range);
  return range.most < 0 ? 0 : range.most;
}

namespace {

struct FoundAggregates {
  const index_t* of_row;
  std::int64_t nodes;
  index_t count;
  std::int64_t without;
  int rounds;
};

}  // namespace

template <class T>
void GpuSetupRanks<T>::take_from_first(Aggregates& aggregates) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  const auto found =
      communicator().of_first(rank_, FoundAggregates{aggregates.of_row.data(), aggregates.of_row.size(),
                                                     aggregates.count, aggregates.without, aggregates.rounds});
  if (rank_ != 0) {
    Array<index_t> of_row(found.nodes, Init::none, here);
    copy_from(here, found.nodes, found.of_row, of_row.data());
    aggregates = {std::move(of_row), found.count, found.without, found.rounds};
  }
  end(watch);
}

template class GpuSetupRanks<float>;
template class GpuSetupRanks<double>;

}  // namespace tessera::detail
