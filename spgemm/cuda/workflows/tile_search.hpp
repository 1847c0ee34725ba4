/// \file
/// Tiles of both factors of a product on a GPU, and which tile rows of C are formed in tiles.
#pragma once

#include "core/cuda/context.hpp"
#include "core/memory_budget.hpp"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"
#include "spgemm/cuda/tiles/tile_row_lists.hpp"
#include "spgemm/cuda/workflows/tile_steps.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace tessera::cuda {

/// State of a product in tiles until its pairs are known, and what a mixed product adds to the search.
template <class T>
class TileSearch {
 public:
  /// \param same whether A and B are one matrix and share their tiles
  TileSearch(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options, bool same)
      : a_(a),
        b_(b),
        options_(options),
        context_(Context::of(options.device)),
        current_(options.device),
        same_(same),
        budget_(options.memory_limit_bytes, 0),
        rule_(tile_row_rule(context_)),
        totals_(1, Init::none, options.device) {}

 protected:
  void reserve(std::uint64_t bytes) {
    // No other workflow has another precision: the budget then refuses.
    if (!budget_.fits(bytes) && options_.precision == SpgemmPrecision::working) {
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

  /// Tiles of the tile rows of A with many entries, and of the tile rows of B that they meet; chooses those that pay.
  /// Waits three times. \throws TilesGivenUp if they save less than this
  void find_some_tiles(double least_gain_ms);
  /// Chooses tile rows of C by the rule among those that A takes, and lists them, and the tile rows of B that they
  /// meet, or both if A is B. Waits. \throws TilesGivenUp if there is none
  void choose_rows();
  /// Limits that some tile row exceeds; empty if none does.
  [[nodiscard]] std::string limits_text() const;
  /// Whether some rows are formed row by row.
  [[nodiscard]] bool is_mixed() const noexcept { return a_tiles_.arrays().taken.count < tile_rows(); }

  CsrView<T> a_;
  CsrView<T> b_;
  SpgemmOptions options_;
  const Context& context_;
  DeviceGuard current_;
  bool same_;  ///< whether A and B are one matrix, and so their tiles
  detail::MemoryBudget budget_;
  TileRowRule rule_;
  Array<TileTotals> totals_;
  TileTotals found_;     ///< the totals on the host
  unsigned beyond_ = 0;  ///< limits that tile rows exceed
  Array<offset_t> pair_offsets_;
  TileRowSet formed_;      ///< mixed: tile rows of C that are formed in tiles
  TileRowSet met_;         ///< mixed: tile rows of B that they meet, of A too if A is B
  TileRowSet candidates_;  ///< while tile rows are chosen: those that A takes
  TilePositions a_tiles_;
  TilePositions b_tiles_;  ///< none where A and B are one matrix

 private:
  [[nodiscard]] std::uint64_t set_bytes() const noexcept {
    return TileRowSet::bytes(tile_rows()) + TileRowSet::bytes(detail::tiles_across(b_.rows));
  }
  void make_sets();
  /// Positions of the tile rows of a set, in place of those before.
  void find_listed(TilePositions& tiles, const CsrView<T>& matrix, const TileRowSet& set, int which,
                   std::int64_t capacity);
  /// Finds the tiles of listed tile rows alone, if others have more: dense copies have room for all.
  void narrow(TilePositions& tiles, const CsrView<T>& matrix, const TileRowSet& set, int which);
};

}  // namespace tessera::cuda
