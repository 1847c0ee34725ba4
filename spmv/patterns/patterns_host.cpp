/// \file
/// Row patterns on the host: rows named by threads; products by ranges of rows. Neighbouring rows on one template are
/// multiplied together, so that a processor takes several at once.
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/epilogue.hpp"
#include "spmv/patterns/pattern_panels_host.hpp"
#include "spmv/patterns/patterns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::host {

using namespace detail;

namespace {

/// The steps of search_row_lists().
template <class T, bool WithValues>
class HostSteps {
 public:
  HostSteps(const CsrView<T>& a, const Device& device)
      : device_(device),
        rows_(a.rows),
        sample_(sample_of_rows(a.rows)),
        source_{a.row_offsets.data(), a.columns.data(), a.values.data()} {
    found_.kind = kind();
  }

  [[nodiscard]] RowListKind kind() const { return WithValues ? RowListKind::columns_and_values : RowListKind::columns; }
  [[nodiscard]] index_t rows() const { return rows_; }
  [[nodiscard]] index_t sampled() const { return sample_.count; }

  [[nodiscard]] std::vector<CountedList> count_sample() const {
    return count(sample_.count, [this](std::int64_t i) { return sample_[i]; });
  }
  [[nodiscard]] std::vector<CountedList> count_exceptions() const {
    return count(found_.exceptions.size(), [this](std::int64_t i) { return found_.exceptions[i]; });
  }

  void set_lists(const std::vector<CountedList>& lists) {
    found_.lists = static_cast<int>(lists.size());
    found_.width = width_of(lists);
    found_.table = Array<index_t>(std::int64_t{found_.lists + 1} * found_.stride());
    if (WithValues) found_.values = Array<T>(std::int64_t{found_.lists + 1} * found_.width);
    list_of_.clear();
    for (int list = 0; list < found_.lists; ++list) {
      const CountedList& own = lists[static_cast<std::size_t>(list)];
      copy_list(list, own.row);
      list_of_.emplace(own.hash, list);
    }
  }

  void name_rows() {
    found_.codes = Array<std::uint8_t>(rows_, Init::none);
    parallel_for(device_, rows_, [this](Range rows) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) name(static_cast<index_t>(row));
    });
  }
  void name_exceptions() {
    for (std::int64_t i = 0; i < found_.exceptions.size(); ++i) name(found_.exceptions[i]);
  }
  [[nodiscard]] std::int64_t exceptions() const {
    return std::count(found_.codes.data(), found_.codes.data() + found_.codes.size(),
                      static_cast<std::uint8_t>(found_.lists));
  }
  void collect_exceptions() {
    found_.exceptions = Array<index_t>(exceptions(), Init::none);
    found_.longest_exception = 0;
    std::int64_t next = 0;
    for (index_t row = 0; row < rows_ && next < found_.exceptions.size(); ++row) {
      if (found_.codes[row] != found_.lists) continue;
      found_.exceptions[next++] = row;
      found_.longest_exception = std::max(found_.longest_exception, source_.length(row));
    }
  }

  [[nodiscard]] RowPatterns<T> take() { return std::move(found_); }

 private:
  template <class RowOf>
  [[nodiscard]] std::vector<CountedList> count(std::int64_t count, const RowOf& row_of) const {
    std::unordered_map<std::uint32_t, CountedList> by_hash;
    for (std::int64_t i = 0; i < count; ++i) {
      const index_t row = row_of(i);
      const offset_t length = source_.length(row);
      if (length > longest_row_list) continue;
      const std::uint32_t hash = source_.hash(row);
      CountedList& counted =
          by_hash.try_emplace(hash, CountedList{hash, 0, row, static_cast<index_t>(length)}).first->second;
      ++counted.count;
    }
    std::vector<CountedList> result;
    result.reserve(by_hash.size());
    for (const auto& [hash, counted] : by_hash) result.push_back(counted);
    return result;
  }

  void copy_list(int list, index_t row) {
    index_t* const to = found_.table.data() + std::int64_t{list} * found_.stride();
    const offset_t begin = source_.row_offsets[row];
    to[0] = static_cast<index_t>(source_.length(row));
    for (index_t k = 0; k < to[0]; ++k) {
      to[1 + k] = source_.columns[begin + k] - row;
      if constexpr (WithValues) found_.values[std::int64_t{list} * found_.width + k] = source_.values[begin + k];
    }
  }

  [[nodiscard]] bool is_on(index_t row, int list) const {
    return source_.equals(row, found_.table.data() + std::int64_t{list} * found_.stride(),
                          WithValues ? found_.values.data() + std::int64_t{list} * found_.width : nullptr);
  }
  /// The most frequent list is tried before anything is hashed.
  void name(index_t row) {
    int list = found_.lists;
    if (found_.lists > 0 && is_on(row, 0)) {
      list = 0;
    } else if (source_.length(row) <= found_.width) {
      const auto proposed = list_of_.find(source_.hash(row));
      if (proposed != list_of_.end() && is_on(row, proposed->second)) list = proposed->second;
    }
    found_.codes[row] = static_cast<std::uint8_t>(list);
  }

  Device device_;
  index_t rows_;
  SampledRows sample_;
  RowSource<T, WithValues> source_;
  RowPatterns<T> found_;
  std::unordered_map<std::uint32_t, int> list_of_;
};

