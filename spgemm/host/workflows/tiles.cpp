// The workflow `tiles` (bmSPARSE, GRADES-NDA 2018), two passes over the tile rows of C: counts, then sums.
#include "spgemm/host/workflows/tiles.hpp"

#include "core/stopwatch.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "spgemm/common/tile_arithmetic.hpp"
#include "spgemm/host/workflows/tile_row_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

namespace tessera::host {

namespace {

/// One product in tiles.
template <class V, class T>
class CsrInTiles {
 public:
  CsrInTiles(HostJob<T>& job, SpgemmReport& report)
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
    const TilePairs pairs = count_pairs(job_.device, a_, b_);
    most_pairs_ = pairs.most;
    pairs_ = pairs.all;
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

  /// body(workspace, tile row, its rows in C) on all threads. Workspaces are made before threads start.
  template <class W, class Body>
  void for_tile_rows(std::int64_t most_tiles, const Body& body) {
    const std::uint64_t bytes = worker_bytes<W>(most_tiles);
    job_.budget.reserve(bytes, "workspace of a sparse product");
    auto workspaces = make_tile_row_sums<W>(job_.workers, most_pairs_, most_tiles);
    for_tile_rows_of_product(job_.device, a_.tile_rows(), workspaces, [&](TileRowSums<W>& workspace, index_t tile_row) {
      const std::int64_t first = std::int64_t{tile_row} * tile_size;
      body(workspace, tile_row, Range{first, std::min<std::int64_t>(first + tile_size, job_.rows())});
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
  return CsrInTiles<V, T>(job, report).run();
}

template std::optional<Csr<float>> tile_product<float>(HostJob<float>&, SpgemmReport&);
template std::optional<Csr<float>> tile_product<NoValue>(HostJob<float>&, SpgemmReport&);
template std::optional<Csr<double>> tile_product<double>(HostJob<double>&, SpgemmReport&);
template std::optional<Csr<double>> tile_product<NoValue>(HostJob<double>&, SpgemmReport&);

}  // namespace tessera::host
