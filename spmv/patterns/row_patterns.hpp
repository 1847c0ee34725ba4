/// \file
/// Row patterns: the lists of relative columns (column - row) that rows of a matrix share, and a byte per row that
/// names its list. Row templates: lists of relative columns and values.
#pragma once

#include "core/host_device.hpp"
#include "spmv/patterns/patterns_tuning.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera::detail {

/// What a list holds.
enum class RowListKind {
  columns,             ///< row patterns
  columns_and_values,  ///< row templates
};

/// "row patterns" or "row templates".
[[nodiscard]] std::string name_of(RowListKind kind);

/// The lists of a matrix and the list of each row. Plain data on one device.
template <class T>
struct RowPatterns {
  RowListKind kind = RowListKind::columns;
  int lists = 0;
  int width = 0;  ///< entries of the longest list
  /// lists + 1 times: the number of entries, then `width` relative columns, of which the last is repeated. At the end a
  /// list without entries, for the rows that have none of the others.
  Array<index_t> table;
  Array<T> values;            ///< of templates: lists + 1 times `width`
  Array<std::uint8_t> codes;  ///< per row: its list, or `lists` for an exception
  Array<index_t> exceptions;  ///< rows on no list; ascending
  offset_t longest_exception = 0;

  [[nodiscard]] int stride() const noexcept { return width + 1; }
};

/// Rows with one hash, found among others.
struct CountedList {
  std::uint32_t hash = 0;  ///< never 0
  std::uint32_t count = 0;
  index_t row = 0;  ///< the first of them
  index_t length = 0;
};

/// A sample of rows and what lists would do for it.
struct RowListEstimate {
  RowListKind kind = RowListKind::columns;
  int lists = 0;
  int distinct = 0;                  ///< lists of the sample, from which these were chosen; 0: not counted
  index_t rows = 0;                  ///< looked at
  double named_share = 0.0;          ///< of these rows
  double named_nonzero_share = 0.0;  ///< of their nonzeros

  [[nodiscard]] bool promises() const noexcept { return named_share >= least_named_share_of_sample; }
};

/// Row number `number` of a sample: one at random in each of `count` nearly equal parts of all.
struct SampledRows {
  index_t rows = 0;
  index_t count = 0;  ///< at most rows

  [[nodiscard]] TESSERA_HOST_DEVICE index_t operator[](std::int64_t number) const noexcept {
    const std::int64_t begin = number * rows / count;
    const std::int64_t size = (number + 1) * rows / count - begin;
    // Multiplicative hashing (Knuth), which differs from row to row.
    const std::uint32_t random = static_cast<std::uint32_t>(number + 1) * 2654435769U;
    return static_cast<index_t>(begin + (size * static_cast<std::int64_t>(random >> 1) >> 31));
  }
};
[[nodiscard]] inline SampledRows sample_of_rows(index_t rows) noexcept {
  return {rows, rows < sampled_rows_for_lists ? rows : sampled_rows_for_lists};
}

