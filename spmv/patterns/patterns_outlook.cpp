/// \file
/// Outlook on row patterns: the layouts that a GPU could keep the values of a matrix in, and why not the others.
#include "core/parallel.hpp"
#include "spmv/common/layout_outlook.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/symmetric_half.hpp"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>
#include <utility>

namespace tessera::detail {

namespace {

constexpr auto algorithm = SpmvAlgorithm::patterns;

/// \param what lists hold
[[nodiscard]] std::string why_not_named(const RowListEstimate& estimate, std::string_view what) {
  return fmt::format("the table holds {} of {} lists of relative {}, which name {:.3g} % of {} rows, {:g} % are needed",
                     estimate.lists, estimate.distinct, what, 100.0 * estimate.named_share, estimate.rows,
                     100.0 * least_named_share);
}

[[nodiscard]] std::string why_too_long(offset_t longest) {
  return fmt::format("a row on no list has {} nonzeros, more than {}", longest, longest_exception);
}

/// What a half on a GPU would hold for a row on a list: a value that no row has is 0.
template <class T>
[[nodiscard]] bool half_holds(const SortedColumns& matrix, const T* values, index_t row) noexcept {
  using Source = RowSource<T, true>;
  for (offset_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1] && matrix.columns[k] < row; ++k) {
    const offset_t mirror = matrix.find(matrix.columns[k], row);
    if (Source::bits_of(values[k]) != Source::bits_of(mirror < 0 ? T{0} : values[mirror])) return false;
  }
  return true;
}

struct UnlikeRows {
  std::int64_t of = 0;
  UnlikeRows& operator+=(const UnlikeRows& other) {
    of += other.of;
    return *this;
  }
};

/// Layouts of the values of rows on lists.
template <class T>
class PatternOutlook {
 public:
  PatternOutlook(const CsrView<T>& a, const ValueFacts& facts, const RowPatterns<T>& found, const Device& threads)
      : a_(a),
        facts_(facts),
        found_(found),
        threads_(threads),
        shape_(cuda::choose_pattern_slices(a.rows, a.nnz(), found.width,
                                           !a.is_pattern() && found.kind == RowListKind::columns)) {}

  /// Templates, or rows of a pattern matrix.
  [[nodiscard]] LayoutOutlook without_values() const {
    LayoutOutlook outlook = qualified(name_of(found_.kind), 0, {});
    if (found_.kind == RowListKind::columns) outlook.layout = "no values";
    outlook.taken = true;
    outlook.reason = described({}, outlook.bytes_per_nonzero);
    return outlook;
  }

  /// From the one that is tried first on. \param take whether one of them is taken
  [[nodiscard]] std::vector<LayoutOutlook> with_values(bool take) const {
    std::vector<LayoutOutlook> result{dictionary(), half(), single_precision(), in_full()};
    const cuda::PatternValueLayout floats{0, 0, are_floats()};
    const cuda::PatternValueLayout layouts[] = {{facts_.distinct, 0, false}, {0, diagonals_, are_floats()}, floats, {}};
    for (std::size_t i = 0; take && i < result.size(); ++i) {
      if (!result[i].qualifies) continue;
      result[i].taken = true;
      result[i].reason = described(layouts[i], result[i].bytes_per_nonzero);
      break;
    }
    if constexpr (std::is_same_v<T, float>) result.erase(result.begin() + 2);
    return result;
  }

 private:
  [[nodiscard]] bool are_floats() const noexcept { return std::is_same_v<T, double> && facts_.not_floats == 0; }

  [[nodiscard]] std::string described(const cuda::PatternValueLayout& layout, double bytes) const {
    return describe_row_patterns(found_.kind, found_.lists, found_.exceptions.size(), cuda::describe_layout(layout),
                                 bytes)
        .substr(2);
  }

  /// \param value_bytes of all values
  [[nodiscard]] LayoutOutlook qualified(std::string layout, std::int64_t value_bytes, std::string reason) const {
    const std::int64_t codes = shape_.slices(a_.rows) * 32 * shape_.rows_per_lane;
    const double bytes = static_cast<double>(codes + value_bytes) / static_cast<double>(a_.nnz());
    return {algorithm, std::move(layout), true, false, bytes, std::move(reason)};
  }
  [[nodiscard]] static LayoutOutlook refused(std::string layout, std::string reason) {
    return {algorithm, std::move(layout), false, false, 0.0, std::move(reason)};
  }

  [[nodiscard]] LayoutOutlook dictionary() const {
    if (facts_.distinct == 0) return refused("dictionary", why_no_dictionary());
    if (a_.nnz() < least_nonzeros_of_dictionary) {
      return refused("dictionary", fmt::format("fewer than {} nonzeros", least_nonzeros_of_dictionary));
    }
    cuda::SliceShape of_codes = shape_;
    of_codes.jagged = cuda::is_padded_beyond(most_padding_of_codes, a_.rows, a_.nnz(), found_.width);
    return qualified("dictionary", cuda::value_places(a_.rows, a_.nnz(), found_.width, of_codes),
                     fmt::format("{} different values", facts_.distinct));
  }

