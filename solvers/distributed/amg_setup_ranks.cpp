/// Gathering rows of a matrix on several GPUs: sizes and places by the communicator, arrays read by kernels in the
/// memory of the others, after all have formed theirs.
#include "solvers/distributed/amg_setup_ranks.hpp"

#include "core/cuda/memory.hpp"
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
  index_t rows = 0;
  offset_t nnz = 0;
  const offset_t* offsets = nullptr;
  const index_t* columns = nullptr;
  const T* values = nullptr;
  offset_t before = 0;  ///< that offsets count, but columns and values leave out
};

/// A kernel begins sooner than a copy, which is faster from here on.
constexpr std::int64_t least_copied_words = std::int64_t{1} << 20;

template <class E>
void copy_from(const Device& here, std::int64_t count, const E* from, E* to) {
  fused::transform_reduce(here, count, CopyElements<E>{from, to});
}

/// Rows of a rank within a range.
struct RowsOfRank {
  int rank = 0;
  RowRange rows;      ///< of the whole
  index_t first = 0;  ///< of them, among those of the rank
  offset_t begin = 0;
  offset_t end = 0;  ///< their entries, among those of the rank
  offset_t at = 0;   ///< where they begin, among those of the range
};

/// Rows and entries of a rank.
struct SizeOfRank {
  index_t rows;
  offset_t nnz;
};

/// Who has rows of a range, in their order, and which entries these are. Waits. \param begin_of enqueues begin_of(rank,
/// row of the rank, where to): the entries before a row that is neither its first nor its end
template <class BeginOf>
std::vector<RowsOfRank> rows_within(const Device& here, std::span<const SizeOfRank> sizes, const RowRange& range,
                                    const BeginOf& begin_of) {
  std::vector<RowsOfRank> result;
  Array<offset_t> asked(2 * static_cast<std::int64_t>(sizes.size()), Init::none, here);
  index_t row = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const SizeOfRank& size = sizes[rank];
    const RowRange rows{std::max(range.first, row), std::min(range.last, row + size.rows)};
    const index_t first = rows.first - row;
    if (rows.first < rows.last) {
      offset_t* const to = asked.data() + 2 * result.size();
      if (first > 0) begin_of(static_cast<int>(rank), first, to);
      if (rows.last < row + size.rows) begin_of(static_cast<int>(rank), rows.last - row, to + 1);
      result.push_back({.rank = static_cast<int>(rank), .rows = rows, .first = first});
    }
    row += size.rows;
  }
  const Array<offset_t> answers = asked.to(Device{});
  offset_t at = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    RowsOfRank& part = result[i];
    const SizeOfRank& size = sizes[static_cast<std::size_t>(part.rank)];
    const auto answer = static_cast<std::int64_t>(2 * i);
    part.begin = part.first == 0 ? 0 : answers[answer];
    part.end = part.first + part.rows.size() == size.rows ? size.nnz : answers[answer + 1];
    part.at = at;
    at += part.end - part.begin;
  }
  return result;
}

/// Arrays of a matrix that has some of its rows.
template <class T>
struct GatheredRows {
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<T> values;

  GatheredRows(const Device& here, index_t rows, const RowRange& range, offset_t nnz, bool is_pattern)
      : offsets(std::int64_t{rows} + 1, Init::none, here),
        columns(nnz, Init::none, here),
        values(is_pattern ? 0 : nnz, Init::none, here) {
    fused::transform_reduce(here, range.first, FillOffsets{offsets.data(), 0});
    fused::transform_reduce(here, std::int64_t{rows} + 1 - range.last, FillOffsets{offsets.data() + range.last, nnz});
  }

