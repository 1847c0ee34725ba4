// The workflow `tiles` (bmSPARSE, GRADES-NDA 2018; tSparse, Computers & Electrical Engineering 88, 2020): positions of
// both factors in tiles, symbolic phase beside the dense copies, numeric phase. The host waits twice: for the pairs,
// and for the entries of C.
#include "spgemm/cuda/workflows/tiles.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/stopwatch.hpp"
#include "preprocess/tile_estimate.hpp"
#include "preprocess/tile_slices.hpp"
#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "spgemm/cuda/tiles/tile_product.hpp"
#include "spgemm/cuda/workflows/tile_steps.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

template <class T>
detail::CsrStructurePointers structure_of(const CsrView<T>& matrix) noexcept {
  return {matrix.rows, matrix.row_offsets.data(), matrix.columns.data()};
}

template <class T>
bool same_arrays(const CsrView<T>& a, const CsrView<T>& b) noexcept {
  return a.rows == b.rows && a.cols == b.cols && a.row_offsets.data() == b.row_offsets.data() &&
         a.columns.data() == b.columns.data() && a.values.data() == b.values.data();
}

/// Tiles that a factor is expected to have at most: those an eighth full, and some per tile row.
std::int64_t usual_capacity(index_t rows, offset_t nnz) noexcept {
  return std::min<std::int64_t>(nnz, nnz / 8 + 2 * std::int64_t{detail::tiles_across(rows)});
}

/// One product. \tparam V T, or NoValue for the pattern
template <class V, class T>
class TileJob {
 public:
  TileJob(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options, SpgemmReport& report)
      : a_(a),
        b_(b),
        options_(options),
        context_(Context::of(options.device)),
        current_(options.device),
        same_(same_arrays(a, b)),
        budget_(options.memory_limit_bytes, 0),
        totals_(1, Init::none, options.device),
        report_(report) {}

  /// \throws TilesGivenUp, OutOfMemory
  [[nodiscard]] CsrArrays<V> run() {
    const Stopwatch finding;
    find_tiles();
    report_.analysis_ms = finding.milliseconds();
    const Stopwatch counting;
    const CTiles c = count();
    report_.sizing_ms = counting.milliseconds();
    const Stopwatch summing;
    CsrArrays<V> result = sum(c);
    report_.numeric_ms = summing.milliseconds();
    describe();
    return result;
  }

 private:
  static constexpr std::uint64_t dense_tile_bytes = detail::tile_entries * value_bytes<V>;

  void reserve(std::uint64_t bytes) {
    if (!budget_.fits(bytes)) {
      throw TilesGivenUp(fmt::format("tiles needs {} bytes more, beyond the limit of {}", bytes, budget_.limit()));
    }
    budget_.reserve(bytes, "sparse product in tiles");
  }

  [[nodiscard]] const TilePositions& right() const noexcept { return same_ ? a_tiles_ : b_tiles_; }
  /// For counts of so many rows and a 0, all of which a kernel writes if there are rows.
  [[nodiscard]] Array<offset_t> counts_of(index_t rows) const {
    return Array<offset_t>(std::int64_t{rows} + 1, rows == 0 ? Init::zero : Init::none, options_.device);
  }
  [[nodiscard]] index_t tile_rows() const noexcept { return detail::tiles_across(a_.rows); }

  /// Tiles of both factors and their pairs; once more where there was too little room.
  void find_tiles() {
    if (a_.nnz() > most_entries || b_.nnz() > most_entries) {
      throw TilesGivenUp(fmt::format("factors have {} and {} entries, more than tiles can number", a_.nnz(), b_.nnz()));
    }
    pair_offsets_ = counts_of(tile_rows());
    std::int64_t a_capacity = usual_capacity(a_.rows, a_.nnz());
    std::int64_t b_capacity = same_ ? 0 : usual_capacity(b_.rows, b_.nnz());
    const std::uint64_t fixed = totals_.bytes() + pair_offsets_.bytes();
    reserve(fixed + position_bytes(a_capacity, b_capacity));
    find_positions(a_capacity, b_capacity);
    if (found_.tiles[0] > a_capacity || found_.tiles[1] > b_capacity) {
      budget_.release(position_bytes(a_capacity, b_capacity));
      a_capacity = found_.tiles[0];
      b_capacity = found_.tiles[1];
      reserve(position_bytes(a_capacity, b_capacity));
      find_positions(a_capacity, b_capacity);
    }
    require_tile_limits(context_, found_);
  }

