/// Gathering rows of a matrix on several GPUs: sizes and places by the communicator, arrays read by kernels in the
/// memory of the others, after all have formed theirs.
#include "solvers/distributed/amg_setup_ranks.hpp"

#include "solvers/distributed/amg_hierarchy.hpp"
#include "solvers/distributed/own_rows.hpp"
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

template <class E>
void copy_from(const Device& here, std::int64_t count, const E* from, E* to) {
  fused::transform_reduce(here, count, CopyElements<E>{from, to});
}

/// Rows of a rank within a range.
template <class T>
struct RowsOfRank {
  const FormedRows<T>* formed;
  RowRange rows;        ///< of the whole
  index_t first;        ///< of them, among those of the rank
  offset_t begin, end;  ///< their entries
};

/// Who has rows of a range, in their order. Waits.
template <class T>
std::vector<RowsOfRank<T>> rows_within(const Device& here, const std::vector<FormedRows<T>>& formed,
                                       const RowRange& range) {
  std::vector<RowsOfRank<T>> result;
  Array<offset_t> ends(2 * static_cast<std::int64_t>(formed.size()), Init::none, here);
  index_t row = 0;
  for (const FormedRows<T>& each : formed) {
    const RowRange rows{std::max(range.first, row), std::min(range.last, row + each.rows)};
    if (rows.first < rows.last) {
      offset_t* const to = ends.data() + 2 * result.size();
      copy_from(here, 1, each.offsets + (rows.first - row), to);
      copy_from(here, 1, each.offsets + (rows.last - row), to + 1);
      result.push_back({&each, rows, rows.first - row, 0, 0});
    }
    row += each.rows;
  }
  std::vector<offset_t> on_host(2 * result.size());
  copy_bytes(Device{}, on_host.data(), here, ends.data(), on_host.size() * sizeof(offset_t));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].begin = on_host[2 * i];
    result[i].end = on_host[2 * i + 1];
  }
  return result;
}

}  // namespace

template <class T>
Stopwatch GroupSetupRanks<T>::begin() const {
  synchronize(group_.device(rank_));
  return {};
}

template <class T>
void GroupSetupRanks<T>::end(const Stopwatch& watch) {
  synchronize(group_.device(rank_));
  communicator().wait(rank_);
  exchange_ms_ += watch.milliseconds();
}

template <class T>
Csr<T> GroupSetupRanks<T>::gather(const Csr<T>& own, const RowRange& range) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  std::vector<FormedRows<T>> formed(static_cast<std::size_t>(size()));
  communicator().gather(
      rank_, FormedRows<T>{own.rows(), own.nnz(), own.row_offsets().data(), own.columns().data(), own.values().data()},
      std::span(formed));
  index_t rows = 0;
  for (const FormedRows<T>& each : formed) rows += each.rows;
  const std::vector<RowsOfRank<T>> parts = rows_within(here, formed, range);
  offset_t nnz = 0;
  for (const RowsOfRank<T>& part : parts) nnz += part.end - part.begin;
  Array<offset_t> offsets(std::int64_t{rows} + 1, Init::none, here);
  Array<index_t> columns(nnz, Init::none, here);
  Array<T> values(own.is_pattern() ? 0 : nnz, Init::none, here);
  fused::transform_reduce(here, range.first, FillOffsets{offsets.data(), 0});
  fused::transform_reduce(here, std::int64_t{rows} + 1 - range.last, FillOffsets{offsets.data() + range.last, nnz});
  offset_t at = 0;
  for (const RowsOfRank<T>& part : parts) {
    fused::transform_reduce(
        here, part.rows.size(),
        CopyOffsets{part.formed->offsets + part.first, offsets.data() + part.rows.first, at - part.begin});
    copy_from(here, part.end - part.begin, part.formed->columns + part.begin, columns.data() + at);
    if (!own.is_pattern()) copy_from(here, part.end - part.begin, part.formed->values + part.begin, values.data() + at);
    at += part.end - part.begin;
  }
  end(watch);
  if (own.is_pattern())
    return Csr<T>::pattern(rows, own.cols(), std::move(offsets), std::move(columns), Check::trusted);
  return Csr<T>(rows, own.cols(), std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
void GroupSetupRanks<T>::coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) {
  partitions_.push_back(
      partition_of_coarse(partitions_.back(), aggregates.of_row, block, aggregates.count, coarse_rows));
}

template <class T>
void GroupSetupRanks<T>::exchange(void* values, std::size_t element_bytes, const Partition& partition, index_t reach) {
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
Csr<T> GroupSetupRanks<T>::finest_rows() {
  return own_rows(product_.local(), this->rows(0).first, partitions_[0].rows());
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
void GroupSetupRanks<T>::take_from_first(Aggregates& aggregates) {
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

template class GroupSetupRanks<float>;
template class GroupSetupRanks<double>;

}  // namespace tessera::detail