  [[nodiscard]] Csr<T> matrix(index_t cols, bool is_pattern) {
    const std::int64_t rows = offsets.size() - 1;
    if (is_pattern) return Csr<T>::pattern(rows, cols, std::move(offsets), std::move(columns), Check::trusted);
    return Csr<T>(rows, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  }
};

[[nodiscard]] offset_t entries_of(const std::vector<RowsOfRank>& parts) {
  return parts.empty() ? 0 : parts.back().at + parts.back().end - parts.back().begin;
}

/// Entries by copies, which both directions of a link make at once, offsets by a kernel. \param ordinal of the GPU that
/// has the rows
template <class T>
void take_rows(const Device& here, int ordinal, const RowsOfRank& part, const FormedRows<T>& from,
               GatheredRows<T>& to) {
  const auto entries = static_cast<std::uint64_t>(part.end - part.begin);
  fused::transform_reduce(
      here, part.rows.size(),
      CopyOffsets{from.offsets + part.first, to.offsets.data() + part.rows.first, part.at - part.begin - from.before});
  cuda::copy_from_peer(here, to.columns.data() + part.at, ordinal, from.columns + part.begin,
                       entries * sizeof(index_t));
  if (to.values.empty()) return;
  cuda::copy_from_peer(here, to.values.data() + part.at, ordinal, from.values + part.begin, entries * sizeof(T));
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
Csr<T> GpuSetupRanks<T>::gather(const Csr<T>& own, const RowRange& range) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  std::vector<FormedRows<T>> formed(static_cast<std::size_t>(size()));
  communicator().gather(
      rank_, FormedRows<T>{own.rows(), own.nnz(), own.row_offsets().data(), own.columns().data(), own.values().data()},
      std::span(formed));
  std::vector<SizeOfRank> sizes;
  sizes.reserve(static_cast<std::size_t>(size()));
  index_t rows = 0;
  for (const FormedRows<T>& each : formed) {
    sizes.push_back({each.rows, each.nnz});
    rows += each.rows;
  }
  const std::vector<RowsOfRank> parts = rows_within(here, sizes, range, [&](int rank, index_t row, offset_t* to) {
    copy_from(here, 1, formed[static_cast<std::size_t>(rank)].offsets + row, to);
  });
  GatheredRows<T> result(here, rows, range, entries_of(parts), own.is_pattern());
  for (const RowsOfRank& part : parts) {
    take_rows(here, group_.device(part.rank).ordinal(), part, formed[static_cast<std::size_t>(part.rank)], result);
  }
  end(watch);
  return result.matrix(own.cols(), own.is_pattern());
}

template <class T>
void GpuSetupRanks<T>::coarsen(const Aggregates& aggregates, index_t block, index_t coarse_rows) {
  partitions_.push_back(
      partition_of_coarse(partitions_.back(), aggregates.of_row, block, aggregates.count, coarse_rows));
}

template <class T>
void GpuSetupRanks<T>::exchange(void* values, std::size_t element_bytes, const Partition& partition, index_t distance) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  std::vector<const std::uint32_t*> all(static_cast<std::size_t>(size()));
  auto* const own = static_cast<std::uint32_t*>(values);
  communicator().template gather<const std::uint32_t*>(rank_, own, std::span(all));
  const auto words = static_cast<std::int64_t>(element_bytes / sizeof(std::uint32_t));
  const std::int64_t first = std::int64_t{partition.first_row(rank_)} - distance;
  const std::int64_t last = std::int64_t{partition.first_row(rank_ + 1)} + distance;
  for (int other = 0; other < size(); ++other) {
    if (other == rank_) continue;
    const std::int64_t begin = words * std::max<std::int64_t>(first, partition.first_row(other));
    const std::int64_t end = words * std::min<std::int64_t>(last, partition.first_row(other + 1));
    if (begin >= end) continue;
    const std::uint32_t* const from = all[static_cast<std::size_t>(other)] + begin;
    if (end - begin < least_copied_words) {
      copy_from(here, end - begin, from, own + begin);
    } else {
      const auto bytes = static_cast<std::uint64_t>(end - begin) * sizeof(std::uint32_t);
      cuda::copy_from_peer(here, own + begin, group_.device(other).ordinal(), from, bytes);
    }
  }
  end(watch);
}

template <class T>
offset_t GpuSetupRanks<T>::finest_nnz() {
  return communicator().sum(rank_, split_rows(product_.local()).nnz);
}

template <class T>
index_t GpuSetupRanks<T>::finest_bandwidth() {
  const index_t own = bandwidth_of_split(product_.local(), this->rows(0).first);
  return communicator().sum(rank_, IndexRange{.most = own}).most;
}

/// Every rank joins its own rows in their place; then all take those beside them from each other.
template <class T>
Csr<T> GpuSetupRanks<T>::gather_finest(const RowRange& range) {
  const Device here = group_.device(rank_);
  const Stopwatch watch = begin();
  const bool is_pattern = product_.local().diagonal.matrix().is_pattern();
  std::vector<SplitRows> split(static_cast<std::size_t>(size()));
  communicator().gather(rank_, split_rows(product_.local()), std::span(split));
  std::vector<SizeOfRank> sizes;
  sizes.reserve(static_cast<std::size_t>(size()));
  for (const SplitRows& each : split) sizes.push_back({each.rows, each.nnz});
  const auto begin_of = [&](int rank, index_t row, offset_t* to) {
    fused::transform_reduce(
        here, 1, RowBegins{.split = split[static_cast<std::size_t>(rank)], .first = row, .shift = 0, .to = to});
  };
  const std::vector<RowsOfRank> parts = rows_within(here, sizes, range, begin_of);
  GatheredRows<T> result(here, partitions_[0].rows(), range, entries_of(parts), is_pattern);
  const RowRange own = this->rows(0);
  FormedRows<T> joined{.rows = own.size()};
  for (const RowsOfRank& part : parts) {
    if (part.rank != rank_) continue;
    index_t* const columns = result.columns.data() + part.at;
    T* const values = is_pattern ? nullptr : result.values.data() + part.at;
    joined = {own.size(), part.end, result.offsets.data() + own.first, columns, values, part.at};
    fused::transform_reduce(here, own.size(),
                            RowBegins{.split = split[static_cast<std::size_t>(rank_)],
                                      .first = 0,
                                      .shift = part.at,
                                      .to = result.offsets.data() + own.first});
    join_rows(product_.local(), own.first, columns, values);
  }
  synchronize(here);
  std::vector<FormedRows<T>> formed(static_cast<std::size_t>(size()));
  communicator().gather(rank_, joined, std::span(formed));
  for (const RowsOfRank& part : parts) {
    if (part.rank != rank_)
      take_rows(here, group_.device(part.rank).ordinal(), part, formed[static_cast<std::size_t>(part.rank)], result);
  }
  end(watch);
  return result.matrix(partitions_[0].rows(), is_pattern);
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
