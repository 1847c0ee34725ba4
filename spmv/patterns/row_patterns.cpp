/// \file
/// Row patterns: the choice of lists, and why a matrix is refused.
#include "spmv/patterns/row_patterns.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::detail {

std::string name_of(RowListKind kind) { return kind == RowListKind::columns ? "row patterns" : "row templates"; }

int width_of(std::span<const CountedRows> lists) noexcept {
  index_t width = 0;
  for (const CountedRows& list : lists) width = std::max(width, list.length);
  return width;
}

std::vector<CountedRows> choose_row_lists(std::vector<CountedRows> taken, std::vector<CountedRows> candidates,
                                          int places, double least_of_longer) {
  std::sort(candidates.begin(), candidates.end(), [](const CountedRows& a, const CountedRows& b) {
    return a.count != b.count ? a.count > b.count : a.row < b.row;
  });
  index_t width = width_of(taken);
  for (const CountedRows& candidate : candidates) {
    const index_t wider = std::max(width, candidate.length);
    if (candidate.length > longest_row_list || taken.size() == most_row_lists) continue;
    if (candidate.length > width && static_cast<double>(candidate.count) < least_of_longer) continue;
    // One list more, and the list without entries.
    if ((wider + 1) * static_cast<index_t>(taken.size() + 2) > places) continue;
    taken.push_back(candidate);
    width = wider;
  }
  return taken;
}

RowListEstimate estimate_of(RowListKind kind, std::span<const CountedRows> counted, index_t sampled,
                            offset_t sampled_nonzeros) {
  RowListEstimate estimate{kind, static_cast<int>(counted.size()), sampled, 1.0, 1.0};
  if (sampled == 0) return estimate;
  double rows = 0.0;
  double nonzeros = 0.0;
  for (const CountedRows& list : counted) {
    rows += list.count;
    nonzeros += static_cast<double>(list.count) * list.length;
  }
  estimate.named_share = rows / sampled;
  if (sampled_nonzeros > 0) estimate.named_nonzero_share = nonzeros / static_cast<double>(sampled_nonzeros);
  return estimate;
}

std::string describe_row_patterns(RowListKind kind, int lists, std::int64_t exceptions, double bytes_per_nonzero) {
  const std::string others =
      exceptions == 0 ? "all rows" : fmt::format("all rows but {}, which are read from CSR", exceptions);
  return fmt::format("; {} {} name {}: {:.3g} bytes per nonzero", lists, name_of(kind), others, bytes_per_nonzero);
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
