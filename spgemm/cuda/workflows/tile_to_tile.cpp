// A product whose factors and result are in tiles, on a GPU: pairs, symbolic phase beside the dense copies, one scan
// over the tile rows of C, numeric phase. The host waits twice: for the pairs, and for the tiles and entries of C.
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/tile_backends.hpp"
#include "spgemm/cuda/workflows/tile_steps.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <tuple>
#include <utility>

namespace tessera::cuda {

namespace {

template <class T>
class TileToTile {
 public:
  TileToTile(const TileView<T>& a, const TileView<T>& b, const SpgemmOptions& options, SpgemmReport& report)
      : a_(a),
        b_(b),
        options_(options),
        context_(Context::of(options.device)),
        current_(options.device),
        same_(detail::is_same_matrix(a, b)),
        budget_(options.memory_limit_bytes, 0),
        totals_(1, Init::zero, options.device),
        report_(report) {}

  /// \throws TilesGivenUp, OutOfMemory
  [[nodiscard]] TileMatrix<T> run() {
    const Stopwatch finding;
    count_pairs();
    report_.analysis_ms = finding.milliseconds();
    const Stopwatch counting;
    const CTiles c = count();
    report_.sizing_ms = counting.milliseconds();
    const Stopwatch summing;
    TileMatrix<T> result = sum(c);
    report_.numeric_ms = summing.milliseconds();
    describe();
    return result;
  }

 private:
  static constexpr std::uint64_t dense_tile_bytes = detail::tile_entries * sizeof(T);
  static constexpr std::int64_t most_tiles = std::numeric_limits<std::int32_t>::max();

  void reserve(std::uint64_t bytes) {
    if (!budget_.fits(bytes)) {
      throw TilesGivenUp(fmt::format("tiles needs {} bytes more, beyond the limit of {}", bytes, budget_.limit()));
    }
    budget_.reserve(bytes, "sparse product in tiles");
  }

  [[nodiscard]] const TilePositions& right() const noexcept { return same_ ? a_tiles_ : b_tiles_; }
  [[nodiscard]] index_t tile_rows() const noexcept { return a_.tile_rows(); }
  /// For one number per element, and one after them; all of them are written if there are tile rows.
  [[nodiscard]] Array<offset_t> offsets_of(std::int64_t elements) const {
    return Array<offset_t>(elements + 1, elements == 0 ? Init::zero : Init::none, options_.device);
  }

  void count_pairs() {
    if (a_.tiles() > most_tiles || b_.tiles() > most_tiles) {
      throw TilesGivenUp(fmt::format("factors have {} and {} tiles, more than can be numbered", a_.tiles(), b_.tiles()));
    }
    reserve(totals_.bytes() + detail::csr_bytes(tile_rows(), 0, 0) + TilePositions::bytes(tile_rows(), a_.tiles()) +
            (same_ ? 0 : TilePositions::bytes(b_.tile_rows(), b_.tiles())));
    a_tiles_ = TilePositions(a_.rows, a_.tiles(), options_.device);
    enqueue_positions(context_, a_, a_tiles_, totals_.data());
    if (!same_) {
      b_tiles_ = TilePositions(b_.rows, b_.tiles(), options_.device);
      enqueue_positions(context_, b_, b_tiles_, totals_.data());
    }
    pair_offsets_ = offsets_of(tile_rows());
    enqueue_pair_counts(context_, a_tiles_, right(), pair_offsets_.data(), totals_.data());
    exclusive_sum_on_device(options_.device, pair_offsets_.span());
    found_ = fetch_totals(context_, totals_.data(), nullptr).first;
    require_tile_limits(context_, found_);
  }

  /// Structure of C, and beside it the dense copies.
  [[nodiscard]] CTiles count() {
    const auto pairs = static_cast<std::int64_t>(found_.pairs);
    const auto dense_tiles = static_cast<std::uint64_t>(a_.tiles() + (same_ ? 0 : b_.tiles()));
    reserve(CTiles::bytes(tile_rows(), pairs, CFormat::tiles) + dense_tiles * dense_tile_bytes +
            detail::csr_bytes(2 * std::int64_t{tile_rows()}, 0, 0));
    CTiles c(tile_rows(), pairs, options_.device, CFormat::tiles);
    starts_ = offsets_of(2 * std::int64_t{tile_rows()});
    a_dense_ = Array<T>(detail::tile_entries * a_.tiles(), Init::none, options_.device);
    if (!same_) b_dense_ = Array<T>(detail::tile_entries * b_.tiles(), Init::none, options_.device);
    enqueue_count(c);
    exclusive_sum_on_device(options_.device, starts_.span());
    offset_t tiles_and_entries = 0;
    std::tie(found_, tiles_and_entries) =
        fetch_totals(context_, totals_.data(), starts_.data() + 2 * std::int64_t{tile_rows()});
    require_tile_limits(context_, found_);
    nnz_ = tiles_and_entries - offset_t{found_.c_tiles};
    return c;
  }

