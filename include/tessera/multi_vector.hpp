/// \file
/// Blocks of dense vectors, the operands of products with several columns.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace tessera {

/// How the elements of a multivector follow each other.
enum class MultiVectorLayout {
  column_major,  ///< column by column: element (i, j) at i + j * leading dimension
  row_major,     ///< row by row: element (i, j) at i * leading dimension + j
};

[[nodiscard]] std::string_view to_string(MultiVectorLayout layout);  ///< "column_major", "row_major"

namespace detail {
/// \returns the leading dimension to use \throws as the constructor of MultiVectorView
std::int64_t check_multi_vector(std::int64_t size, std::int64_t rows, std::int64_t columns, MultiVectorLayout layout,
                                std::int64_t leading_dimension);
}  // namespace detail

/// A non-owning view of a dense block of vectors: `columns` vectors of `rows` elements each, a multivector (cuSPARSE's
/// DnMat, Ginkgo's Dense, Belos' MultiVec). Indices count from 0. The elements lie on the device of the operator that
/// takes the view. \tparam T element type, const for an input
template <class T>
class MultiVectorView {
 public:
  /// 0 x 0.
  MultiVectorView() = default;

  /// \param elements at least as many as lie between the first and the last element, both included
  /// \param rows,columns 0 or more
  /// \param leading_dimension distance between the first elements of neighbouring columns, row-major: of neighbouring
  /// rows; 0 for no gaps between them
  /// \throws InvalidArgument for negative numbers; DimensionError, with the sizes, when the leading dimension is
  /// smaller than a column (row-major: than a row), or the elements are fewer
  MultiVectorView(std::span<T> elements, std::int64_t rows, std::int64_t columns,
                  MultiVectorLayout layout = MultiVectorLayout::column_major, std::int64_t leading_dimension = 0)
      : elements_(elements),
        rows_(rows),
        columns_(columns),
        leading_dimension_(detail::check_multi_vector(static_cast<std::int64_t>(elements.size()), rows, columns, layout,
                                                      leading_dimension)),
        layout_(layout) {
    const std::int64_t last = (rows_ - 1) * row_stride() + (columns_ - 1) * column_stride();
    elements_ = elements_.first(empty() ? 0 : size(last) + 1);
  }

  /// The same elements, read only.
  template <class U>
  requires(!std::is_const_v<U> && std::is_same_v<const U, T>)
      MultiVectorView(const MultiVectorView<U>& other)  // NOLINT(google-explicit-constructor): as that of std::span
      : elements_(other.elements()),
        rows_(other.rows()),
        columns_(other.columns()),
        leading_dimension_(other.leading_dimension()),
        layout_(other.layout()) {}

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::int64_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::int64_t leading_dimension() const noexcept { return leading_dimension_; }
  [[nodiscard]] MultiVectorLayout layout() const noexcept { return layout_; }
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0 || columns_ == 0; }
  [[nodiscard]] T* data() const noexcept { return elements_.data(); }
  /// From the first element to the last, gaps included; those after it are left out.
  [[nodiscard]] std::span<T> elements() const noexcept { return elements_; }
  /// Elements between (i, j) and (i + 1, j).
  [[nodiscard]] std::int64_t row_stride() const noexcept {
    return layout_ == MultiVectorLayout::column_major ? 1 : leading_dimension_;
  }
  /// Elements between (i, j) and (i, j + 1).
  [[nodiscard]] std::int64_t column_stride() const noexcept {
    return layout_ == MultiVectorLayout::column_major ? leading_dimension_ : 1;
  }
  /// Element (i, j), of a view of host memory.
  [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) const noexcept {
    return data()[i * row_stride() + j * column_stride()];
  }
  /// Whether column() exists: the elements of a column follow each other.
  [[nodiscard]] bool has_contiguous_columns() const noexcept { return row_stride() == 1; }
  /// Column j, where has_contiguous_columns().
  [[nodiscard]] std::span<T> column(std::int64_t j) const noexcept {
    return {data() + j * column_stride(), size(rows_)};
  }
  /// Columns first, first + 1, ..., first + count - 1 as a view of their own.
  [[nodiscard]] MultiVectorView columns(std::int64_t first, std::int64_t count) const {
    return {elements_.subspan(empty() || count == 0 ? 0 : size(first * column_stride())), rows_, count, layout_,
            leading_dimension_};
  }

 private:
  [[nodiscard]] static std::size_t size(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

  std::span<T> elements_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t leading_dimension_ = 0;
  MultiVectorLayout layout_ = MultiVectorLayout::column_major;
};

}  // namespace tessera
