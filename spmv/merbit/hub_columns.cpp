/// \file
/// Hub columns: rules and what they promise.
#include "spmv/merbit/hub_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::cuda {

namespace {

/// Of the second-level cache: what hubs may take, and what there is for x and the matrix that streams through. A GPU
/// whose cache has two halves keeps lines that all multiprocessors read in both.
constexpr double packed_share = 1.0 / 6.0;
constexpr double cached_share = 0.4;

/// A hub is read from x, and written, once per product: that costs as much as about two uses that miss the cache.
constexpr std::uint64_t least_uses_of_hub = 8;
constexpr index_t near_columns = 16384;

/// Of the bytes of the matrix.
constexpr double least_saved_share = 0.05;

/// Of the second-level cache: x up to the distance from the diagonal at which slots begin, the block of x from which
/// slots are filled together, and what that may become where there would be too many blocks. Measured on an H200
/// (bench/NOTES.md): products change by less than 1 % from 1/30 to 1/15, and from 1/15 to 1/4.
constexpr double near_share = 1.0 / 15.0;
constexpr double block_share = 1.0 / 8.0;
constexpr double most_block_share = 1.0 / 3.0;

/// From memory per slot, beside its entry, which is written and read: its column; and what its gather from the cache
/// costs.
constexpr double bytes_of_slot = 20.0;

/// From memory per hub that is packed: its line of x, its column, its place.
constexpr double bytes_of_packing = 80.0;

/// Lines of x per nonzero, in a sample, from which reads are scattered.
constexpr double least_line_share = 0.2;

/// Nonzeros per column, on average.
constexpr offset_t least_mean_uses = 4;

/// Staging has blocks of 1024 threads, one per multiprocessor. Measured on an H200: with 40 % of the nonzeros (rmat)
/// products take .34 ms instead of .46; on web, whose hubs would have 4 %, such blocks alone take 1.26 instead of .97.
constexpr double staged_share = 0.25;

/// Lines in the cache at one time. \param stay how long a line stays, in products
double kept_lines(std::span<const UsedLines> lines, double streamed, double stay) {
  double kept = streamed * std::min(stay, 1.0);
  for (const UsedLines& line : lines) kept += line.count * -std::expm1(-line.uses * stay);
  return kept;
}

/// As used lines, each with `scale` times its uses.
std::vector<UsedLines> used_lines(const UseCounts& counts, double scale) {
  constexpr std::size_t last = UseCounts::bins - 1;
  std::vector<UsedLines> lines;
  for (std::size_t uses = 1; uses <= last; ++uses) {
    const auto count = static_cast<double>(counts.with_uses[uses]);
    if (count == 0.0) continue;
    const double each = uses < last ? static_cast<double>(uses) : static_cast<double>(counts.uses_of_last_bin) / count;
    lines.push_back({count, scale * each});
  }
  return lines;
}

}  // namespace

HubRules hub_rules(offset_t nnz, std::size_t element_bytes, double value_bytes, std::int64_t cache_bytes) noexcept {
  const auto cache = static_cast<double>(cache_bytes);
  const double matrix_bytes = static_cast<double>(nnz) * (sizeof(index_t) + value_bytes);
  HubRules rules;
  rules.most = static_cast<std::int64_t>(packed_share * cache / static_cast<double>(element_bytes));
  rules.line_entries = memory_line_bytes / static_cast<int>(element_bytes);
  rules.cached_lines = cached_share * cache / memory_line_bytes;
  rules.streamed_lines = matrix_bytes / memory_line_bytes;
  rules.least_uses = least_uses_of_hub;
  rules.near = near_columns;
  rules.least_saved = least_saved_share * matrix_bytes;
  rules.least_staged_share = staged_share;
  return rules;
}

bool may_gain_by_hubs(const HubTraits& matrix, const HubRules& rules) noexcept {
  const std::int64_t worth = matrix.pattern ? applications_worth_hubs_of_pattern : applications_worth_hubs;
  return matrix.products >= worth && matrix.line_share >= least_line_share &&
         matrix.nnz >= least_mean_uses * matrix.cols &&
         static_cast<double>(matrix.cols) >= rules.cached_lines * rules.line_entries &&
         matrix.code_room >= static_cast<double>(matrix.nnz) * sizeof(index_t);
}

