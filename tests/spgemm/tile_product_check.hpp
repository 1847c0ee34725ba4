/// \file
/// Products in tiles against those of the same matrices in CSR, and against the long-double oracle.
#pragma once

#include "tessera/tile_product.hpp"
#include "tests/preprocess/naive_tiles.hpp"
#include "tests/spgemm/product_check.hpp"

#include <string>
#include <tuple>
#include <vector>

namespace tessera::testing {

/// Factors of a product.
template <class T>
struct NamedFactors {
  std::string name;
  Csr<T> a;
  Csr<T> b;
};

/// A row of 8 x 8 dense blocks on the diagonal, with these values.
[[nodiscard]] inline Csr<double> diagonal_blocks(index_t blocks, const std::vector<double>& values) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 8 * blocks; ++i) {
    for (index_t c = 0; c < 8; ++c) columns.push_back(i / 8 * 8 + c);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const std::int64_t rows = 8 * std::int64_t{blocks};
  return {rows, rows, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
          Array<double>::copy_of(values)};
}

/// Products whose tiles are cut at odd places, are empty, meet without a product, or are many in one row.
template <class T>
[[nodiscard]] std::vector<NamedFactors<T>> products_in_tiles(ValueStorage storage) {
  std::vector<NamedFactors<T>> list;
  std::uint64_t seed = 1;
  for (const index_t m : {1, 7, 8, 9, 17}) {
    for (const index_t k : {1, 8, 15}) {
      const index_t n = (m + 3 * k) % 24 + 1;
      const double density = seed % 3 == 0 ? 1.0 : 0.3;
      list.push_back({std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n),
                      random_windows<T>(m, k, k, density, storage, ++seed),
                      random_windows<T>(k, n, n, density, storage, ++seed)});
    }
  }
  const auto empty = [storage](index_t rows, index_t cols) {
    return with_row_lengths<T>(std::vector<index_t>(static_cast<std::size_t>(rows), 0), cols, storage);
  };
  for (const auto& [m, k, n] : {std::tuple{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {9, 9, 0}, {20, 30, 40}}) {
    list.push_back({"empty, " + std::to_string(m) + " rows", empty(m, k), empty(k, n)});
  }
  list.push_back(
      {"windows", random_windows<T>(100, 300, 40, 0.6, storage, 5), random_windows<T>(300, 120, 30, 0.5, storage, 6)});
  list.push_back({"hub row", with_row_lengths<T>({0, 1, 600, 0, 0, 3, 0, 0, 0, 2, 700}, 700, storage, 7),
                  random_windows<T>(700, 50, 9, 0.4, storage, 8)});
  // The columns of A's tiles are even, the rows of B's odd: pairs without a product beside those with one.
  list.push_back(
      {"empty pairs", random_windows<T>(64, 64, 3, 0.4, storage, 9), random_windows<T>(64, 64, 5, 0.2, storage, 10)});
  return list;
}

/// Positions and bits of the product of the same matrices in CSR on the host; the bound of the oracle.
template <class T>
void expect_product_in_tiles(const Csr<T>& a, const Csr<T>& b, const TileProduct<T>& found) {
  const TileMatrix<T> c = found.matrix.to(Device{});
  ASSERT_NO_THROW(validate(c.view()));
  const SpgemmResult<T> expected = spgemm(a, b);
  ASSERT_NO_FATAL_FAILURE(expect_identical_tiles(c.view(), naive_tiles(expected.matrix.view()).view()));
  EXPECT_TRUE(is_product(a.view(), b.view(), to_csr(c).view()));
  EXPECT_EQ(found.report.nnz, expected.matrix.nnz());
  EXPECT_EQ(found.report.products, count_products(a.view(), b.view()));
}

/// Positions of the product in CSR; values within the bound of a sum in any order.
template <class T>
void expect_product_in_any_order(const Csr<T>& a, const Csr<T>& b, const TileProduct<T>& found) {
  const TileMatrix<T> c = found.matrix.to(Device{});
  ASSERT_NO_THROW(validate(c.view()));
  EXPECT_TRUE(is_product(a.view(), b.view(), to_csr(c).view()));
  EXPECT_EQ(found.report.products, count_products(a.view(), b.view()));
}

}  // namespace tessera::testing
