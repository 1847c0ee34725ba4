/// Gathering rows of a matrix on several GPUs: sizes and places by the communicator, arrays read by kernels in the
/// memory of the others, after all have formed theirs.
#include "solvers/distributed/amg_setup_ranks.hpp"

#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/distributed/amg_hierarchy.hpp"
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
  if (own.is_pattern())
    return Csr<T>::pattern(rows, own.cols(), std::move(offsets), std::move(columns), Check::trusted);
  return Csr<T>(rows, own.cols(), std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
void GpuSetupRanks<T>::coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) {
  partitions_.push_back(
      partition_of_coarse(partitions_.back(), aggregates.of_row, block, aggregates.count, coarse_rows));
}

template <class T>
void GpuSetupRanks<T>::complete(std::span<T> values, const Partition& partition) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  std::vector<const T*> all(static_cast<std::size_t>(size()));
  communicator().template gather<const T*>(rank_, values.data(), std::span(all));
  for (int other = 0; other < size(); ++other) {
    if (other == rank_) continue;
    const index_t first = partition.first_row(other);
    copy_from<T>(here, partition.rows_of(other), all[static_cast<std::size_t>(other)] + first, values.data() + first);
  }
  end(watch);
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
