/// \file
/// A tile row of C on the host, by the pairs of tiles that meet in it: positions by Boolean products of bitmaps, sums
/// in dense tiles (bmSPARSE, GRADES-NDA 2018).
#pragma once

#include "core/bitmap_tile.hpp"
#include "core/parallel.hpp"
#include "spgemm/common/factors.hpp"
#include "spgemm/common/tile_arithmetic.hpp"
#include "tessera/array.hpp"
#include "tessera/tile_matrix.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::host {

/// Tiles [first, last) of a matrix.
struct TileRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

template <class T>
[[nodiscard]] TileRange tiles_of_row(const TileView<T>& matrix, index_t tile_row) {
  const auto i = static_cast<std::size_t>(tile_row);
  return {static_cast<std::size_t>(matrix.tile_row_offsets[i]),
          static_cast<std::size_t>(matrix.tile_row_offsets[i + 1])};
}

/// body(tile of A, tile of B) for the pairs that meet in a tile row of C: tiles of A ascending, then tiles of B.
template <class T, class Body>
void for_each_pair(const TileView<T>& a, const TileView<T>& b, index_t tile_row, Body&& body) {
  const TileRange of_a = tiles_of_row(a, tile_row);
  for (std::size_t s = of_a.first; s < of_a.last; ++s) {
    const TileRange of_b = tiles_of_row(b, a.tile_columns[s]);
    for (std::size_t t = of_b.first; t < of_b.last; ++t) body(s, t);
  }
}

/// Pairs of tiles, empty ones too.
struct TilePairs {
  std::int64_t most = 0;  ///< of a tile row
  std::int64_t all = 0;

  TilePairs& operator+=(const TilePairs& other) noexcept {
    most = std::max(most, other.most);
    all += other.all;
    return *this;
  }
};

/// O(tiles of A).
template <class T>
[[nodiscard]] TilePairs count_pairs(const Device& device, const TileView<T>& a, const TileView<T>& b) {
  return parallel_sum<TilePairs>(device, a.tile_rows(), [&](Range rows) {
    TilePairs sum;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      std::int64_t of_row = 0;
      const TileRange of_a = tiles_of_row(a, static_cast<index_t>(i));
      for (std::size_t s = of_a.first; s < of_a.last; ++s) {
        const TileRange of_b = tiles_of_row(b, a.tile_columns[s]);
        of_row += static_cast<std::int64_t>(of_b.last - of_b.first);
      }
      sum += TilePairs{of_row, of_row};
    }
    return sum;
  });
}

/// Tiles of a tile row that have entries, and their entries.
struct TileRowSize {
  std::int64_t tiles = 0;
  std::int64_t entries = 0;
};

/// A tile row of C: tile columns, bitmaps, and sums of 64 entries per tile.
template <class V>
class TileRowSums {
 public:
  /// \param most_pairs of a tile row \param most_tiles of a tile row of C, 0 where nothing is summed
  TileRowSums(std::int64_t most_pairs, std::int64_t most_tiles)
      : columns_(most_pairs, Init::none),
        bitmaps_(most_pairs, Init::none),
        sums_(has_values<V> ? most_tiles * detail::tile_entries : 0, Init::none) {}

  [[nodiscard]] static std::uint64_t bytes(std::int64_t most_pairs, std::int64_t most_tiles) noexcept {
    return static_cast<std::uint64_t>(most_pairs) * (sizeof(index_t) + sizeof(std::uint64_t)) +
           static_cast<std::uint64_t>(most_tiles) * detail::tile_entries * value_bytes<V>;
  }

  [[nodiscard]] std::int64_t tiles() const noexcept { return tiles_; }

  /// Finds tiles and positions. \returns pairs that are not empty
  template <class T>
  offset_t multiply_bitmaps(const TileView<T>& a, const TileView<T>& b, index_t tile_row) {
    std::int64_t pairs = 0;
    for_each_pair(a, b, tile_row, [&](std::size_t /*s*/, std::size_t t) { columns_[pairs++] = b.tile_columns[t]; });
    index_t* const begin = columns_.data();
    std::sort(begin, begin + pairs);
    tiles_ = std::unique(begin, begin + pairs) - begin;
    std::fill_n(bitmaps_.data(), tiles_, std::uint64_t{0});
    offset_t live = 0;
    for_each_pair(a, b, tile_row, [&](std::size_t s, std::size_t t) {
      const std::uint64_t product = detail::boolean_product(a.bitmaps[s], b.bitmaps[t]);
      if (product == 0) return;
      ++live;
      bitmaps_[slot_of(b.tile_columns[t])] |= product;
    });
    return live;
  }

  /// Entries of every row. \param row_counts those of the rows of C that there are
  void count(std::span<offset_t> row_counts) const noexcept {
    std::fill(row_counts.begin(), row_counts.end(), offset_t{0});
    for (std::int64_t s = 0; s < tiles_; ++s) {
      for (std::size_t r = 0; r < row_counts.size(); ++r) {
        row_counts[r] += std::popcount(detail::row_bits(bitmaps_[s], static_cast<int>(r)));
      }
    }
  }

