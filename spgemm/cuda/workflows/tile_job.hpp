/// \file
/// One product in tiles from CSR to CSR, or the plan of one: positions of both factors in tiles, symbolic phase beside
/// the dense copies, numeric phase; in a mixed product the other rows row by row (DeviceJob).
#pragma once

#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/stopwatch.hpp"
#include "preprocess/tile_slices.hpp"
#include "spgemm/common/loss_sample.hpp"
#include "spgemm/cuda/job.hpp"
#include "spgemm/cuda/tiles/stored_tiles.hpp"
#include "spgemm/cuda/tiles/tile_operands.hpp"
#include "spgemm/cuda/tiles/tile_product.hpp"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"
#include "spgemm/cuda/tiles/tile_row_lists.hpp"
#include "spgemm/cuda/tiles/tile_views.hpp"
#include "spgemm/cuda/workflows/automatic_tiles.hpp"
#include "spgemm/cuda/workflows/tile_search.hpp"
#include "spgemm/cuda/workflows/tile_steps.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

/// Tiles that a factor is expected to have at most: those an eighth full, and some per tile row.
[[nodiscard]] inline std::int64_t usual_capacity(index_t rows, offset_t nnz) noexcept {
  return std::min<std::int64_t>(nnz, nnz / 8 + 2 * std::int64_t{detail::tiles_across(rows)});
}

/// One product. \tparam V T, or NoValue for the pattern
template <class V, class T>
class TileJob : private TileSearch<T> {
 public:
  TileJob(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options, const TileChoice& choice,
          SpgemmReport& report)
      // Where tiles are found in part, those of A and those of B are not the same.
      : TileSearch<T>(a, b, options, choice.share == TileShare::all && same_arrays(a, b)),
        choice_(choice),
        report_(report) {
    if (has_values<V> && TileOperands<T>::wanted(options, context_.limits())) {
      operands_.emplace(options, context_.limits(), same_);
    }
  }

  /// \throws TilesGivenUp, OutOfMemory
  [[nodiscard]] CsrArrays<V> run() {
    const Stopwatch finding;
    find_tiles();
    if (is_mixed()) {
      leave_operands();
      start_rows();
    }
    report_.analysis_ms = finding.milliseconds();
    const Stopwatch counting;
    const CTiles c = count();
    report_.sizing_ms = counting.milliseconds();
    const Stopwatch summing;
    CsrArrays<V> result = sum(c);
    report_.numeric_ms = summing.milliseconds();
    describe();
    if constexpr (has_values<V>) measure_loss(result);
    return result;
  }

  /// What stays for other values. \throws TilesGivenUp, also where some rows would be formed row by row; OutOfMemory
  [[nodiscard]] StoredTiles plan() {
    const Stopwatch finding;
    find_tiles();
    if (is_mixed()) {
      const std::string limits = limits_text();
      throw TilesGivenUp(limits.empty() ? "a plan has all rows in tiles or none, and tiles do not pay in some"
                                        : limits);
    }
    report_.analysis_ms = finding.milliseconds();
    const Stopwatch counting;
    CTiles c = count();
    if (same_) {
      const std::int64_t places = detail::tile_entries * std::int64_t{found_.tiles[0]};
      reserve(static_cast<std::uint64_t>(places) * sizeof(V));
      b_dense_ = Array<V>(places, Init::none, options_.device);
    }
    reserve(detail::csr_bytes(0, nnz_, 0) - sizeof(offset_t));
    report_.sizing_ms = counting.milliseconds();
    describe();
    return {same_,
            std::move(a_tiles_),
            std::move(b_tiles_),
            std::move(c),
            std::move(a_dense_),
            std::move(b_dense_),
            std::move(totals_),
            std::move(offsets_),
            nnz_};
  }

 private:
  using TileSearch<T>::a_;
  using TileSearch<T>::b_;
  using TileSearch<T>::options_;
  using TileSearch<T>::context_;
  using TileSearch<T>::same_;
  using TileSearch<T>::budget_;
  using TileSearch<T>::rule_;
  using TileSearch<T>::totals_;
  using TileSearch<T>::found_;
  using TileSearch<T>::pair_offsets_;
  using TileSearch<T>::a_tiles_;
  using TileSearch<T>::b_tiles_;
  using TileSearch<T>::formed_;
  using TileSearch<T>::met_;
  using TileSearch<T>::reserve;
  using TileSearch<T>::right;
  using TileSearch<T>::counts_of;
  using TileSearch<T>::tile_rows;
  using TileSearch<T>::choose_rows;
  using TileSearch<T>::find_some_tiles;
  using TileSearch<T>::limits_text;
  using TileSearch<T>::is_mixed;

