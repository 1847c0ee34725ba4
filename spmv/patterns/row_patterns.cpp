/// \file
/// Row patterns: the choice of lists, and why a matrix is refused.
#include "spmv/patterns/row_patterns.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::detail {

std::string name_of(RowListKind kind) { return kind == RowListKind::columns ? "row patterns" : "row templates"; }

int width_of(std::span<const CountedList> lists) noexcept {
  index_t width = 0;
  for (const CountedList& list : lists) width = std::max(width, list.length);
  return width;
}

std::vector<CountedList> choose_row_lists(std::vector<CountedList> taken, std::vector<CountedList> candidates,
                                          int places, double rows) {
  std::sort(candidates.begin(), candidates.end(), [](const CountedList& a, const CountedList& b) {
    return a.count != b.count ? a.count > b.count : a.row < b.row;
  });
  index_t width = width_of(taken);
  for (const CountedList& candidate : candidates) {
    const index_t wider = std::max(width, candidate.length);
    if (candidate.length > longest_row_list || taken.size() == most_row_lists) continue;
    const double share = static_cast<double>(candidate.count) / rows;
    if (candidate.length > width && share < least_share_of_longer_list) continue;
    // One list more, and the list without entries.
    const index_t needed = (wider + 1) * static_cast<index_t>(taken.size() + 2);
    if (needed > places || (share < least_share_of_many_places && needed > most_places_of_rare_lists)) continue;
    taken.push_back(candidate);
    width = wider;
  }
  return taken;
}

RowListEstimate estimate_of(RowListKind kind, std::span<const CountedList> counted, index_t sampled,
                            offset_t sampled_nonzeros) {
  RowListEstimate estimate{kind, static_cast<int>(counted.size()), 0, sampled, 1.0, 1.0};
  if (sampled == 0) return estimate;
  double rows = 0.0;
  double nonzeros = 0.0;
  for (const CountedList& list : counted) {
    rows += list.count;
    nonzeros += static_cast<double>(list.count) * list.length;
  }
  estimate.named_share = rows / sampled;
  if (sampled_nonzeros > 0) estimate.named_nonzero_share = nonzeros / static_cast<double>(sampled_nonzeros);
  return estimate;
}

std::string describe_row_patterns(RowListKind kind, int lists, std::int64_t exceptions, std::string_view values,
                                  double bytes_per_nonzero) {
  const std::string others =
      exceptions == 0 ? "all rows" : fmt::format("all rows but {}, which are read from CSR", exceptions);
  return fmt::format("; {} {} name {}{}: {:.3g} bytes per nonzero", lists, name_of(kind), others, values,
                     bytes_per_nonzero);
}

void refuse_sample(const RowListEstimate& estimate) {
  throw NotSupported(fmt::format(
      "kernel patterns needs rows that repeat: {} lists of relative columns name {:.3g} % of {} rows, and {:g} % are "
      "needed",
      estimate.lists, 100.0 * estimate.named_share, estimate.rows, 100.0 * least_named_share));
}

void refuse_exception(offset_t longest) {
  throw NotSupported(
      fmt::format("kernel patterns reads rows that are on no list by one warp each: one has {} nonzeros, more than {}",
                  longest, longest_exception));
}

}  // namespace tessera::detail
