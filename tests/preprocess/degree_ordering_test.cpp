// Degree-based grouping on the host against a stable sort by the definition; permutations in a given place.
#include "preprocess/permuted.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/statistics.hpp"
#include "tests/preprocess/degree_ordering_cases.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

namespace tessera {

using namespace detail;
namespace {

std::vector<index_t> list_of(const Array<index_t>& array) { return {array.begin(), array.end()}; }

TEST(DegreeOrdering, IsAStableSortByGroup) {
  const testing::SmallGrain small;
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::square_matrices<double>(storage)) {
      SCOPED_TRACE(name);
      const std::vector<index_t> expected = testing::degree_oracle(matrix.view());
      EXPECT_EQ(ordering(matrix.view(), Ordering::degree), expected);
      for (const int threads : {1, 2, 3}) {
        EXPECT_EQ(list_of(ordering(matrix.view(), Ordering::degree, Device::host(threads))), expected) << threads;
      }
    }
  }
}

/// Mean 2: columns on both sides of every border; the last column makes the number of entries even.
TEST(DegreeOrdering, BordersOfGroups) {
  const std::vector<index_t> degrees{0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65};
  index_t entries = 0;
  for (const index_t degree : degrees) entries += degree;
  const index_t n = (entries + 1) / 2;
  std::vector<std::vector<index_t>> rows(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < degrees.size(); ++j) {
    for (index_t i = 0; i < degrees[j]; ++i) rows[static_cast<std::size_t>(i)].push_back(static_cast<index_t>(j));
  }
  rows.back().push_back(n - 1);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (const auto& row : rows) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto a = testing::make_pattern<double>(n, n, offsets, columns);
  ASSERT_EQ(a.nnz(), 2 * offset_t{n});
  std::vector<index_t> first = ordering(a.view(), Ordering::degree);
  first.resize(degrees.size() + 2);
  // 64 and 65, 32 and 63, 16 and 31, 8 and 15, 4 and 7, 2 and 3, both of degree 1, then those of 0.
  EXPECT_EQ(first, (std::vector<index_t>{12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 1, n - 1, 0, 14}));
}

TEST(DegreeOrdering, OtherOrderingsInAGivenPlaceAreThoseOfTheHost) {
  const auto a = testing::with_row_lengths<float>(testing::lengths_of(60, 3), 60, ValueStorage::weighted);
  for (const Ordering kind : {Ordering::natural, Ordering::rcm, Ordering::amd, Ordering::degree}) {
    EXPECT_EQ(list_of(ordering(a.view(), kind, Device::host(2))), ordering(a.view(), kind));
  }
  const auto wide = testing::make_pattern<double>(1, 2, {0, 1}, {1});
  EXPECT_THROW(static_cast<void>(ordering(wide.view(), Ordering::degree)), DimensionError);
  EXPECT_THROW(static_cast<void>(ordering(wide.view(), Ordering::degree, Device{})), DimensionError);
}

/// Against Eigen's permutations.
TEST(DegreeOrdering, PermutesAsEigenDoes) {
  for (const auto& [name, matrix] : testing::square_matrices<double>(ValueStorage::weighted)) {
    SCOPED_TRACE(name);
    const std::vector<index_t> order = ordering(matrix.view(), Ordering::degree);
    const Csr<double> permutation_applied = permuted(matrix.view(), order);
    validate(permutation_applied.view());
    Eigen::PermutationMatrix<Eigen::Dynamic> p(matrix.rows());
    for (index_t k = 0; k < matrix.rows(); ++k) p.indices()[order[static_cast<std::size_t>(k)]] = k;
    const testing::EigenSparse<double> expected = p * testing::to_eigen(matrix.view()) * p.transpose();
    const testing::EigenSparse<double> found = testing::to_eigen(permutation_applied.view());
    EXPECT_EQ((expected - found).norm(), 0.0);
    EXPECT_EQ(found.nonZeros(), matrix.nnz());
  }
}

TEST(DegreeOrdering, PositionsOfEntries) {
  const auto a = testing::with_row_lengths<double>(testing::power_law_lengths(200, 90, 5), 200, ValueStorage::weighted);
  const std::vector<index_t> order = ordering(a.view(), Ordering::degree);
  const Csr<double> b = permuted(a.view(), order);
  const Array<index_t> positions =
      permuted_positions(a.view(), order, inverse_permutation(order, Device{}).span(), Device{});
  ASSERT_EQ(positions.size(), a.nnz());
  for (offset_t k = 0; k < a.nnz(); ++k) EXPECT_EQ(b.values()[k], a.values()[positions[k]]);
}

}  // namespace
}  // namespace tessera