  /// After multiply_bitmaps().
  [[nodiscard]] TileRowSize size() const noexcept {
    TileRowSize size;
    for (std::int64_t s = 0; s < tiles_; ++s) {
      size.tiles += bitmaps_[s] != 0 ? 1 : 0;
      size.entries += detail::count_bits(bitmaps_[s]);
    }
    return size;
  }

  /// Sums all pairs, after multiply_bitmaps().
  template <class T>
  void sum(const TileView<T>& a, const TileView<T>& b, index_t tile_row) noexcept {
    // -0 + x is x for every x.
    std::fill_n(sums_.data(), tiles_ * detail::tile_entries, -V{0});
    for_each_pair(a, b, tile_row, [&](std::size_t s, std::size_t t) {
      V* const target = sums_.data() + slot_of(b.tile_columns[t]) * detail::tile_entries;
      add_products(values_of(a, s), values_of(b, t), target);
    });
  }

  /// Writes row r. \param values null for a pattern
  void emit(int r, index_t* columns, V* values) const noexcept {
    for (std::int64_t s = 0; s < tiles_; ++s) {
      for (unsigned bits = detail::row_bits(bitmaps_[s], r); bits != 0; bits &= bits - 1) {
        const int c = std::countr_zero(bits);
        *columns++ = columns_[s] * tile_size + c;
        if constexpr (has_values<V>) *values++ = sums_[s * detail::tile_entries + std::int64_t{tile_size} * r + c];
      }
    }
  }

  /// Calls body(tile column, bitmap, sums of the 64 entries) for the tiles that have entries.
  template <class Body>
  void for_each_tile(const Body& body) const noexcept {
    for (std::int64_t s = 0; s < tiles_; ++s) {
      if (bitmaps_[s] != 0) body(columns_[s], bitmaps_[s], sums_.data() + s * detail::tile_entries);
    }
  }

 private:
  /// A tile and its values.
  struct Tile {
    std::uint64_t bitmap;
    const V* values;  ///< null: ones
  };
  template <class T>
  [[nodiscard]] static Tile values_of(const TileView<T>& matrix, std::size_t tile) noexcept {
    if constexpr (has_values<V>) {
      if (!matrix.is_pattern()) return {matrix.bitmaps[tile], matrix.values.data() + matrix.value_offsets[tile]};
    }
    return {matrix.bitmaps[tile], nullptr};
  }

  /// The products of stored entries alone, inner index ascending, so that no padding meets an infinity.
  static void add_products(const Tile& a, const Tile& b, V* sums) noexcept {
    int at_a = 0;
    for (int r = 0; r < tile_size; ++r) {
      for (unsigned row = detail::row_bits(a.bitmap, r); row != 0; row &= row - 1) {
        const int k = std::countr_zero(row);
        const V factor = a.values == nullptr ? V{1} : a.values[at_a];
        ++at_a;
        int at_b = detail::count_bits(b.bitmap & ((std::uint64_t{1} << (tile_size * k)) - 1));
        for (unsigned of_b = detail::row_bits(b.bitmap, k); of_b != 0; of_b &= of_b - 1) {
          const V other = b.values == nullptr ? V{1} : b.values[at_b];
          ++at_b;
          sums[tile_size * r + std::countr_zero(of_b)] += factor * other;
        }
      }
    }
  }

  [[nodiscard]] std::int64_t slot_of(index_t tile_column) const noexcept {
    const index_t* const begin = columns_.data();
    return std::lower_bound(begin, begin + tiles_, tile_column) - begin;
  }

  Array<index_t> columns_;
  Array<std::uint64_t> bitmaps_;
  Array<V> sums_;
  std::int64_t tiles_ = 0;
};

/// One for each worker, made before threads start, so that nothing fails inside them.
template <class V>
[[nodiscard]] std::vector<TileRowSums<V>> make_tile_row_sums(int workers, std::int64_t most_pairs,
                                                             std::int64_t most_tiles) {
  std::vector<TileRowSums<V>> sums;
  sums.reserve(static_cast<std::size_t>(workers));
  for (int w = 0; w < workers; ++w) sums.emplace_back(most_pairs, most_tiles);
  return sums;
}

/// body(TileRowSums, tile row) for all tile rows, on as many threads as there are `sums`.
template <class V, class Body>
void for_tile_rows_of_product(const Device& device, index_t tile_rows, std::vector<TileRowSums<V>>& sums,
                              const Body& body) {
  constexpr std::int64_t rows_per_task = 16;
  std::atomic<std::int64_t> next{0};
  parallel_tasks(device, static_cast<std::int64_t>(sums.size()), [&](std::int64_t worker) {
    TileRowSums<V>& of_worker = sums[static_cast<std::size_t>(worker)];
    for (std::int64_t i = next.fetch_add(rows_per_task); i < tile_rows; i = next.fetch_add(rows_per_task)) {
      const std::int64_t end = std::min<std::int64_t>(i + rows_per_task, tile_rows);
      for (std::int64_t row = i; row < end; ++row) body(of_worker, static_cast<index_t>(row));
    }
  });
}

}  // namespace tessera::host
