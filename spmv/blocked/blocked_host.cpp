/// \file
/// The blocked product on the host: threads take blocks of columns, then segments.
#include "core/first_exception.hpp"
#include "core/grain.hpp"
#include "core/parallel.hpp"
#include "spmv/blocked/blocked.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "spmv/common/chunk_product.hpp"
#include "spmv/common/epilogue.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::host {

namespace {

constexpr std::int64_t items_per_segment = 65536;  ///< path items: positions in a list take 16 bits
constexpr std::int64_t least_column_block = 65536;
constexpr std::int64_t nonzeros_per_cell = 8;  ///< at least, on average

/// Distinct columns of every segment, ascending, and the position of each nonzero among them.
struct HostHaloLists {
  std::int64_t column_block = least_column_block;
  std::int64_t blocks = 0;         ///< of columns
  Array<PathPoint> points;         ///< segments + 1
  Array<offset_t> first_slot;      ///< segments + 1
  Array<index_t> columns;          ///< per slot
  Array<std::uint16_t> positions;  ///< per nonzero
  Array<std::uint32_t> cells;      ///< [block * segments + s]: first slot of the cell in segment s

  [[nodiscard]] std::int64_t segments() const noexcept { return points.size() - 1; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return points.bytes() + first_slot.bytes() + columns.bytes() + positions.bytes() + cells.bytes();
  }
};

/// Sorts the columns of a segment. \param positions of its nonzeros, set \returns its distinct columns
std::vector<index_t> number_columns(std::span<const index_t> of_nonzeros, std::span<std::uint16_t> positions) {
  std::vector<std::pair<index_t, std::uint32_t>> sorted(of_nonzeros.size());
  for (std::uint32_t k = 0; k < sorted.size(); ++k) sorted[k] = {of_nonzeros[k], k};
  std::ranges::sort(sorted);
  std::vector<index_t> distinct;
  for (const auto& [column, k] : sorted) {
    if (distinct.empty() || distinct.back() != column) distinct.push_back(column);
    positions[k] = static_cast<std::uint16_t>(distinct.size() - 1);
  }
  return distinct;
}

/// Blocks of columns so large that cells have nonzeros_per_cell nonzeros on average.
[[nodiscard]] std::int64_t choose_column_block(index_t cols, offset_t nnz, std::int64_t segments) {
  std::int64_t block = grain(least_column_block);
  while (segments * (cols / block) * nonzeros_per_cell > nnz && block < cols) block *= 2;
  return block;
}

template <class T>
[[nodiscard]] HostHaloLists build_halo_lists(const CsrView<T>& a, const Device& device) {
  HostHaloLists lists;
  const offset_t length = path_length(a.rows, a.nnz());
  const std::int64_t items = grain(items_per_segment);
  const std::int64_t segments = std::max<std::int64_t>((length + items - 1) / items, 1);
  lists.points = Array<PathPoint>(segments + 1);
  lists.first_slot = Array<offset_t>(segments + 1);
  lists.positions = Array<std::uint16_t>(a.nnz(), Init::none);
  for (std::int64_t s = 0; s <= segments; ++s) {
    const offset_t diagonal = s < segments ? part_of(length, segments, s).begin : length;
    lists.points[s] = merge_search(a.row_offsets.data(), a.rows, a.nnz(), diagonal);
  }
  std::vector<std::vector<index_t>> distinct(static_cast<std::size_t>(segments));
  FirstException failure;
  parallel_tasks(device, segments, [&](std::int64_t s) {
    const auto begin = static_cast<std::size_t>(lists.points[s].x);
    const auto count = static_cast<std::size_t>(lists.points[s + 1].x) - begin;
    failure.keep([&] {
      distinct[static_cast<std::size_t>(s)] =
          number_columns(a.columns.subspan(begin, count), lists.positions.span().subspan(begin, count));
    });
  });
  failure.rethrow();
  for (std::int64_t s = 0; s < segments; ++s) {
    lists.first_slot[s + 1] = lists.first_slot[s] + std::ssize(distinct[static_cast<std::size_t>(s)]);
  }
  lists.columns = Array<index_t>(lists.first_slot[segments], Init::none);
  lists.column_block = choose_column_block(a.cols, a.nnz(), segments);
  lists.blocks = (a.cols + lists.column_block - 1) / lists.column_block;
  lists.cells = Array<std::uint32_t>((lists.blocks + 1) * segments, Init::none);
  parallel_tasks(device, segments, [&](std::int64_t s) {
    const std::vector<index_t>& of_segment = distinct[static_cast<std::size_t>(s)];
    std::ranges::copy(of_segment, lists.columns.data() + lists.first_slot[s]);
    for (std::int64_t block = 0; block <= lists.blocks; ++block) {
      const auto first = std::ranges::lower_bound(of_segment, block * lists.column_block, {},
                                                  [](index_t column) { return std::int64_t{column}; });
      lists.cells[block * segments + s] = static_cast<std::uint32_t>(first - of_segment.begin());
    }
  });
  return lists;
}

/// The terms of a segment: x lies in its halo list. Has the members of WeightedTerms and PatternTerms.
template <class T, bool Weighted>
struct HaloTerms {
  const T* values;
  const std::uint16_t* positions;
  const T* list;
  offset_t count;  ///< end of the segment: positions beyond belong to another list