MostUsed most_used(const UseCounts& counts, std::int64_t most, std::uint64_t least_uses) noexcept {
  MostUsed result;
  const std::uint64_t least = std::max<std::uint64_t>(least_uses, 1);
  for (std::uint64_t uses = UseCounts::bins - 1; uses >= least; --uses) {
    const auto more = static_cast<std::int64_t>(counts.with_uses[uses]);
    if (more > most - result.count) break;
    result.least_uses = uses;
    result.count += more;
    result.uses += uses == UseCounts::bins - 1 ? counts.uses_of_last_bin : uses * static_cast<std::uint64_t>(more);
  }
  return result;
}

double missed_uses(std::span<const UsedLines> lines, double streamed, double capacity) {
  double all = streamed;
  for (const UsedLines& line : lines) all += line.count;
  if (all <= capacity) return 0.0;
  double low = 0.0;
  double high = 1.0;
  while (kept_lines(lines, streamed, high) <= capacity) high *= 2;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (kept_lines(lines, streamed, middle) <= capacity ? low : high) = middle;
  }
  double missed = 0.0;
  for (const UsedLines& line : lines) missed += line.count * line.uses * std::exp(-line.uses * low);
  return missed;
}

HubGain gain_by_hubs(const UseCounts& lines, const MostUsed& hubs, const HubRules& rules, std::int64_t one_in) {
  const auto scale = static_cast<double>(one_in);
  std::vector<UsedLines> used = used_lines(lines, scale);
  double all_uses = 0.0;
  for (const UsedLines& line : used) all_uses += line.count * line.uses;
  if (all_uses == 0.0 || hubs.count == 0) return {};
  const double before = missed_uses(used, rules.streamed_lines, rules.cached_lines);
  const double of_hubs = std::min(scale * static_cast<double>(hubs.uses), all_uses);
  for (UsedLines& line : used) line.uses *= 1.0 - of_hubs / all_uses;
  const double packed = static_cast<double>(hubs.count) / rules.line_entries;
  used.push_back({packed, of_hubs / packed});
  const double after = missed_uses(used, rules.streamed_lines, rules.cached_lines);
  return {memory_line_bytes * (before - after) - bytes_of_packing * static_cast<double>(hubs.count), after};
}

SlotRules slot_rules(index_t cols, offset_t nnz, double room, const HubRules& rules,
                     std::int64_t cache_bytes) noexcept {
  const int element_bytes = memory_line_bytes / rules.line_entries;
  const double cache_entries = static_cast<double>(cache_bytes) / element_bytes;
  const double least_block = std::ceil(static_cast<double>(cols) / most_slot_blocks);
  const double block = std::max(block_share * cache_entries, least_block);
  if (cols <= 0 || block > most_block_share * cache_entries) return {};
  constexpr double most = 1 << 30;
  const double slot_bytes = static_cast<double>(sizeof(index_t)) + element_bytes;
  const double left = room - static_cast<double>(nnz) * sizeof(index_t) - static_cast<double>(rules.most) * slot_bytes;
  return {static_cast<std::int64_t>(std::clamp(left / slot_bytes, 0.0, most)),
          static_cast<index_t>(near_share * cache_entries), static_cast<index_t>(block), rules.least_saved};
}

double saved_by_slots(std::int64_t slots, double missed, const HubRules& rules) noexcept {
  const int element_bytes = memory_line_bytes / rules.line_entries;
  const auto all = static_cast<double>(slots);
  return memory_line_bytes * std::min(missed, all) - (bytes_of_slot + 2.0 * element_bytes) * all;
}

std::string describe_hubs(const HubColumns& hubs) {
  const std::int64_t count = hubs.columns.size() - hubs.slots;
  const bool is_one = count == 1;
  const auto nonzeros = static_cast<double>(hubs.codes.size());
  const std::string staged =
      hubs.staged > 0 ? fmt::format(", and at {} of them staged in shared memory", hubs.staged) : "";
  const std::string slots = hubs.slots > 0 ? fmt::format("; {:.0f} % have slots of their own in it",
                                                         100.0 * static_cast<double>(hubs.slots) / nonzeros)
                                           : "";
  return fmt::format("x at {} hub column{}, which {} {:.0f} % of the nonzeros, is packed before each product{}{}",
                     count, is_one ? "" : "s", is_one ? "has" : "have",
                     100.0 * static_cast<double>(hubs.uses) / nonzeros, staged, slots);
}

}  // namespace tessera::cuda