  [[nodiscard]] std::uint64_t position_bytes(std::int64_t a_capacity, std::int64_t b_capacity) const noexcept {
    const std::uint64_t of_b = same_ ? 0 : TilePositions::bytes(detail::tiles_across(b_.rows), b_capacity);
    return TilePositions::bytes(tile_rows(), a_capacity) + of_b;
  }

  void find_positions(std::int64_t a_capacity, std::int64_t b_capacity) {
    zero_bytes(options_.device, totals_.data(), totals_.bytes());
    a_tiles_ = TilePositions(a_.rows, a_capacity, options_.device);
    enqueue_positions(context_, structure_of(a_), a_tiles_, 0, totals_.data());
    if (!same_) {
      b_tiles_ = TilePositions(b_.rows, b_capacity, options_.device);
      enqueue_positions(context_, structure_of(b_), b_tiles_, 1, totals_.data());
    }
    enqueue_pair_counts(context_, a_tiles_, right(), pair_offsets_.data(), totals_.data());
    exclusive_sum_on_device(options_.device, pair_offsets_.span());
    found_ = fetch_totals(context_, totals_.data(), nullptr).first;
  }

  /// Structure of C, and beside it the dense copies.
  [[nodiscard]] CTiles count() {
    const auto pairs = static_cast<std::int64_t>(found_.pairs);
    const std::uint64_t dense_tiles = found_.tiles[0] + (same_ ? 0 : found_.tiles[1]);
    reserve(CTiles::bytes(tile_rows(), pairs) + dense_tiles * dense_tile_bytes + detail::csr_bytes(a_.rows, 0, 0));
    CTiles c(tile_rows(), pairs, options_.device);
    offsets_ = counts_of(a_.rows);
    if constexpr (has_values<V>) {
      a_dense_ = Array<V>(detail::tile_entries * std::int64_t{found_.tiles[0]}, Init::none, options_.device);
      if (!same_) {
        b_dense_ = Array<V>(detail::tile_entries * std::int64_t{found_.tiles[1]}, Init::none, options_.device);
      }
    }
    enqueue_count(c);
    exclusive_sum_on_device(options_.device, offsets_.span());
    std::tie(found_, nnz_) = fetch_totals(context_, totals_.data(), offsets_.data() + a_.rows);
    require_tile_limits(context_, found_);
    return c;
  }

  void enqueue_count(const CTiles& c) {
    SideStreams::Fork fork(options_.device);
    if constexpr (has_values<V>) {
      fork.run(0, [&] { enqueue_copy(a_, a_tiles_, a_dense_); });
      if (!same_) fork.run(1, [&] { enqueue_copy(b_, b_tiles_, b_dense_); });
    }
    enqueue_symbolic_tiles(context_, a_.rows, a_tiles_, right(), pair_offsets_.data(), found_.symbolic_bytes, c,
                           offsets_.data(), totals_.data());
  }

  void enqueue_copy(const CsrView<T>& matrix, const TilePositions& tiles, Array<V>& dense) {
    if constexpr (has_values<V>) {
      enqueue_dense_copy<V>(context_, structure_of(matrix), matrix.is_pattern() ? nullptr : matrix.values.data(), tiles,
                            dense.data(), totals_.data());
    }
  }

  [[nodiscard]] TileArithmetic arithmetic() const noexcept {
    return tile_arithmetic<V>(context_, options_.determinism, found_);
  }

  [[nodiscard]] CsrArrays<V> sum(const CTiles& c) {
    reserve(detail::csr_bytes(0, nnz_, value_bytes<V>) - sizeof(offset_t));
    CsrArrays<V> result{std::move(offsets_), Array<index_t>(nnz_, Init::none, options_.device),
                        Array<V>(has_values<V> ? nnz_ : 0, Init::none, options_.device)};
    enqueue_numeric_tiles<V>(context_, arithmetic(), a_tiles_, a_dense_.data(), right(),
                             same_ ? a_dense_.data() : b_dense_.data(), c, result.offsets.data(), result.columns.data(),
                             result.values.data());
    if (!options_.asynchronous) context_.synchronize();
    return result;
  }