  static constexpr std::uint64_t dense_tile_bytes = detail::tile_entries * value_bytes<V>;

  /// Tiles of both factors and their pairs; once more where there was too little room.
  void find_tiles() {
    if (a_.nnz() > most_entries || b_.nnz() > most_entries) {
      throw TilesGivenUp(fmt::format("factors have {} and {} entries, more than tiles can number", a_.nnz(), b_.nnz()));
    }
    pair_offsets_ = counts_of(tile_rows());
    if (choice_.share == TileShare::some) {
      find_some_tiles(choice_.least_gain_ms / 2);
      return require_tile_number(found_);
    }
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
    // A few tile rows that do not pay cost less in tiles than a mixed product would.
    const bool mixes = options_.workflow == SpgemmWorkflow::automatic &&
                       options_.precision == SpgemmPrecision::working &&
                       gain_by_rows_ms(static_cast<double>(found_.poor_pairs),
                                       static_cast<double>(found_.poor_products)) >= choice_.least_gain_ms;
    if (mixes) rule_.least_pair_products = least_pair_products;
    if (mixes || found_.by_rows > 0) choose_rows();
    require_tile_number(found_);
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
    enqueue_pair_counts(context_, a_tiles_, right(), rule_, nullptr, pair_offsets_.data(), totals_.data());
    exclusive_sum_on_device(options_.device, pair_offsets_.span());
    found_ = fetch_totals(context_, totals_.data(), nullptr).first;
  }

  /// Rows by row are summed in the working precision. \throws TilesGivenUp where another one was asked for
  void leave_operands() {
    if (operands_ && options_.precision != SpgemmPrecision::working) throw TilesGivenUp(limits_text());
    operands_.reset();
  }

  /// Analysis of the other rows.
  void start_rows() {
    SpgemmOptions options = options_;
    options.workflow = SpgemmWorkflow::symbolic;
    options.short_rows = false;
    if (options.memory_limit_bytes != 0) options.memory_limit_bytes = std::max<std::uint64_t>(budget_.left(), 1);
    rows_.emplace(a_, b_, options, tuning_for(context_.limits()), formed_.flags());
    reserve(rows_->budget->limit() - rows_->budget->left());
  }

  /// Structure of C, and beside it the dense copies.
  [[nodiscard]] CTiles count() {
    const auto pairs = static_cast<std::int64_t>(found_.pairs);
    const std::uint64_t dense_tiles = found_.tiles[0] + (same_ ? 0 : found_.tiles[1]);
    const std::uint64_t copies = operands_ ? operands_->bytes(found_) : dense_tiles * dense_tile_bytes;
    reserve(CTiles::bytes(tile_rows(), pairs) + copies + detail::csr_bytes(a_.rows, 0, 0));
    CTiles c(tile_rows(), pairs, options_.device);
    c.take(a_tiles_.arrays().taken);
    if (operands_) {
      operands_->allocate(found_);
    } else if constexpr (has_values<V>) {
      a_dense_ = Array<V>(detail::tile_entries * std::int64_t{found_.tiles[0]}, Init::none, options_.device);
      if (!same_) {
        b_dense_ = Array<V>(detail::tile_entries * std::int64_t{found_.tiles[1]}, Init::none, options_.device);
      }
    }
    if (rows_) {
      count_mixed(c);
      return c;
    }
    offsets_ = counts_of(a_.rows);
    enqueue_count(c, offsets_.data());
    exclusive_sum_on_device(options_.device, offsets_.span());
    std::tie(found_, nnz_) = fetch_totals(context_, totals_.data(), offsets_.data() + a_.rows);
    if (operands_) operands_->take(found_, a_, b_);
    return c;
  }

  /// Rows outside tiles are counted first: their symbolic phase sets the other counts to 0.
  void count_mixed(const CTiles& c) {
    budget_.release(detail::csr_bytes(a_.rows, 0, 0));
    rows_->budget = budget_;
    counted_rows_ = count_rows(*rows_, [&](offset_t* counts) { enqueue_count(c, counts); });
    budget_ = *rows_->budget;
    offsets_ = std::move(counted_rows_.offsets);
    nnz_ = counted_rows_.nnz;
    found_ = fetch_totals(context_, totals_.data(), nullptr).first;
  }