template <class T, bool WithValues>
std::optional<RowListEstimate> search(const CsrView<T>& a, const Device& device, RowPatterns<T>& found) {
  HostSteps<T, WithValues> steps(a, device);
  std::optional<RowListEstimate> refusal = search_row_lists(steps);
  if (!refusal) found = steps.take();
  return refusal;
}

/// A list as a product reads it.
struct RowList {
  index_t length;
  const index_t* columns;  ///< relative
};

/// The products of a matrix whose values stand in CSR.
template <class T>
struct WeightedListTerms {
  const T* values;
  const T* x;
  [[nodiscard]] T operator()(offset_t entry, index_t column) const noexcept { return values[entry] * x[column]; }
};
/// The same where every value is 1.
template <class T>
struct PatternListTerms {
  const T* x;
  [[nodiscard]] T operator()(offset_t /*entry*/, index_t column) const noexcept { return x[column]; }
};

/// Rows of one list that are summed side by side, so that their additions do not wait for each other.
constexpr index_t rows_side_by_side = 4;

/// Rows of one template that are multiplied together.
constexpr index_t rows_at_once = 64;

template <class T>
class PatternsHostKernel final : public SpmvKernel<T> {
 public:
  PatternsHostKernel(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device),
        nnz_(a.nnz()),
        is_pattern_(a.is_pattern()),
        found_(find_row_patterns(a, options.device)) {
    for (const index_t row : found_.exceptions.span()) {
      const auto i = static_cast<std::size_t>(row);
      exception_lengths_.push_back(a.row_offsets[i + 1] - a.row_offsets[i]);
    }
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_epilogue(alpha, beta, y, [&](const auto& epilogue) { multiply(a, x, epilogue); });
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return multiply(a, x, OverwriteAndDot<T>{y.data(), w.data()});
  }

  /// Columns of templates go faster one by one: neighbouring rows are summed by vector instructions.
  bool apply_many(const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                  const MultiVectorView<T>& y) const override {
    const bool by_columns = x.has_contiguous_columns() && y.has_contiguous_columns();
    const bool reads_values = found_.kind == RowListKind::columns && !is_pattern_;
    if (by_columns && (!reads_values || y.columns() == 1)) return false;
    multiply_pattern_panels<T>(device_, found_, a, alpha, x, beta, y);
    return true;
  }

  void update_values(std::span<const T> values) override {
    if (found_.kind == RowListKind::columns || templates_hold(values)) return;
    found_.kind = RowListKind::columns;
    found_.values = Array<T>();
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = found_.table.bytes() + found_.values.bytes() + found_.codes.bytes() + found_.exceptions.bytes();
    const bool reads_values = found_.kind == RowListKind::columns && !is_pattern_;
    const double bytes = static_cast<double>(found_.codes.bytes()) +
                         (reads_values ? static_cast<double>(nnz_) * static_cast<double>(sizeof(T)) : 0.0);
    info.reason += describe_row_patterns(found_.kind, found_.lists, found_.exceptions.size(), "",
                                         nnz_ > 0 ? bytes / static_cast<double>(nnz_) : 0.0);
  }

