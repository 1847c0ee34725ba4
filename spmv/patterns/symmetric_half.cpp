/// \file
/// Symmetric half of row patterns: its diagonals and the places of entries.
#include "spmv/patterns/symmetric_half.hpp"

#include "spmv/patterns/patterns_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

/// The relative columns of a list; none for one that no row is on.
[[nodiscard]] std::span<const index_t> columns_of(std::span<const index_t> table, int width, std::size_t list) {
  const std::span<const index_t> own = table.subspan(list * (static_cast<std::size_t>(width) + 1));
  return own.subspan(1, static_cast<std::size_t>(std::max(own[0], 0)));
}

/// What the relative columns of all lists become, ascending and once each; empty where that is more than `most`.
template <class Function>
[[nodiscard]] std::vector<index_t> distinct(std::span<const index_t> table, int width, std::size_t most,
                                            const Function& of) {
  std::vector<index_t> found;
  const std::size_t lists = table.size() / (static_cast<std::size_t>(width) + 1);
  for (std::size_t list = 0; list < lists; ++list) {
    for (const index_t relative : columns_of(table, width, list)) {
      const index_t value = of(relative);
      const auto at = std::ranges::lower_bound(found, value);
      if (at != found.end() && *at == value) continue;
      if (found.size() == most) return {};
      found.insert(at, value);
    }
  }
  return found;
}

}  // namespace

bool has_list_of_all(std::span<const index_t> table, int width) {
  return !distinct(table, width, static_cast<std::size_t>(width), std::identity()).empty();
}

std::optional<HalfOffsets> half_offsets(std::span<const index_t> table, int width, index_t rows, double most_places,
                                        std::string* why) {
  const auto refuse = [why](std::string reason) -> std::optional<HalfOffsets> {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  if (width == 0) return refuse("rows on lists have no entries");
  if (table.size() > most_half_table_places) {
    return refuse(fmt::format("lists take {} places, more than {}", table.size(), most_half_table_places));
  }
  const std::size_t lists = table.size() / (static_cast<std::size_t>(width) + 1);
  HalfOffsets half;
  half.diagonals = distinct(table, width, most_half_diagonals, [](index_t relative) { return std::abs(relative); });
  if (half.diagonals.empty()) return refuse(fmt::format("more than {} diagonals", most_half_diagonals));
  const std::int64_t leading = (std::int64_t{rows} + half_alignment - 1) / half_alignment * half_alignment;
  const std::int64_t size = leading * static_cast<std::int64_t>(half.diagonals.size());
  if (static_cast<double>(size) > most_places || size > std::numeric_limits<index_t>::max()) {
    return refuse(fmt::format("{} diagonals have {} places, more than {:.0f}", half.diagonals.size(), size,
                              std::min(most_places, 1.0 * std::numeric_limits<index_t>::max())));
  }
  half.leading = static_cast<index_t>(leading);
  half.places.assign(table.size(), 0);
  half.upper.assign(lists * half.diagonals.size(), -1);
  for (std::size_t list = 0; list < lists; ++list) {
    const std::span<const index_t> columns = columns_of(table, width, list);
    if (columns.empty()) continue;
    index_t* const places = half.places.data() + list * (static_cast<std::size_t>(width) + 1) + 1;
    for (std::size_t k = 0; k < static_cast<std::size_t>(width); ++k) {
      // The last column is repeated, and so is its place.
      const index_t relative = columns[std::min(k, columns.size() - 1)];
      const auto at = std::lower_bound(half.diagonals.begin(), half.diagonals.end(), std::abs(relative));
      const auto number = at - half.diagonals.begin();
      places[k] = static_cast<index_t>(number) * half.leading + std::min(relative, 0);
      if (relative < 0 || k >= columns.size()) continue;
      half.upper[list * half.diagonals.size() + static_cast<std::size_t>(number)] = static_cast<std::int16_t>(k);
    }
  }
  return half;
}

}  // namespace tessera::detail