  [[nodiscard]] LayoutOutlook half() const {
    const std::string name = are_floats() ? "symmetric half in single precision" : "symmetric half";
    if (!is_filled_for_half(a_.rows, a_.nnz(), found_.width, sizeof(T), found_.table.span())) {
      return refused(name,
                     fmt::format("rows fill {:.2g} of the longest list, {:g} is needed unless it has all columns "
                                 "of the other lists",
                                 static_cast<double>(a_.nnz()) / (1.0 * found_.width * a_.rows), least_fill_of_half));
    }
    std::string why;
    const auto full = static_cast<double>(cuda::value_places(a_.rows, a_.nnz(), found_.width, shape_));
    const auto offsets = half_offsets(found_.table.span(), found_.width, a_.rows, most_half_share * full, &why);
    if (!offsets) return refused(name, why);
    if (const std::int64_t unlike = unlike_in_sample();
        static_cast<double>(unlike) > most_unlike_in_sample * sample_for_half(a_.rows).count) {
      return refused(name, fmt::format("{} of {} rows of a sample differ from their mirror images", unlike,
                                       sample_for_half(a_.rows).count));
    }
    if (const std::int64_t unlike = unlike_rows(); unlike > 0) {
      return refused(name, fmt::format("{} of {} rows differ from their mirror images", unlike, a_.rows));
    }
    diagonals_ = static_cast<int>(offsets->diagonals.size());
    return qualified(name, offsets->size() * value_bytes(), fmt::format("{} diagonals", diagonals_));
  }

  [[nodiscard]] LayoutOutlook single_precision() const {
    std::string why = why_single_precision(facts_, a_.nnz());
    if (!are_floats()) return refused("single precision", std::move(why));
    return qualified("single precision", places_in_full() * value_bytes(), std::move(why));
  }

  [[nodiscard]] LayoutOutlook in_full() const {
    return qualified("values in full", places_in_full() * std::int64_t{sizeof(T)}, "always");
  }

  [[nodiscard]] std::int64_t places_in_full() const {
    return cuda::value_places(a_.rows, a_.nnz(), found_.width, shape_);
  }
  [[nodiscard]] std::int64_t value_bytes() const noexcept { return are_floats() ? sizeof(float) : sizeof(T); }

  [[nodiscard]] SortedColumns columns() const noexcept { return {a_.row_offsets.data(), a_.columns.data()}; }
  [[nodiscard]] std::int64_t unlike_in_sample() const {
    const SampledRows sample = sample_for_half(a_.rows);
    std::int64_t unlike = 0;
    for (index_t i = 0; i < sample.count; ++i) {
      if (!equals_mirror_image(columns(), a_.values.data(), sample[i], found_.width)) ++unlike;
    }
    return unlike;
  }
  /// Of the rows on lists.
  [[nodiscard]] std::int64_t unlike_rows() const {
    const auto count = [&](host::Range rows) {
      UnlikeRows unlike;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const bool listed = found_.codes[row] != found_.lists;
        if (listed && !half_holds(columns(), a_.values.data(), static_cast<index_t>(row))) ++unlike.of;
      }
      return unlike;
    };
    return host::parallel_sum<UnlikeRows>(threads_, a_.rows, count).of;
  }

  const CsrView<T>& a_;
  const ValueFacts& facts_;
  const RowPatterns<T>& found_;
  const Device& threads_;
  cuda::SliceShape shape_;
  mutable int diagonals_ = 0;
};

}  // namespace

template <class T>
std::vector<LayoutOutlook> outlook_on_patterns(const CsrView<T>& a, const ValueFacts& facts, const Device& threads) {
  std::vector<LayoutOutlook> result;
  if (a.nnz() == 0) return result;
  bool templates = false;
  if (!a.is_pattern()) {
    RowPatterns<T> found;
    const auto refusal = host::search_row_patterns(a, RowListKind::columns_and_values, threads, found);
    templates = !refusal && found.longest_exception <= longest_exception;
    if (refusal) {
      result.push_back({algorithm, name_of(RowListKind::columns_and_values), false, false, 0.0,
                        why_not_named(*refusal, "columns and values")});
    } else if (!templates) {
      return {{algorithm, name_of(found.kind), false, false, 0.0, why_too_long(found.longest_exception)}};
    } else {
      result.push_back(PatternOutlook<T>(a, facts, found, threads).without_values());
    }
  }
  RowPatterns<T> found;
  if (const auto refusal = host::search_row_patterns(a, RowListKind::columns, threads, found)) {
    // Templates would have named the rows if they repeated.
    if (!templates) result = {{algorithm, "row patterns", false, false, 0.0, why_not_named(*refusal, "columns")}};
    return result;
  }
  if (found.longest_exception > longest_exception) {
    if (!templates) result = {{algorithm, "row patterns", false, false, 0.0, why_too_long(found.longest_exception)}};
    return result;
  }
  const PatternOutlook<T> outlook(a, facts, found, threads);
  if (a.is_pattern() || found.width == 0) {
    if (!templates) result = {outlook.without_values()};
    return result;
  }
  for (LayoutOutlook& layout : outlook.with_values(!templates)) result.push_back(std::move(layout));
  return result;
}

template std::vector<LayoutOutlook> outlook_on_patterns(const CsrView<float>&, const ValueFacts&, const Device&);
template std::vector<LayoutOutlook> outlook_on_patterns(const CsrView<double>&, const ValueFacts&, const Device&);

}  // namespace tessera::detail