  void enqueue_count(const CTiles& c) {
    SideStreams::Fork fork(options_.device);
    fork.run(0, [&] { enqueue_dense_copy(context_, a_, a_dense_.data(), totals_.data()); });
    if (!same_) fork.run(1, [&] { enqueue_dense_copy(context_, b_, b_dense_.data(), totals_.data()); });
    enqueue_symbolic_tiles(context_, a_tiles_, right(), pair_offsets_.data(), found_.symbolic_bytes, c, starts_.data(),
                           totals_.data());
  }

  [[nodiscard]] TileMatrix<T> sum(const CTiles& c) {
    const std::int64_t tiles = found_.c_tiles;
    reserve(detail::tile_matrix_bytes<T>(tile_rows(), tiles, nnz_, ValueStorage::weighted));
    Array<offset_t> tile_row_offsets = offsets_of(tile_rows());
    Array<index_t> columns(tiles, Init::none, options_.device);
    Array<std::uint64_t> bitmaps(tiles, Init::none, options_.device);
    Array<offset_t> value_offsets(tiles + 1, tile_rows() == 0 ? Init::zero : Init::none, options_.device);
    Array<T> values(nnz_, Init::none, options_.device);
    const TileTarget<T> target{starts_.data(),  tile_rows(),          tile_row_offsets.data(), columns.data(),
                               bitmaps.data(), value_offsets.data(), values.data()};
    enqueue_numeric_tiles<T>(context_, tile_arithmetic<T>(context_, options_.determinism, found_), a_tiles_,
                             a_dense_.data(), right(), same_ ? a_dense_.data() : b_dense_.data(), c, target);
    if (!options_.asynchronous) context_.synchronize();
    return TileMatrix<T>(a_.rows, b_.cols, ValueStorage::weighted, std::move(tile_row_offsets), std::move(columns),
                         std::move(bitmaps), std::move(value_offsets), std::move(values), Check::trusted);
  }

  void describe() {
    report_.reason +=
        fmt::format("; {} of {} pairs are not empty, {}", found_.live_pairs, found_.pairs,
                    tile_arithmetic_text<T>(context_, options_.determinism, found_));
    report_.products = static_cast<offset_t>(found_.products);
    const bool tensor = tile_arithmetic<T>(context_, options_.determinism, found_) == TileArithmetic::tensor;
    report_.determinism = tensor ? Determinism::run_to_run : Determinism::gpu_to_gpu;
    report_.threads = 0;
    report_.peak_bytes = budget_.peak();
  }

  TileView<T> a_;
  TileView<T> b_;
  SpgemmOptions options_;
  const Context& context_;
  DeviceGuard current_;
  bool same_;  ///< whether A and B are one matrix
  detail::MemoryBudget budget_;
  Array<TileTotals> totals_;
  TileTotals found_;  ///< the totals on the host
  Array<offset_t> pair_offsets_;
  TilePositions a_tiles_;
  TilePositions b_tiles_;  ///< none where A and B are one matrix
  Array<T> a_dense_;
  Array<T> b_dense_;
  Array<offset_t> starts_;  ///< of the tile rows of C: TileTarget
  offset_t nnz_ = 0;        ///< of C
  SpgemmReport& report_;
};

}  // namespace

template <class T>
std::optional<TileMatrix<T>> multiply_tiles(const TileView<T>& a, const TileView<T>& b, const SpgemmOptions& options,
                                            SpgemmReport& report) {
  try {
    return TileToTile<T>(a, b, options, report).run();
  } catch (const TilesGivenUp& given_up) {
    report.fallback = std::string(given_up.what()) + ": exact instead";
  } catch (const OutOfMemory& error) {
    report.fallback = std::string(error.what()) + ": exact instead";
  }
  return std::nullopt;
}

template std::optional<TileMatrix<float>> multiply_tiles(const TileView<float>&, const TileView<float>&,
                                                         const SpgemmOptions&, SpgemmReport&);
template std::optional<TileMatrix<double>> multiply_tiles(const TileView<double>&, const TileView<double>&,
                                                          const SpgemmOptions&, SpgemmReport&);

}  // namespace tessera::cuda
