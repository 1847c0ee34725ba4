// The workflow `tiles` (bmSPARSE, GRADES-NDA 2018), two passes over the tile rows of C: counts, then sums.
#include "spgemm/host/workflows/tiles.hpp"

#include "core/stopwatch.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "spgemm/common/tile_arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::host {

namespace {

/// Tile rows that a thread takes at a time.
constexpr std::int64_t tile_rows_per_task = 16;

/// Tiles [first, last) of a matrix.
struct TileRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

template <class T>
TileRange tiles_of_row(const TileView<T>& matrix, index_t tile_row) {
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

/// One product in tiles.
template <class V, class T>
class TileProduct {
 public:
  TileProduct(HostJob<T>& job, SpgemmReport& report)
      : job_(job),
        report_(report),
        same_(job.a.columns.data() == job.b.columns.data() && job.a.values.data() == job.b.values.data() &&
              job.a.row_offsets.data() == job.b.row_offsets.data() && job.a.rows == job.b.rows) {}

  [[nodiscard]] std::optional<Csr<T>> run() {
    const Stopwatch sizing;
    if (!fits(most_tile_bytes())) return std::nullopt;
    job_.budget.reserve(most_tile_bytes(), "tiles of a sparse product");
    a_matrix_ = build_tiles<T>(job_.a, job_.device);
    if (!same_) b_matrix_ = build_tiles<T>(job_.b, job_.device);
    job_.budget.release(most_tile_bytes() - a_matrix_.bytes() - b_matrix_.bytes());
    a_ = a_matrix_.view();
    b_ = same_ ? a_ : b_matrix_.view();
    most_pairs_ = largest_row();
    if (!fits(count_bytes() + worker_bytes<NoValue>(0))) return give_back();
    job_.budget.reserve(count_bytes(), "row offsets of a sparse product");
    Array<offset_t> offsets = count_rows();
    report_.sizing_ms = sizing.milliseconds();
    const std::uint64_t c_bytes = detail::csr_bytes(0, offsets[job_.rows()], value_bytes<V>);
    if (!fits(c_bytes + worker_bytes<V>(most_tiles_))) {
      job_.budget.release(count_bytes());
      return give_back();
    }
    const Stopwatch summing;
    job_.budget.reserve(c_bytes, "sparse product");
    Csr<T> c = sum_rows(std::move(offsets));
    report_.numeric_ms = summing.milliseconds();
    describe();
    return c;
  }

 private:
  /// Bytes of both factors in tiles if every entry had its own.
  [[nodiscard]] std::uint64_t most_tile_bytes() const noexcept {
    const auto bytes_of = [](const CsrView<T>& matrix) {
      const auto nnz = static_cast<std::uint64_t>(matrix.nnz());
      const std::uint64_t per_entry = sizeof(index_t) + sizeof(std::uint64_t) + sizeof(offset_t) + sizeof(T);
      return nnz * per_entry + (static_cast<std::uint64_t>(matrix.rows) / tile_size + 3) * sizeof(offset_t);
    };
    return bytes_of(job_.a) + (same_ ? 0 : bytes_of(job_.b));
  }
  [[nodiscard]] std::uint64_t count_bytes() const noexcept { return detail::csr_bytes(job_.rows(), 0, 0); }
  template <class W>
  [[nodiscard]] std::uint64_t worker_bytes(std::int64_t most_tiles) const noexcept {
    return TileRowSums<W>::bytes(most_pairs_, most_tiles) * static_cast<std::uint64_t>(job_.workers);
  }

  [[nodiscard]] bool fits(std::uint64_t bytes) {
    if (job_.budget.fits(bytes)) return true;
    // No other workflow has this precision: throws.
    if (report_.precision != SpgemmPrecision::working) job_.budget.reserve(bytes, "sparse product in tiles");
    report_.fallback =
        fmt::format("tiles needs {} bytes more, beyond the limit of {}: exact instead", bytes, job_.budget.limit());
    return false;
  }
  [[nodiscard]] std::nullopt_t give_back() noexcept {
    job_.budget.release(a_matrix_.bytes() + b_matrix_.bytes());
    return std::nullopt;
  }

  /// Pairs of the tile row with the most, and of all.
  [[nodiscard]] std::int64_t largest_row() {
    struct Pairs {
      std::int64_t most = 0;
      std::int64_t all = 0;
      Pairs& operator+=(const Pairs& other) noexcept {
        most = std::max(most, other.most);
        all += other.all;
        return *this;
      }
    };
    const auto pairs = parallel_sum<Pairs>(job_.device, a_.tile_rows(), [&](Range rows) {
      Pairs sum;
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        std::int64_t of_row = 0;
        const TileRange of_a = tiles_of_row(a_, static_cast<index_t>(i));
        for (std::size_t s = of_a.first; s < of_a.last; ++s) {
          const TileRange of_b = tiles_of_row(b_, a_.tile_columns[s]);
          of_row += static_cast<std::int64_t>(of_b.last - of_b.first);
        }
        sum += Pairs{of_row, of_row};
      }
      return sum;
    });
    pairs_ = pairs.all;
    return pairs.most;
  }

  /// body(workspace, tile row, its rows in C) on all threads. Workspaces are made before threads start.
  template <class W, class Body>
  void for_tile_rows(std::int64_t most_tiles, const Body& body) {
    const std::uint64_t bytes = worker_bytes<W>(most_tiles);
    job_.budget.reserve(bytes, "workspace of a sparse product");
    std::vector<TileRowSums<W>> workspaces;
    workspaces.reserve(static_cast<std::size_t>(job_.workers));
    for (int w = 0; w < job_.workers; ++w) workspaces.emplace_back(most_pairs_, most_tiles);
    std::atomic<std::int64_t> next{0};
    parallel_tasks(job_.device, job_.workers, [&](std::int64_t worker) {
      TileRowSums<W>& workspace = workspaces[static_cast<std::size_t>(worker)];
      const std::int64_t tile_rows = a_.tile_rows();
      for (std::int64_t i = next.fetch_add(tile_rows_per_task); i < tile_rows; i = next.fetch_add(tile_rows_per_task)) {
        const std::int64_t end = std::min(i + tile_rows_per_task, tile_rows);
        for (std::int64_t row = i; row < end; ++row) {
          const std::int64_t first = row * tile_size;
          body(workspace, static_cast<index_t>(row), Range{first, std::min<std::int64_t>(first + 8, job_.rows())});
        }
      }
    });
    job_.budget.release(bytes);
  }

  [[nodiscard]] Array<offset_t> count_rows() {
    Array<offset_t> offsets(job_.rows() + 1, Init::none);
    std::atomic<offset_t> live{0};
    std::atomic<std::int64_t> most{0};
    for_tile_rows<NoValue>(0, [&](TileRowSums<NoValue>& workspace, index_t tile_row, Range rows) {
      live += workspace.multiply_bitmaps(a_, b_, tile_row);
      workspace.count(
          offsets.span().subspan(static_cast<std::size_t>(rows.begin) + 1, static_cast<std::size_t>(rows.size())));
      for (std::int64_t known = most; known < workspace.tiles();) {
        if (most.compare_exchange_weak(known, workspace.tiles())) break;
      }
    });
    live_pairs_ = live;
    most_tiles_ = most;
    counts_to_offsets(offsets);
    return offsets;
  }

  [[nodiscard]] Csr<T> sum_rows(Array<offset_t> offsets) {
    const offset_t nnz = offsets[job_.rows()];
    Array<index_t> columns(nnz, Init::none);
    Array<V> values(has_values<V> ? nnz : 0, Init::none);
    for_tile_rows<V>(most_tiles_, [&](TileRowSums<V>& workspace, index_t tile_row, Range rows) {
      workspace.multiply_bitmaps(a_, b_, tile_row);
      if constexpr (has_values<V>) workspace.sum(a_, b_, tile_row);
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        V* const target = has_values<V> ? values.data() + offsets[i] : nullptr;
        workspace.emit(static_cast<int>(i - rows.begin), columns.data() + offsets[i], target);
      }
    });
    return assemble_result<V, T>(job_, std::move(offsets), std::move(columns), std::move(values));
  }

