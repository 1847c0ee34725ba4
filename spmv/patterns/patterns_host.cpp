/// \file
/// Products by row patterns on the host, by ranges of rows.
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/epilogue.hpp"
#include "spmv/patterns/pattern_panels_host.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/row_lists_host.hpp"
#include "spmv/patterns/value_store_host.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::host {

using namespace detail;

namespace {

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
    if (has_own_values()) store_.keep(device_, found_, exception_lengths_, a.values);
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
    if (by_columns && (!has_own_values() || y.columns() == 1)) return false;
    multiply_pattern_panels<T>(device_, found_, a, alpha, x, beta, y);
    return true;
  }

  /// Templates that no longer hold get values of their own, and a layout that no longer holds gives way to a larger
  /// one. Without memory for that, values are read in CSR.
  void update_values(std::span<const T> values) override {
    if (found_.kind == RowListKind::columns_and_values) {
      if (templates_hold(values)) return;
      found_.kind = RowListKind::columns;
      found_.values = Array<T>();
    }
    if (!has_own_values()) return;
    try {
      store_.keep(device_, found_, exception_lengths_, values);
    } catch (const OutOfMemory&) {
      store_.release();
    }
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = found_.table.bytes() + found_.values.bytes() + found_.codes.bytes() + found_.exceptions.bytes() +
                 store_.bytes();
    const auto nnz = static_cast<double>(nnz_);
    const double bytes = static_cast<double>(found_.codes.bytes()) + (has_own_values() ? store_.bytes_read(nnz) : 0.0);
    info.reason += describe_row_patterns(found_.kind, found_.lists, found_.exceptions.size(), store_.describe(),
                                         nnz_ > 0 ? bytes / nnz : 0.0);
  }

  /// Whether values lie in a layout for which `auto` takes row patterns.
  [[nodiscard]] bool pays() const { return !has_own_values() || store_.pays(); }

 private:
  [[nodiscard]] bool has_own_values() const { return found_.kind == RowListKind::columns && !is_pattern_; }

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
    ProductDots dots;
    const auto by_lists = [&](const auto& values) { dots = multiply_by_lists(a, rows, values, x, epilogue); };
    if (is_pattern_) {
      by_lists(NoStoredValues{});
    } else if (!has_own_values()) {
      by_lists(TemplateValues<T>{found_.values.data(), found_.width});
    } else if (!store_.show(found_.width, by_lists)) {
      dots = multiply_in_csr(a, rows, x, epilogue);
    }
    return dots;
  }

  /// A row that is on no list.
  [[nodiscard]] static T sum_of_exception(const CsrView<T>& a, std::int64_t row, const T* x) noexcept {
    const index_t* const columns = a.columns.data();
    const offset_t end = a.row_offsets.data()[row + 1];
    T sum{0};
    for (offset_t k = a.row_offsets.data()[row]; k < end; ++k) {
      sum += a.is_pattern() ? x[columns[k]] : a.values.data()[k] * x[columns[k]];
    }
    return sum;
  }

  template <class Values, class Epilogue>
  [[gnu::noinline]] ProductDots multiply_by_lists(const CsrView<T>& a, Range rows, Values values, const T* x,
                                                  Epilogue epilogue) const {
    ProductDots dots;
    std::array<T, slice_rows> sums;
    for (std::int64_t i = rows.begin; i < rows.end;) {
      const auto row = static_cast<index_t>(i);
      const int code = found_.codes[i];
      if (code == found_.lists) {
        epilogue.store(row, sum_of_exception(a, i, x), dots);
        ++i;
        continue;
      }
      const std::int64_t of_slice = Values::in_slices ? slice_rows - i % slice_rows : slice_rows;
      const index_t count = rows_alike(found_.codes.data() + i, std::min(of_slice, rows.end - i));
      add_rows(count, list(code), values.row(i, code), x + i, sums);
      for (index_t r = 0; r < count; ++r) epilogue.store(row + r, sums[static_cast<std::size_t>(r)], dots);
      i += count;
    }
    return dots;
  }

  /// Of neighbouring rows whose values follow each other row by row.
  struct CsrRow {
    struct Entry {
      const T* values;
      index_t length;
      [[nodiscard]] T value(index_t r) const noexcept { return values[static_cast<std::ptrdiff_t>(r) * length]; }
      [[nodiscard]] Lanes<T> lanes(index_t r) const noexcept { return gather_lanes<T>(*this, r); }
    };
    const T* values;
    index_t length;
    [[nodiscard]] Entry entry(index_t k) const noexcept { return {values + k, length}; }
  };

  template <class Epilogue>
  [[gnu::noinline]] ProductDots multiply_in_csr(const CsrView<T>& a, Range rows, const T* x, Epilogue epilogue) const {
    ProductDots dots;
    std::array<T, slice_rows> sums;
    offset_t begin = a.row_offsets.data()[rows.begin];
    for (std::int64_t i = rows.begin; i < rows.end;) {
      const auto row = static_cast<index_t>(i);
      const int code = found_.codes[i];
      if (code == found_.lists) {
        epilogue.store(row, sum_of_exception(a, i, x), dots);
        begin = a.row_offsets.data()[++i];
        continue;
      }
      const RowList own = list(code);
      const CsrRow values{a.values.data() + begin, own.length};
      const index_t count = rows_alike(found_.codes.data() + i, std::min<std::int64_t>(few_rows, rows.end - i));
      if (count == few_rows) {
        add_rows<few_rows, T>(own, values, x + i, sums);
      } else {
        add_rows<1, T>(own, values, x + i, sums);
      }
      for (index_t r = 0; r < count; ++r) epilogue.store(row + r, sums[static_cast<std::size_t>(r)], dots);
      begin += offset_t{count} * own.length;
      i += count;
    }
    return dots;
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
  PatternValueStore<T> store_;               ///< empty for templates and pattern matrices
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_patterns_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<PatternsHostKernel<T>>(a, options);
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_promised_patterns_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  auto kernel = std::make_unique<PatternsHostKernel<T>>(a, options);
  if (!kernel->pays()) {
    throw NotSupported("kernel patterns: the matrix takes more bytes than a sample of it promised");
  }
  return kernel;
}

template std::unique_ptr<SpmvKernel<float>> make_patterns_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_patterns_kernel(const CsrView<double>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<float>> make_promised_patterns_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_promised_patterns_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host