 private:
  [[nodiscard]] RowList list(int code) const {
    const index_t* const own = found_.table.data() + std::int64_t{code} * found_.stride();
    return {own[0], own + 1};
  }

  /// Of a template.
  [[nodiscard]] const T* list_values(int code) const {
    return found_.values.data() + std::int64_t{code} * found_.width;
  }

  template <class Epilogue>
  ProductDots multiply(const CsrView<T>& a, std::span<const T> x, const Epilogue& epilogue) const {
    const offset_t length = path_length(a.rows, a.nnz());
    const std::int64_t chunks = chunk_count(length);
    std::array<ProductDots, max_chunks> dots;
    for_each_chunk(device_, chunks, [&](std::int64_t s) {
      const Range path = part_of(length, chunks, s);
      const offset_t* const offsets = a.row_offsets.data();
      const Range rows{merge_search(offsets, a.rows, a.nnz(), path.begin).y,
                       merge_search(offsets, a.rows, a.nnz(), path.end).y};
      dots[static_cast<std::size_t>(s)] = multiply_rows(a, rows, x.data(), epilogue);
    });
    ProductDots total;
    for (std::int64_t s = 0; s < chunks; ++s) total += dots[static_cast<std::size_t>(s)];
    return total;
  }

  template <class Epilogue>
  ProductDots multiply_rows(const CsrView<T>& a, Range rows, const T* x, const Epilogue& epilogue) const {
    if (a.is_pattern()) return multiply_by_lists(a, rows, PatternListTerms<T>{x}, epilogue);
    if (found_.kind == RowListKind::columns || found_.width == 0) {
      return multiply_by_lists(a, rows, WeightedListTerms<T>{a.values.data(), x}, epilogue);
    }
    return multiply_by_templates(a, rows, x, epilogue);
  }

  /// A row that is on no list.
  template <class Terms>
  [[nodiscard]] static T sum_of_exception(const CsrView<T>& a, std::int64_t row, const Terms& terms) noexcept {
    const index_t* const columns = a.columns.data();
    const offset_t end = a.row_offsets.data()[row + 1];
    T sum{0};
    for (offset_t k = a.row_offsets.data()[row]; k < end; ++k) sum += terms(k, columns[k]);
    return sum;
  }

  template <class Terms, class Epilogue>
  [[gnu::noinline]] ProductDots multiply_by_lists(const CsrView<T>& a, Range rows, Terms terms,
                                                  Epilogue epilogue) const {
    ProductDots dots;
    offset_t begin = a.row_offsets.data()[rows.begin];
    for (std::int64_t i = rows.begin; i < rows.end;) {
      const auto row = static_cast<index_t>(i);
      const int code = found_.codes[i];
      if (code == found_.lists) {
        epilogue.store(row, sum_of_exception(a, i, terms), dots);
        begin = a.row_offsets.data()[++i];
        continue;
      }
      const RowList own = list(code);
      std::array<T, rows_side_by_side> sums{};
      const bool together = are_alike(i, rows.end);
      if (together) {
        add_rows<rows_side_by_side>(own, terms, begin, row, sums);
      } else {
        add_rows<1>(own, terms, begin, row, sums);
      }
      const index_t count = together ? rows_side_by_side : 1;
      for (index_t r = 0; r < count; ++r) epilogue.store(row + r, sums[static_cast<std::size_t>(r)], dots);
      begin += offset_t{count} * own.length;
      i += count;
    }
    return dots;
  }

  /// Whether the rows from i on are on one list.
  [[nodiscard]] bool are_alike(std::int64_t i, std::int64_t end) const noexcept {
    if (i + rows_side_by_side > end) return false;
    const std::uint8_t* const code = found_.codes.data() + i;
    return code[1] == code[0] && code[2] == code[0] && code[3] == code[0];
  }