  void enqueue_count(const CTiles& c, offset_t* counts) {
    SideStreams::Fork fork(options_.device);
    if (operands_) {
      operands_->enqueue_copies(context_, fork, a_, a_tiles_, b_, right(), totals_.data());
    } else if constexpr (has_values<V>) {
      const TileRowList formed = a_tiles_.arrays().taken;
      // Where A is B, copies of tile rows that are met alone are needed, too.
      if (same_ && rows_) a_tiles_.take(met_.listed(found_.listed[1].rows));
      fork.run(0, [&] { enqueue_copy(a_, a_tiles_, a_dense_); });
      a_tiles_.take(formed);
      if (!same_) fork.run(1, [&] { enqueue_copy(b_, b_tiles_, b_dense_); });
    }
    enqueue_symbolic_tiles(context_, a_.rows, a_tiles_, right(), pair_offsets_.data(), found_.symbolic_bytes, c, counts,
                           totals_.data());
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
    enqueue_sum(c, result);
    if (rows_) {
      enqueue_numeric(*rows_, counted_rows_.bins, result.offsets.data(), result.columns.data(), result.values.data());
    }
    if (!options_.asynchronous) context_.synchronize();
    return result;
  }

  void enqueue_sum(const CTiles& c, CsrArrays<V>& result) {
    if constexpr (has_values<V>) {
      if (operands_) {
        operands_->enqueue_product(context_, a_tiles_, right(), c, result.offsets.data(), result.columns.data(),
                                   result.values.data());
        return;
      }
    }
    enqueue_numeric_tiles<V>(context_, arithmetic(), a_tiles_, a_dense_.data(), right(),
                             same_ ? a_dense_.data() : b_dense_.data(), c, result.offsets.data(), result.columns.data(),
                             result.values.data());
  }

  void measure_loss(const CsrArrays<V>& c) {
    report_.precision = options_.precision;
    if (options_.precision == SpgemmPrecision::working) return;
    report_.loss = operands_->loss(context_, a_, b_, c.offsets.data(), c.columns.data(), c.values.data());
  }

  [[nodiscard]] bool uses_tensor() const noexcept {
    return operands_ ? operands_->uses_tensor() : arithmetic() == TileArithmetic::tensor;
  }

  [[nodiscard]] std::string arithmetic_text() const {
    return operands_ ? operands_->text() : tile_arithmetic_text<V>(context_, options_.determinism, found_);
  }

  void describe() {
    const double tiles = 64.0 * (static_cast<double>(found_.tiles[0]) + static_cast<double>(found_.tiles[1]));
    const double entries = static_cast<double>(a_.nnz()) + (same_ ? 0.0 : static_cast<double>(b_.nnz()));
    report_.workflow = SpgemmWorkflow::tiles;
    if (rows_) {
      report_.reason += "; " + mixed_text();
    } else {
      report_.reason += fmt::format("; tiles are {:.3g} full", tiles > 0.0 ? entries / tiles : 0.0);
    }
    report_.reason +=
        fmt::format(", {} of {} pairs are not empty, {}", found_.live_pairs, found_.pairs, arithmetic_text());
    report_.products = static_cast<offset_t>(found_.products) + (rows_ ? rows_->report.products : 0);
    report_.expansion = a_.nnz() > 0 ? static_cast<double>(report_.products) / static_cast<double>(a_.nnz()) : 0.0;
    report_.determinism = uses_tensor() ? Determinism::run_to_run : Determinism::gpu_to_gpu;
    if (rows_) {
      report_.accumulators = rows_->report.accumulators;
      if (rows_->adds_in_any_order) report_.determinism = Determinism::not_guaranteed;
    }
    report_.peak_bytes = budget_.peak();
  }

  [[nodiscard]] std::string mixed_text() const {
    const std::string limits = limits_text();
    index_t rows = 0;
    for (const SpgemmAccumulatorUse& use : rows_->report.accumulators) rows += use.rows;
    return fmt::format("{} of {} tile rows by tiles, {} rows with products row by row since {}", found_.in_tiles,
                       tile_rows(), rows, limits.empty() ? std::string("tiles do not pay there") : limits);
  }

  static constexpr offset_t most_entries = std::numeric_limits<std::int32_t>::max();

  TileChoice choice_;
  std::optional<TileOperands<T>> operands_;  ///< instead of dense copies
  Array<V> a_dense_;
  Array<V> b_dense_;
  Array<offset_t> offsets_;           ///< of C
  offset_t nnz_ = 0;                  ///< of C
  std::optional<DeviceJob<V>> rows_;  ///< mixed: the rows that are not formed in tiles
  CountedRows counted_rows_;          ///< mixed: their bins
  SpgemmReport& report_;
};

}  // namespace tessera::cuda
