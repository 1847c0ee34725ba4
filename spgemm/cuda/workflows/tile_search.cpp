#include "spgemm/cuda/workflows/tile_search.hpp"

#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "spgemm/cuda/tiles/tile_views.hpp"

#include <cstddef>
#include <utility>

namespace tessera::cuda {

template <class T>
std::string TileSearch<T>::limits_text() const {
  return tile_limits_text(beyond_, rule_);
}

template <class T>
void TileSearch<T>::find_some_tiles(double least_gain_ms) {
  rule_.least_pair_products = least_pair_products;
  reserve(totals_.bytes() + pair_offsets_.bytes());
  zero_bytes(options_.device, totals_.data(), totals_.bytes());
  make_sets();
  enqueue_tile_row_list(context_, structure_of(a_), formed_, least_tile_row_entries, nullptr, 0, totals_.data());
  found_ = fetch_totals(context_, totals_.data(), nullptr).first;
  find_listed(a_tiles_, a_, formed_, 0, static_cast<std::int64_t>(found_.listed[0].entries));
  enqueue_met_tile_rows(context_, a_tiles_, rule_, nullptr, false, met_);
  enqueue_tile_row_list(context_, structure_of(b_), met_, 0, nullptr, 1, totals_.data());
  found_ = fetch_totals(context_, totals_.data(), nullptr).first;
  find_listed(b_tiles_, b_, met_, 1, static_cast<std::int64_t>(found_.listed[1].entries));
  candidates_ = std::exchange(formed_, TileRowSet());
  met_ = TileRowSet();
  choose_rows();
  candidates_ = TileRowSet();
  budget_.release(set_bytes());
  const double gain = gain_by_tiles_ms(static_cast<double>(found_.pairs), static_cast<double>(found_.products));
  if (gain < least_gain_ms) throw TilesGivenUp("few tile rows pay");
}

template <class T>
void TileSearch<T>::make_sets() {
  reserve(set_bytes());
  formed_ = TileRowSet(tile_rows(), options_.device);
  met_ = TileRowSet(detail::tiles_across(b_.rows), options_.device);
}

template <class T>
void TileSearch<T>::find_listed(TilePositions& tiles, const CsrView<T>& matrix, const TileRowSet& set, int which,
                                std::int64_t capacity) {
  const index_t all = detail::tiles_across(matrix.rows);
  reserve(TilePositions::bytes(all, capacity));
  if (tiles.capacity() > 0) budget_.release(TilePositions::bytes(all, tiles.capacity()));
  tiles = TilePositions(matrix.rows, capacity, options_.device);
  tiles.take(set.listed(found_.listed[which].rows));
  zero_bytes(options_.device, totals_.data()->tiles + which, sizeof(unsigned));
  enqueue_positions(context_, structure_of(matrix), tiles, which, totals_.data());
}

template <class T>
void TileSearch<T>::choose_rows() {
  make_sets();
  TileTotals* const totals = totals_.data();
  // Numbers of tiles, and limits that positions have met, stay.
  constexpr std::size_t kept = offsetof(TileTotals, not_finite);
  zero_bytes(options_.device, reinterpret_cast<unsigned char*>(totals) + kept, sizeof(TileTotals) - kept);
  zero_bytes(options_.device, pair_offsets_.data(), pair_offsets_.bytes());
  enqueue_pair_counts(context_, a_tiles_, right(), rule_, formed_.flags(), pair_offsets_.data(), totals);
  exclusive_sum_on_device(options_.device, pair_offsets_.span());
  enqueue_tile_row_list(context_, structure_of(a_), formed_, 0, &a_tiles_, 0, totals);
  enqueue_met_tile_rows(context_, a_tiles_, rule_, formed_.flags(), same_, met_);
  enqueue_tile_row_list(context_, structure_of(b_), met_, 0, &right(), 1, totals);
  found_ = fetch_totals(context_, totals_.data(), nullptr).first;
  beyond_ = found_.beyond;
  if (found_.in_tiles == 0) {
    const std::string limits = limits_text();
    throw TilesGivenUp(limits.empty() ? "no tile row pays" : limits);
  }
  a_tiles_.take(formed_.listed(found_.listed[0].rows));
  if (same_) return;
  b_tiles_.take(met_.listed(found_.listed[1].rows));
  narrow(a_tiles_, a_, formed_, 0);
  narrow(b_tiles_, b_, met_, 1);
}

template <class T>
void TileSearch<T>::narrow(TilePositions& tiles, const CsrView<T>& matrix, const TileRowSet& set, int which) {
  const unsigned needed = found_.listed[which].tiles;
  if (found_.tiles[which] / 2 <= needed) return;
  find_listed(tiles, matrix, set, which, needed);
  found_.tiles[which] = needed;
}

template class TileSearch<float>;
template class TileSearch<double>;

}  // namespace tessera::cuda