/// The arrays of a matrix that lists are made of. \tparam WithValues for templates
template <class T, bool WithValues>
struct RowSource {
  const offset_t* row_offsets;
  const index_t* columns;
  const T* values;

  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  [[nodiscard]] TESSERA_HOST_DEVICE static Bits bits_of(T value) noexcept {
    Bits bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t length(index_t row) const noexcept {
    return row_offsets[row + 1] - row_offsets[row];
  }

  /// Of the entries of a row; never 0.
  [[nodiscard]] TESSERA_HOST_DEVICE std::uint32_t hash(index_t row) const noexcept {
    std::uint32_t h = 0x9e3779b9U;
    const auto take = [&h](std::uint32_t word) {
      h = (h ^ word) * 0x85ebca6bU;
      h ^= h >> 15;
    };
    for (offset_t k = row_offsets[row]; k < row_offsets[row + 1]; ++k) {
      take(static_cast<std::uint32_t>(columns[k] - row));
      if constexpr (WithValues) {
        const auto bits = static_cast<std::uint64_t>(bits_of(values[k]));
        take(static_cast<std::uint32_t>(bits));
        take(static_cast<std::uint32_t>(bits >> 32));
      }
    }
    return h == 0 ? 1 : h;
  }

  /// Whether a row is a list, entry by entry, values bit by bit. \param list its length and relative columns
  [[nodiscard]] TESSERA_HOST_DEVICE bool equals(index_t row, const index_t* list, const T* list_values) const noexcept {
    const offset_t begin = row_offsets[row];
    const offset_t entries = row_offsets[row + 1] - begin;
    if (entries != list[0]) return false;
    for (offset_t k = 0; k < entries; ++k) {
      if (columns[begin + k] - row != list[1 + k]) return false;
      if constexpr (WithValues) {
        if (bits_of(values[begin + k]) != bits_of(list_values[k])) return false;
      }
    }
    return true;
  }
};

/// Lists to take from candidates: the most frequent first, as many as a byte and the table hold.
/// \param taken stay, in their order \param places of the table \param rows that the candidates were counted among
[[nodiscard]] std::vector<CountedList> choose_row_lists(std::vector<CountedList> taken,
                                                        std::vector<CountedList> candidates, int places, double rows);
/// Entries of the longest.
[[nodiscard]] int width_of(std::span<const CountedList> lists) noexcept;
[[nodiscard]] RowListEstimate estimate_of(RowListKind kind, std::span<const CountedList> counted, index_t sampled,
                                          offset_t sampled_nonzeros);

/// "; 9 row patterns name all rows: 8.2 bytes per nonzero", for the reason of a plan.
/// \param values how they are kept, ", values ..."
[[nodiscard]] std::string describe_row_patterns(RowListKind kind, int lists, std::int64_t exceptions,
                                                std::string_view values, double bytes_per_nonzero);

/// Why a matrix is refused.
[[noreturn]] void refuse_sample(const RowListEstimate& estimate);
[[noreturn]] void refuse_exception(offset_t longest);

[[nodiscard]] constexpr int places_of(RowListKind kind) noexcept {
  return kind == RowListKind::columns ? most_pattern_places : most_template_places;
}

/// The search that both backends share: the lists of a sample name the rows; what they leave is counted, and its lists
/// are added. \tparam Steps count_sample(), count_exceptions(): candidates; set_lists(lists), name_rows(),
/// name_exceptions(); exceptions(): their number; collect_exceptions(); rows(), sampled(), kind()
/// \returns what the sample promised, or nothing where the rows were named
template <class Steps>
[[nodiscard]] std::optional<RowListEstimate> search_row_lists(Steps& steps) {
  const int places = places_of(steps.kind());
  const double rows = steps.rows();
  const std::vector<CountedList> counted = steps.count_sample();
  std::vector<CountedList> lists = choose_row_lists({}, counted, places, steps.sampled());
  RowListEstimate estimate = estimate_of(steps.kind(), lists, steps.sampled(), 0);
  estimate.distinct = static_cast<int>(counted.size());
  if (!estimate.promises()) return estimate;
  steps.set_lists(lists);
  steps.name_rows();
  const double most = (1.0 - least_named_share) * rows;
  std::int64_t exceptions = steps.exceptions();
  // Lists that the sample missed are rare: were there many such rows, it would have seen them.
  if (static_cast<double>(exceptions) > 5.0 * most) return estimate;
  if (exceptions > 0) {
    steps.collect_exceptions();
    const std::size_t known = lists.size();
    lists = choose_row_lists(std::move(lists), steps.count_exceptions(), places, rows);
    if (lists.size() > known) {
      steps.set_lists(lists);
      steps.name_exceptions();
      exceptions = steps.exceptions();
      steps.collect_exceptions();
    }
  }
  if (static_cast<double>(exceptions) <= most) return std::nullopt;
  RowListEstimate found = estimate;
  found.rows = steps.rows();
  found.named_share = 1.0 - static_cast<double>(exceptions) / rows;
  return found;
}

}  // namespace tessera::detail