  void describe() {
    const double tiles = static_cast<double>(a_.tiles()) + (same_ ? 0.0 : static_cast<double>(b_.tiles()));
    const double entries = static_cast<double>(job_.a.nnz()) + (same_ ? 0.0 : static_cast<double>(job_.b.nnz()));
    report_.reason += fmt::format("; tiles are {:.3g} full, {} of {} pairs are not empty",
                                  tiles > 0.0 ? entries / (detail::tile_entries * tiles) : 0.0, live_pairs_, pairs_);
  }

  HostJob<T>& job_;
  SpgemmReport& report_;
  bool same_;  ///< whether A and B are one matrix
  TileMatrix<T> a_matrix_;
  TileMatrix<T> b_matrix_;  ///< none where A and B are one matrix
  TileView<T> a_;
  TileView<T> b_;
  std::int64_t most_pairs_ = 0;  ///< of a tile row
  std::int64_t most_tiles_ = 0;  ///< of a tile row of C
  offset_t pairs_ = 0;
  offset_t live_pairs_ = 0;  ///< pairs that are not empty
};

}  // namespace

template <class V, class T>
std::optional<Csr<T>> tile_product(HostJob<T>& job, SpgemmReport& report) {
  return TileProduct<V, T>(job, report).run();
}

template std::optional<Csr<float>> tile_product<float>(HostJob<float>&, SpgemmReport&);
template std::optional<Csr<float>> tile_product<NoValue>(HostJob<float>&, SpgemmReport&);
template std::optional<Csr<double>> tile_product<double>(HostJob<double>&, SpgemmReport&);
template std::optional<Csr<double>> tile_product<NoValue>(HostJob<double>&, SpgemmReport&);

}  // namespace tessera::host