  template <index_t Rows, class Terms>
  static void add_rows(const RowList& own, const Terms& terms, offset_t begin, index_t row,
                       std::array<T, rows_side_by_side>& sums) noexcept {
    for (index_t k = 0; k < own.length; ++k) {
      for (index_t r = 0; r < Rows; ++r) {
        sums[static_cast<std::size_t>(r)] += terms(begin + offset_t{r} * own.length + k, row + r + own.columns[k]);
      }
    }
  }

  template <class Epilogue>
  [[gnu::noinline]] ProductDots multiply_by_templates(const CsrView<T>& a, Range rows, const T* x,
                                                      Epilogue epilogue) const {
    ProductDots dots;
    for (std::int64_t i = rows.begin; i < rows.end;) {
      const auto row = static_cast<index_t>(i);
      const int code = found_.codes[i];
      if (code == found_.lists) {
        epilogue.store(row, sum_of_exception(a, i, WeightedListTerms<T>{a.values.data(), x}), dots);
        ++i;
        continue;
      }
      const std::int64_t last = std::min<std::int64_t>(rows.end, i + rows_at_once);
      index_t count = 1;
      while (i + count < last && found_.codes[i + count] == code) ++count;
      std::array<T, rows_at_once> sums{};
      add_template(list(code), list_values(code), x + row, count, sums);
      for (index_t r = 0; r < count; ++r) epilogue.store(row + r, sums[static_cast<std::size_t>(r)], dots);
      i += count;
    }
    return dots;
  }

  /// Entry by entry for all rows: a row still gets its terms in the order of its columns.
  static void add_template(const RowList& own, const T* values, const T* x, index_t count,
                           std::array<T, rows_at_once>& sums) {
    T* const sum = sums.data();
    for (index_t k = 0; k < own.length; ++k) {
      const T value = values[k];
      const T* const source = x + own.columns[k];
      for (index_t r = 0; r < count; ++r) sum[r] += value * source[r];
    }
  }

  /// Whether all rows on a list still have its values, bit by bit.
  [[nodiscard]] bool templates_hold(std::span<const T> values) const {
    using Source = RowSource<T, true>;
    std::int64_t exception = 0;
    std::size_t begin = 0;
    for (std::int64_t row = 0; row < found_.codes.size(); ++row) {
      if (found_.codes[row] == found_.lists) {
        begin += static_cast<std::size_t>(exception_lengths_[static_cast<std::size_t>(exception++)]);
        continue;
      }
      const RowList own = list(found_.codes[row]);
      const T* const kept = list_values(found_.codes[row]);
      for (index_t k = 0; k < own.length; ++k) {
        if (Source::bits_of(values[begin++]) != Source::bits_of(kept[k])) return false;
      }
    }
    return true;
  }

  Device device_;
  offset_t nnz_;
  bool is_pattern_;
  RowPatterns<T> found_;
  std::vector<offset_t> exception_lengths_;  ///< nonzeros of each exception
};

}  // namespace

template <class T>
std::optional<RowListEstimate> search_row_patterns(const CsrView<T>& a, RowListKind kind, const Device& device,
                                                   RowPatterns<T>& found) {
  return kind == RowListKind::columns ? search<T, false>(a, device, found) : search<T, true>(a, device, found);
}

template <class T>
RowPatterns<T> find_row_patterns(const CsrView<T>& a, const Device& device) {
  RowPatterns<T> found;
  if (!a.is_pattern() && !search<T, true>(a, device, found)) return found;
  if (const auto refusal = search<T, false>(a, device, found)) refuse_sample(*refusal);
  return found;
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_patterns_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<PatternsHostKernel<T>>(a, options);
}

template std::optional<RowListEstimate> search_row_patterns(const CsrView<float>&, RowListKind, const Device&,
                                                            RowPatterns<float>&);
template std::optional<RowListEstimate> search_row_patterns(const CsrView<double>&, RowListKind, const Device&,
                                                            RowPatterns<double>&);
template RowPatterns<float> find_row_patterns(const CsrView<float>&, const Device&);
template RowPatterns<double> find_row_patterns(const CsrView<double>&, const Device&);
template std::unique_ptr<SpmvKernel<float>> make_patterns_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_patterns_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host
