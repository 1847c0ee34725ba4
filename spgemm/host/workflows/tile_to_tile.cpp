// A product whose factors and result are in tiles, on the host (bmSPARSE, GRADES-NDA 2018), two passes over the tile
// rows of C: sizes, then sums.
#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/tile_backends.hpp"
#include "spgemm/host/workflows/tile_row_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::host {

namespace {

/// Raises a maximum that threads share.
void raise(std::atomic<std::int64_t>& most, std::int64_t value) noexcept {
  for (std::int64_t known = most; known < value;) {
    if (most.compare_exchange_weak(known, value)) break;
  }
}

/// Counts become offsets. \returns the sum of all \param counts one more than counts: the last gets that sum
offset_t make_offsets(Array<offset_t>& counts) noexcept {
  offset_t sum = 0;
  for (offset_t& count : counts) sum += std::exchange(count, sum);
  return sum;
}

template <class T>
class TileRowProducts {
 public:
  TileRowProducts(const TileView<T>& a, const TileView<T>& b, const SpgemmOptions& options, SpgemmReport& report)
      : a_(a),
        b_(b),
        device_(options.device),
        budget_(options.memory_limit_bytes),
        workers_(std::max(1, options.device.threads())),
        report_(report) {}

  [[nodiscard]] std::optional<TileMatrix<T>> run() {
    const Stopwatch sizing;
    pairs_ = count_pairs(device_, a_, b_);
    const std::uint64_t offset_bytes = 2 * (static_cast<std::uint64_t>(a_.tile_rows()) + 1) * sizeof(offset_t);
    if (!fits(offset_bytes + worker_bytes<NoValue>(0))) return std::nullopt;
    budget_.reserve(offset_bytes, "tile rows of a sparse product");
    count();
    const offset_t nnz = make_offsets(entries_);
    const offset_t tiles = make_offsets(tile_row_offsets_);
    report_.sizing_ms = sizing.milliseconds();
    const std::uint64_t c_bytes = detail::tile_matrix_bytes<T>(a_.tile_rows(), tiles, nnz, ValueStorage::weighted);
    if (!fits(c_bytes + worker_bytes<T>(most_tiles_))) return std::nullopt;
    budget_.reserve(c_bytes, "sparse product in tiles");
    const Stopwatch summing;
    TileMatrix<T> c = sum(tiles, nnz);
    report_.numeric_ms = summing.milliseconds();
    describe();
    return c;
  }

 private:
  template <class W>
  [[nodiscard]] std::uint64_t worker_bytes(std::int64_t most_tiles) const noexcept {
    return TileRowSums<W>::bytes(pairs_.most, most_tiles) * static_cast<std::uint64_t>(workers_);
  }

  [[nodiscard]] bool fits(std::uint64_t bytes) {
    if (budget_.fits(bytes)) return true;
    report_.fallback =
        fmt::format("tiles needs {} bytes more, beyond the limit of {}: exact instead", bytes, budget_.limit());
    return false;
  }

  template <class W, class Body>
  void for_rows(std::int64_t most_tiles, const Body& body) {
    const std::uint64_t bytes = worker_bytes<W>(most_tiles);
    budget_.reserve(bytes, "workspace of a sparse product");
    auto sums = make_tile_row_sums<W>(workers_, pairs_.most, most_tiles);
    for_tile_rows_of_product(device_, a_.tile_rows(), sums, body);
    budget_.release(bytes);
  }

  /// Scalar products of a tile row.
  [[nodiscard]] offset_t products_of(index_t tile_row) const noexcept {
    offset_t products = 0;
    for_each_pair(a_, b_, tile_row, [&](std::size_t s, std::size_t t) {
      products += detail::products_of(a_.bitmaps[s], detail::TileRowCounts(b_.bitmaps[t]));
    });
    return products;
  }

  /// Tiles and entries of every tile row.
  void count() {
    tile_row_offsets_ = Array<offset_t>(std::int64_t{a_.tile_rows()} + 1);
    entries_ = Array<offset_t>(std::int64_t{a_.tile_rows()} + 1);
    std::atomic<offset_t> live{0};
    std::atomic<offset_t> products{0};
    std::atomic<std::int64_t> most{0};
    for_rows<NoValue>(0, [&](TileRowSums<NoValue>& row, index_t tile_row) {
      live += row.multiply_bitmaps(a_, b_, tile_row);
      products += products_of(tile_row);
      const TileRowSize size = row.size();
      tile_row_offsets_[tile_row] = size.tiles;
      entries_[tile_row] = size.entries;
      raise(most, row.tiles());
    });
    live_pairs_ = live;
    most_tiles_ = most;
    report_.products = products;
  }

  [[nodiscard]] TileMatrix<T> sum(offset_t tiles, offset_t nnz) {
    Array<index_t> columns(tiles, Init::none);
    Array<std::uint64_t> bitmaps(tiles, Init::none);
    Array<offset_t> value_offsets(tiles + 1, Init::none);
    Array<T> values(nnz, Init::none);
    value_offsets[tiles] = nnz;
    for_rows<T>(most_tiles_, [&](TileRowSums<T>& row, index_t tile_row) {
      static_cast<void>(row.multiply_bitmaps(a_, b_, tile_row));
      row.sum(a_, b_, tile_row);
      offset_t tile = tile_row_offsets_[tile_row];
      offset_t value = entries_[tile_row];
      row.for_each_tile([&](index_t column, std::uint64_t bitmap, const T* sums) {
        columns[tile] = column;
        bitmaps[tile] = bitmap;
        value_offsets[tile++] = value;
        for (std::uint64_t bits = bitmap; bits != 0; bits &= bits - 1) values[value++] = sums[std::countr_zero(bits)];
      });
    });
    return TileMatrix<T>(a_.rows, b_.cols, ValueStorage::weighted, std::move(tile_row_offsets_), std::move(columns),
                         std::move(bitmaps), std::move(value_offsets), std::move(values), Check::trusted);
  }

  void describe() {
    report_.reason += fmt::format("; {} of {} pairs are not empty", live_pairs_, pairs_.all);
    report_.threads = workers_;
    report_.peak_bytes = budget_.peak();
  }

  TileView<T> a_;
  TileView<T> b_;
  Device device_;
  detail::MemoryBudget budget_;
  int workers_;
  SpgemmReport& report_;
  TilePairs pairs_;
  Array<offset_t> tile_row_offsets_;  ///< of C
  Array<offset_t> entries_;           ///< of C before each tile row
  std::int64_t most_tiles_ = 0;       ///< of a tile row of C, those without entries too
  offset_t live_pairs_ = 0;           ///< pairs that are not empty
};

}  // namespace

template <class T>
std::optional<TileMatrix<T>> multiply_tiles(const TileView<T>& a, const TileView<T>& b, const SpgemmOptions& options,
                                            SpgemmReport& report) {
  return TileRowProducts<T>(a, b, options, report).run();
}

template std::optional<TileMatrix<float>> multiply_tiles(const TileView<float>&, const TileView<float>&,
                                                         const SpgemmOptions&, SpgemmReport&);
template std::optional<TileMatrix<double>> multiply_tiles(const TileView<double>&, const TileView<double>&,
                                                          const SpgemmOptions&, SpgemmReport&);

}  // namespace tessera::host