  void describe() {
    const double tiles = 64.0 * (static_cast<double>(found_.tiles[0]) + static_cast<double>(found_.tiles[1]));
    const double entries = static_cast<double>(a_.nnz()) + (same_ ? 0.0 : static_cast<double>(b_.nnz()));
    report_.workflow = SpgemmWorkflow::tiles;
    report_.reason +=
        fmt::format("; tiles are {:.3g} full, {} of {} pairs are not empty, {}", tiles > 0.0 ? entries / tiles : 0.0,
                    found_.live_pairs, found_.pairs, tile_arithmetic_text<V>(context_, options_.determinism, found_));
    report_.products = static_cast<offset_t>(found_.products);
    report_.expansion = a_.nnz() > 0 ? static_cast<double>(report_.products) / static_cast<double>(a_.nnz()) : 0.0;
    const bool tensor = arithmetic() == TileArithmetic::tensor;
    report_.determinism = tensor ? Determinism::run_to_run : Determinism::gpu_to_gpu;
    report_.peak_bytes = budget_.peak();
  }

  static constexpr offset_t most_entries = std::numeric_limits<std::int32_t>::max();

  CsrView<T> a_;
  CsrView<T> b_;
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
  Array<V> a_dense_;
  Array<V> b_dense_;
  Array<offset_t> offsets_;  ///< of C
  offset_t nnz_ = 0;         ///< of C
  SpgemmReport& report_;
};

/// Fills of both factors, sampled in one wait. Both have entries.
template <class T>
std::pair<double, double> sample_fills(const CsrView<T>& a, const CsrView<T>& b, const Device& device) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const TileSample sample{most_direct_samples / 2};
  SumSpace& space = context.sum_space();
  const std::scoped_lock alone(space.mutex);
  auto* counted = static_cast<detail::CountedTiles*>(space.on_host);
  const auto enqueue = [&](const CsrView<T>& matrix) {
    const index_t tile_rows = detail::tiles_across(matrix.rows);
    const detail::SampledTileRows rows{tile_rows, std::min(tile_rows, sample.tile_rows)};
    enqueue_sample(context, structure_of(matrix), rows, sample.tiles, counted);
    return std::span<const detail::CountedTiles>(std::exchange(counted, counted + rows.count),
                                                 static_cast<std::size_t>(rows.count));
  };
  const auto of_a = enqueue(a);
  const auto of_b = same_arrays(a, b) ? of_a : enqueue(b);
  context.synchronize();
  const auto fill = [](const CsrView<T>& matrix, std::span<const detail::CountedTiles> rows) {
    const auto nnz = static_cast<double>(matrix.nnz());
    return nnz / (detail::tile_entries * detail::tiles_of_sample(nnz, detail::sum_of(rows)));
  };
  return {fill(a, of_a), fill(b, of_b)};
}

/// Whether `automatic` takes tiles; the reason then goes into the report.
template <class V, class T>
bool automatic_takes_tiles(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                           SpgemmReport& report) {
  const bool free_choice = options.workflow == SpgemmWorkflow::automatic && !options.short_rows &&
                           options.accumulator == SpgemmAccumulator::automatic &&
                           options.determinism != Determinism::gpu_to_gpu;
  if (!free_choice || !std::is_same_v<V, double>) return false;
  const TileProspect prospect{a.rows, b.rows, a.nnz(), b.nnz()};
  if (!has_fast_fp64_tensor(Context::of(options.device).limits()) || !may_pay_in_tiles(prospect)) return false;
  const auto [a_fill, b_fill] = sample_fills(a, b, options.device);
  if (!pays_in_tiles(prospect, a_fill, b_fill)) return false;
  report.reason = fmt::format(
      "sampled tiles are {:.3g} full: about {:.3g} products in a pair of tiles, and {:.2g} pairs",
      std::sqrt(a_fill * b_fill), detail::products_per_pair(a_fill, b_fill), prospect.pairs(a_fill, b_fill));
  return true;
}

}  // namespace

template <class V, class T>
std::optional<CsrArrays<V>> tile_product(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                                         SpgemmReport& report) {
  report.reason = "chosen by name";
  if (options.workflow != SpgemmWorkflow::tiles && !automatic_takes_tiles<V>(a, b, options, report)) {
    return std::nullopt;
  }
  try {
    return TileJob<V, T>(a, b, options, report).run();
  } catch (const TilesGivenUp& given_up) {
    report.fallback = std::string(given_up.what()) + ": exact instead";
  } catch (const OutOfMemory& error) {
    report.fallback = std::string(error.what()) + ": exact instead";
  }
  return std::nullopt;
}

template std::optional<CsrArrays<float>> tile_product(const CsrView<float>&, const CsrView<float>&,
                                                      const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<double>> tile_product(const CsrView<double>&, const CsrView<double>&,
                                                       const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> tile_product(const CsrView<float>&, const CsrView<float>&,
                                                        const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> tile_product(const CsrView<double>&, const CsrView<double>&,
                                                        const SpgemmOptions&, SpgemmReport&);

}  // namespace tessera::cuda
