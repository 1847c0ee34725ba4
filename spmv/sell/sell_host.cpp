/// \file
/// Sliced ELL on the host: rows in parallel in the order of CSR; columns in 16 bits and values in one byte where the
/// matrix allows, else those of the matrix itself.
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/epilogue.hpp"
#include "spmv/sell/sell.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace tessera::host {

using namespace detail;

namespace {

constexpr index_t relative_zero = farthest_relative_column + 1;

/// Columns of the entries of a row as CSR has them.
struct CsrColumns {
  const index_t* columns;
  template <class T>
  [[nodiscard]] const T* origin(const T* x, std::int64_t /*row*/) const noexcept {
    return x;
  }
  [[nodiscard]] std::ptrdiff_t operator[](offset_t k) const noexcept { return columns[k]; }
};

/// The same relative to the row, in 16 bits.
struct ShortColumns {
  const std::uint16_t* columns;
  template <class T>
  [[nodiscard]] const T* origin(const T* x, std::int64_t row) const noexcept {
    return x + row;
  }
  [[nodiscard]] std::ptrdiff_t operator[](offset_t k) const noexcept {
    return std::ptrdiff_t{columns[k]} - relative_zero;
  }
};

template <class T>
struct CsrValues {
  const T* values;
  [[nodiscard]] T times(offset_t k, T source) const noexcept { return values[k] * source; }
};
template <class T>
struct ByteValues {
  const std::uint8_t* codes;
  const T* dictionary;
  [[nodiscard]] T times(offset_t k, T source) const noexcept { return dictionary[codes[k]] * source; }
};
template <class T>
struct OneValues {
  [[nodiscard]] T times(offset_t /*k*/, T source) const noexcept { return source; }
};

template <class T>
class SellHostKernel final : public SpmvKernel<T> {
 public:
  SellHostKernel(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device), nnz_(a.nnz()), is_pattern_(a.is_pattern()) {
    if (is_near(a)) fill_columns(a);
    if (!is_pattern_) fill_codes(a.values);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_epilogue(alpha, beta, y, [&](const auto& epilogue) { multiply(a, x, epilogue); });
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return multiply(a, x, OverwriteAndDot<T>{y.data(), w.data()});
  }

  /// Values that no dictionary holds are read from the matrix from then on.
  void update_values(std::span<const T> values) override {
    if (!codes_.empty()) fill_codes(values);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = columns_.bytes() + codes_.bytes() + dictionary_.bytes();
    SellLayout layout;
    if (!columns_.empty()) layout.columns = SellColumns::relative;
    if (is_pattern_) layout.values = SellValues::none;
    if (!codes_.empty()) layout.values = SellValues::coded;
    info.reason += "; " + describe_layout(layout, dictionary_.count());
  }

 private:
  /// Whether every column is near its row's own. The columns of a row ascend.
  [[nodiscard]] bool is_near(const CsrView<T>& a) const {
    std::atomic<bool> near{nnz_ > 0};
    parallel_for(device_, a.rows, [&](Range rows) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const offset_t begin = a.row_offsets.data()[row];
        const offset_t end = a.row_offsets.data()[row + 1];
        if (begin == end) continue;
        if (row - a.columns.data()[begin] > farthest_relative_column ||
            a.columns.data()[end - 1] - row > farthest_relative_column) {
          near = false;
          return;
        }
      }
    });
    return near;
  }
  void fill_columns(const CsrView<T>& a) {
    columns_ = Array<std::uint16_t>(nnz_, Init::none);
    parallel_for(device_, a.rows, [&](Range rows) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (offset_t k = a.row_offsets.data()[row]; k < a.row_offsets.data()[row + 1]; ++k) {
          columns_[k] = static_cast<std::uint16_t>(a.columns.data()[k] - row + relative_zero);
        }
      }
    });
  }
  void fill_codes(std::span<const T> values) {
    auto found = find_value_dictionary<T>(device_, values);
    if (!found) {
      codes_ = Array<std::uint8_t>();
      dictionary_ = ValueDictionary<T>();
      return;
    }
    dictionary_ = *std::move(found);
    if (codes_.empty()) codes_ = Array<std::uint8_t>(nnz_, Init::none);
    const ValueCoder<T> coder = dictionary_.coder();
    parallel_for(device_, nnz_, [&](Range range) {
      for (std::int64_t k = range.begin; k < range.end; ++k) {
        codes_[k] = static_cast<std::uint8_t>(coder.code(values[static_cast<std::size_t>(k)]));
      }
    });
  }

  template <class Epilogue>
  ProductDots multiply(const CsrView<T>& a, std::span<const T> x, const Epilogue& epilogue) const {
    if (columns_.empty()) return multiply_by(a, CsrColumns{a.columns.data()}, x, epilogue);
    return multiply_by(a, ShortColumns{columns_.data()}, x, epilogue);
  }
  template <class Columns, class Epilogue>
  ProductDots multiply_by(const CsrView<T>& a, const Columns& columns, std::span<const T> x,
                          const Epilogue& epilogue) const {
    if (is_pattern_) return multiply_by(a, columns, OneValues<T>{}, x, epilogue);
    if (codes_.empty()) return multiply_by(a, columns, CsrValues<T>{a.values.data()}, x, epilogue);
    return multiply_by(a, columns, ByteValues<T>{codes_.data(), dictionary_.values.data()}, x, epilogue);
  }
  template <class Columns, class Values, class Epilogue>
  ProductDots multiply_by(const CsrView<T>& a, const Columns& columns, const Values& values, std::span<const T> x,
                          const Epilogue& epilogue) const {
    const offset_t length = path_length(a.rows, a.nnz());
    const std::int64_t chunks = chunk_count(length);
    std::array<ProductDots, max_chunks> dots;
    for_each_chunk(device_, chunks, [&](std::int64_t s) {
      const Range path = part_of(length, chunks, s);
      const offset_t* const offsets = a.row_offsets.data();
      const Range rows{merge_search(offsets, a.rows, a.nnz(), path.begin).y,
                       merge_search(offsets, a.rows, a.nnz(), path.end).y};
      dots[static_cast<std::size_t>(s)] = multiply_rows(offsets, rows, columns, values, x.data(), epilogue);
    });
    ProductDots total;
    for (std::int64_t s = 0; s < chunks; ++s) total += dots[static_cast<std::size_t>(s)];
    return total;
  }
  /// In the order of the columns of each row.
  template <class Columns, class Values, class Epilogue>
  [[gnu::noinline]] static ProductDots multiply_rows(const offset_t* offsets, Range rows, Columns columns,
                                                     Values values, const T* x, Epilogue epilogue) {
    ProductDots dots;
    offset_t k = offsets[rows.begin];
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const T* const origin = columns.origin(x, row);
      T sum{0};
      for (const offset_t end = offsets[row + 1]; k < end; ++k) sum += values.times(k, origin[columns[k]]);
      epilogue.store(static_cast<index_t>(row), sum, dots);
    }
    return dots;
  }

  Device device_;
  offset_t nnz_;
  bool is_pattern_;
  Array<std::uint16_t> columns_;  ///< empty: those of the matrix
  Array<std::uint8_t> codes_;     ///< empty: values of the matrix, or none
  ValueDictionary<T> dictionary_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_sell_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<SellHostKernel<T>>(a, options);
}

template std::unique_ptr<SpmvKernel<float>> make_sell_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_sell_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::host