  [[nodiscard]] T operator[](offset_t k) const noexcept {
    if constexpr (Weighted) return values[k] * list[positions[k]];
    return list[positions[k]];
  }
  void prefetch_matrix(offset_t k) const noexcept {
    k = std::min(k, count - 1);
    if constexpr (Weighted) __builtin_prefetch(values + k);
    __builtin_prefetch(positions + k);
  }
};

template <class T>
class BlockedHostKernel final : public SpmvKernel<T> {
 public:
  BlockedHostKernel(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device),
        halos_(build_halo_lists(a, options.device)),
        lists_(halos_.columns.size(), Init::none),
        chunks_(halos_.segments(), Init::none) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_epilogue(alpha, beta, y, [&](const auto& epilogue) { multiply(a, x, epilogue); });
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return multiply(a, x, OverwriteAndDot<T>{y.data(), w.data()});
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = halos_.bytes() + lists_.bytes() + chunks_.bytes();
    info.reason += "; " + cuda::describe_blocks(halos_.segments(), halos_.blocks, halos_.column_block, lists_.size(),
                                                halos_.positions.size());
  }

 private:
  template <class Epilogue>
  ProductDots multiply(const CsrView<T>& a, std::span<const T> x, const Epilogue& epilogue) const {
    const std::scoped_lock lock(mutex_);
    fill_lists(x);
    if (a.is_pattern()) return multiply_segments<false>(a, epilogue);
    return multiply_segments<true>(a, epilogue);
  }

  void fill_lists(std::span<const T> x) const {
    const std::int64_t segments = halos_.segments();
    parallel_tasks(device_, halos_.blocks, [&](std::int64_t block) {
      const std::uint32_t* const begin = halos_.cells.data() + block * segments;
      for (std::int64_t s = 0; s < segments; ++s) {
        const offset_t end = halos_.first_slot[s] + begin[segments + s];
        for (offset_t slot = halos_.first_slot[s] + begin[s]; slot < end; ++slot) {
          lists_[slot] = x[static_cast<std::size_t>(halos_.columns[slot])];
        }
      }
    });
  }

  template <bool Weighted, class Epilogue>
  ProductDots multiply_segments(const CsrView<T>& a, const Epilogue& epilogue) const {
    parallel_tasks(device_, halos_.segments(), [&](std::int64_t s) {
      const HaloTerms<T, Weighted> terms{a.values.data(), halos_.positions.data(), lists_.data() + halos_.first_slot[s],
                                         halos_.points[s + 1].x};
      chunks_[s] = multiply_chunk<T>(a.row_offsets.data(), halos_.points[s], halos_.points[s + 1], terms, epilogue);
    });
    return join_chunks<T>(std::as_const(chunks_).span(), a.rows, epilogue);
  }

  Device device_;
  HostHaloLists halos_;
  mutable std::mutex mutex_;  ///< of what follows, during a product
  mutable Array<T> lists_;
  mutable Array<PathChunk<T>> chunks_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_blocked_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<BlockedHostKernel<T>>(a, options);
}

template std::unique_ptr<SpmvKernel<float>> make_blocked_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_blocked_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host
