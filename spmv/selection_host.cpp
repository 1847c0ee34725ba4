/// \file
/// The choice of `automatic` on the host.
#include "spmv/selection_rules.hpp"

#include "core/parallel.hpp"
#include "preprocess/long_row_slices.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/tiles/tiles_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace tessera::detail {

namespace {

/// CSR cannot balance a row that alone is more than this part of the work.
constexpr std::int64_t largest_row_part = 64;

/// Products from which tiles and slices pay: set-up takes the time of one product, and each saves about a third.
constexpr std::int64_t applications_worth_slices = 5;

struct LongestRow {
  offset_t length = 0;
  LongestRow& operator+=(const LongestRow& other) {
    length = std::max(length, other.length);
    return *this;
  }
};

/// Nonzeros of the longest row, if there are at least `least`; else 0. Groups of rows that hold fewer together are
/// passed over, so that only one row offset per group is read where rows are much shorter. O(rows)
template <class T>
offset_t longest_row(const CsrView<T>& a, offset_t least, const Device& device) {
  const offset_t* const offsets = a.row_offsets.data();
  const offset_t mean = a.nnz() / std::max<index_t>(a.rows, 1) + 1;
  const std::int64_t group = std::max<std::int64_t>(least / (2 * mean), 1);
  const std::int64_t groups = (a.rows + group - 1) / group;
  const auto longest_of = [&](host::Range range) {
    LongestRow longest;
    for (std::int64_t g = range.begin; g < range.end; ++g) {
      const std::int64_t begin = g * group;
      const std::int64_t end = std::min<std::int64_t>(begin + group, a.rows);
      if (offsets[end] - offsets[begin] < least) continue;
      for (std::int64_t i = begin; i < end; ++i) longest += {offsets[i + 1] - offsets[i]};
    }
    return longest;
  };
  const offset_t length = host::parallel_sum<LongestRow>(device, groups, longest_of).length;
  return length >= least ? length : 0;
}

/// MERBIT where its slices pay: only they make it faster than the others on the host.
template <class T>
std::optional<SpmvSelection> select_slices(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_slices) return std::nullopt;
  const LongRowTotals sliced = rows_worth_slicing(a.row_offsets, a.cols, sizeof(T), options.device);
  if (sliced.rows == 0) return std::nullopt;
  const double passes = static_cast<double>(sliced.nonzeros) / static_cast<double>(a.cols);
  return SpmvSelection{SpmvAlgorithm::merbit,
                       fmt::format("{} long rows hold {} of {} nonzeros, {:.1f} a column: merbit reads x once for all "
                                   "of these rows",
                                   sliced.rows, sliced.nonzeros, a.nnz(), passes)};
}

/// Row patterns where samples promise that lists name nearly all rows, and that values take fewer bytes or none.
template <class T>
std::optional<SpmvSelection> select_host_patterns(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_row_templates || a.nnz() <= least_nonzeros_on_host) {
    return std::nullopt;
  }
  if (!host::neighbours_are_alike(a)) return std::nullopt;
  RowListEstimate estimate;
  if (!a.is_pattern()) estimate = host::estimate_row_lists(a, RowListKind::columns_and_values, options.device);
  double own = 0.0;
  if (!estimate.promises()) {
    if (!a.is_pattern()) {
      if (options.expected_applications < applications_worth_row_patterns_on_host) return std::nullopt;
      // Values first: where nothing compresses them, their sample costs a tenth of that of rows.
      own = host::promised_value_bytes(a);
      if (own >= sizeof(double)) return std::nullopt;
    }
    estimate = host::estimate_row_lists(a, RowListKind::columns, options.device);
  }
  if (!estimate.promises() || estimate.named_nonzero_share < least_named_nonzeros) return std::nullopt;
  const double bytes = pattern_bytes_per_nonzero(own, static_cast<double>(a.nnz()) / static_cast<double>(a.rows));
  return SpmvSelection{
      SpmvAlgorithm::patterns,
      fmt::format("{} {} name {:.3g} % of a sample of rows: {:.2g} bytes per nonzero instead of {:.2g}, which {} "
                  "products repay",
                  estimate.lists, name_of(estimate.kind), 100.0 * estimate.named_share, bytes,
                  csr_bytes_per_nonzero(a.is_pattern() ? 0.0 : sizeof(T)), options.expected_applications)};
}

}  // namespace

template <class T>
SpmvSelection select_for_host(const CsrView<T>& a, const SpmvOptions& options, const RefusedKernels& refused) {
  const offset_t length = path_length(a.rows, a.nnz());
  if (length <= 2 * host::items_per_chunk) {
    return {SpmvAlgorithm::csr,
            fmt::format("{} rows and {} nonzeros: too small for load balancing to pay", a.rows, a.nnz())};
  }
  if (!refused.patterns) {
    if (std::optional<SpmvSelection> row_patterns = select_host_patterns(a, options)) return *std::move(row_patterns);
  }
  // With more rows than this, one below shortest_sliced_run is never too large a part of the work; with fewer, reading
  // all offsets takes a tenth of a millisecond.
  constexpr index_t most_counted_rows = 1 << 18;
  static_assert(most_counted_rows >= largest_row_part * shortest_sliced_run);
  const offset_t longest = longest_row(a, a.rows <= most_counted_rows ? 1 : shortest_sliced_run, options.device);
  if (longest >= shortest_sliced_run) {  // no shorter row is cut
    if (std::optional<SpmvSelection> slices = select_slices(a, options)) return *std::move(slices);
  }
  if (longest == 0 && a.nnz() > 0) {
    return {SpmvAlgorithm::csr,
            fmt::format("no row holds {} or more of {} nonzeros, so rows are evenly balanced across threads",
                        shortest_sliced_run, a.nnz())};
  }
  const double percent = a.nnz() > 0 ? 100.0 * static_cast<double>(longest) / static_cast<double>(a.nnz()) : 0.0;
  if (longest * largest_row_part <= length) {
    return {
        SpmvAlgorithm::csr,
        fmt::format("the longest row holds {} of {} nonzeros ({:.2g} %), so rows are evenly balanced across threads",
                    longest, a.nnz(), percent)};
  }
  return {SpmvAlgorithm::merge,
          fmt::format("one row holds {} of {} nonzeros ({:.2g} %) and must be cut", longest, a.nnz(), percent)};
}

template SpmvSelection select_for_host(const CsrView<float>&, const SpmvOptions&, const RefusedKernels&);
template SpmvSelection select_for_host(const CsrView<double>&, const SpmvOptions&, const RefusedKernels&);

}  // namespace tessera::detail
