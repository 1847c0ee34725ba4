/// \file
/// Products of a plan with multivectors against the long-double oracle, column by column, on the host and on a GPU.
#pragma once

#include "tests/spmv/product_check.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tessera::testing {

using namespace detail;

/// A multivector on the host: elements, and what lies between columns (row-major: between rows).
template <class T>
struct DenseBlock {
  static constexpr T gap = T{-77};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  MultiVectorLayout layout = MultiVectorLayout::column_major;
  std::int64_t leading_dimension = 0;
  std::vector<T> elements;

  /// \param extra elements of a gap \param value_of element (i, j)
  template <class ValueOf>
  DenseBlock(std::int64_t row_count, std::int64_t column_count, MultiVectorLayout order, std::int64_t extra,
             ValueOf value_of)
      : rows(row_count),
        columns(column_count),
        layout(order),
        leading_dimension((order == MultiVectorLayout::column_major ? rows : columns) + extra),
        elements(
            static_cast<std::size_t>(leading_dimension * (order == MultiVectorLayout::column_major ? columns : rows)),
            gap) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) elements[place(i, j)] = value_of(i, j);
    }
  }
  [[nodiscard]] static DenseBlock random(std::int64_t rows, std::int64_t columns, MultiVectorLayout layout,
                                         std::int64_t extra, std::uint64_t seed) {
    const auto values = random_vector<T>(rows * columns, seed);
    return DenseBlock(rows, columns, layout, extra,
                      [&](std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i + j * rows)]; });
  }
  [[nodiscard]] static DenseBlock filled(std::int64_t rows, std::int64_t columns, MultiVectorLayout layout,
                                         std::int64_t extra, T value) {
    return DenseBlock(rows, columns, layout, extra, [=](std::int64_t, std::int64_t) { return value; });
  }

  [[nodiscard]] std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(layout == MultiVectorLayout::column_major ? i + j * leading_dimension
                                                                              : i * leading_dimension + j);
  }
  [[nodiscard]] T at(std::int64_t i, std::int64_t j) const { return elements[place(i, j)]; }
  [[nodiscard]] std::vector<T> column(std::int64_t j) const {
    std::vector<T> result(static_cast<std::size_t>(rows));
    for (std::int64_t i = 0; i < rows; ++i) result[static_cast<std::size_t>(i)] = at(i, j);
    return result;
  }
  /// A view of a copy of the elements.
  template <class U>
  [[nodiscard]] MultiVectorView<U> view(std::span<U> copy) const {
    return {copy, rows, columns, layout, leading_dimension};
  }
  [[nodiscard]] bool gaps_are_untouched() const {
    auto marked = elements;
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) marked[place(i, j)] = gap;
    }
    return marked == std::vector<T>(elements.size(), gap);
  }
};

/// \returns α A X + β Y, by the plan, or by what else has its sizes and apply_many()
template <class Plan, class T>
[[nodiscard]] DenseBlock<T> multiply_many(const Plan& plan, T alpha, const DenseBlock<T>& x, T beta,
                                          const DenseBlock<T>& y) {
  const auto source = Array<T>::copy_of(x.elements, plan.device());
  auto target = Array<T>::copy_of(y.elements, plan.device());
  plan.apply_many(alpha, x.view(source.span()), beta, y.view(target.span()));
  DenseBlock<T> result = y;
  detail::copy_bytes(Device{}, result.elements.data(), plan.device(), target.data(), target.bytes());
  return result;
}

/// How the blocks of a product lie in memory.
struct BlockShapes {
  std::int64_t columns = 8;
  MultiVectorLayout x = MultiVectorLayout::column_major;
  MultiVectorLayout y = MultiVectorLayout::column_major;
  std::int64_t extra = 0;
};

/// Each column within the bound of sums in any order; with β = 0 the old Y is NaN. \param a what the plan multiplies
/// with, on the host
template <class Plan, class T>
void check_product_of_columns(const Plan& plan, const CsrView<T>& a, T alpha, T beta, const BlockShapes& shapes) {
  const auto x = DenseBlock<T>::random(plan.cols(), shapes.columns, shapes.x, shapes.extra, 3);
  const auto y = beta == T{0} ? DenseBlock<T>::filled(plan.rows(), shapes.columns, shapes.y, shapes.extra,
                                                      std::numeric_limits<T>::quiet_NaN())
                              : DenseBlock<T>::random(plan.rows(), shapes.columns, shapes.y, shapes.extra, 4);
  const DenseBlock<T> result = multiply_many(plan, alpha, x, beta, y);
  for (std::int64_t j = 0; j < shapes.columns; ++j) {
    const std::vector<T> x_column = x.column(j);
    const std::vector<T> y_column = y.column(j);
    const ProductOracle oracle = multiply_oracle<T>(alpha, a, x_column, beta, y_column);
    ASSERT_TRUE(near(oracle, constant(result.column(j))))
        << "column " << j << " of " << shapes.columns << ", alpha " << alpha << ", beta " << beta << ", X "
        << to_string(shapes.x) << ", Y " << to_string(shapes.y);
  }
  ASSERT_TRUE(result.gaps_are_untouched());
}

/// Numbers of columns around a panel, all layouts, with gaps and without, in turn with factors.
template <class Plan, class T>
void check_products_of_columns(const Plan& plan, const CsrView<T>& a) {
  constexpr auto by_columns = MultiVectorLayout::column_major;
  constexpr auto by_rows = MultiVectorLayout::row_major;
  constexpr std::pair<MultiVectorLayout, MultiVectorLayout> layouts[] = {
      {by_columns, by_columns}, {by_rows, by_rows}, {by_rows, by_columns}, {by_columns, by_rows}};
  constexpr std::pair<double, double> factors[] = {{1, 0}, {-0.5, 3}, {2, 1}, {0, 2}, {0, 0}};
  std::size_t turn = 0;
  for (const std::int64_t columns : {0, 1, 2, 4, 7, 8, 9, 32}) {
    for (const auto& [x, y] : layouts) {
      const auto& [alpha, beta] = factors[turn % std::size(factors)];
      check_product_of_columns(plan, a, static_cast<T>(alpha), static_cast<T>(beta),
                               {columns, x, y, static_cast<std::int64_t>(turn % 3)});
      if (::testing::Test::HasFatalFailure()) return;
      ++turn;
    }
  }
}

/// NaN and infinity in X reach exactly the rows that hold their row of X, and their column of Y.
template <class T>
void check_special_values(const SpmvPlan<T>& plan, const CsrView<T>& a, std::int64_t special_row,
                          MultiVectorLayout layout) {
  constexpr std::int64_t columns = 9;
  for (const T special : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::int64_t special_column : {std::int64_t{0}, std::int64_t{5}, std::int64_t{8}}) {
      auto x = DenseBlock<T>::random(plan.cols(), columns, layout, 1, 5);
      x.elements[x.place(special_row, special_column)] = special;
      const auto y = DenseBlock<T>::filled(plan.rows(), columns, layout, 1, T{0});
      const DenseBlock<T> result = multiply_many(plan, T{1}, x, T{0}, y);
      for (std::int64_t i = 0; i < a.rows; ++i) {
        const auto begin = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i)];
        const auto end = a.columns.begin() + a.row_offsets[static_cast<std::size_t>(i) + 1];
        const bool holds = std::binary_search(begin, end, static_cast<index_t>(special_row));
        for (std::int64_t j = 0; j < columns; ++j) {
          ASSERT_EQ(std::isfinite(result.at(i, j)), !(holds && j == special_column)) << "row " << i << ", column " << j;
        }
      }
    }
  }
}

}  // namespace tessera::testing
