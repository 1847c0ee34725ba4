/// Memory that --dry-run foretells of another numbering, against what operator new gives while it is done.

#include "apps/solve/system_ordering.hpp"
#include "tests/support/allocation_counter.hpp"

#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

namespace {

/// Every row holds one entry, far from the diagonal.
template <class T>
[[nodiscard]] Csr<T> cycle(index_t rows) {
  Array<offset_t> offsets(std::int64_t{rows} + 1);
  Array<index_t> columns(rows);
  Array<T> values(rows);
  for (index_t i = 0; i < rows; ++i) {
    offsets[i + 1] = i + 1;
    columns[i] = (i + rows / 2) % rows;
    values[i] = T{1};
  }
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values));
}

template <class T>
class OrderingMemoryTest : public ::testing::Test {};
using Values = ::testing::Types<float, double>;
TYPED_TEST_SUITE(OrderingMemoryTest, Values);

/// Held to the byte but for what the allocator rounds up, the peak at most.
TYPED_TEST(OrderingMemoryTest, IsAtMostThePrediction) {
  constexpr std::int64_t rounding = 4096;
  const std::vector<Csr<TypeParam>> matrices = [] {
    std::vector<Csr<TypeParam>> result;
    result.push_back(poisson2d<TypeParam>(60, 60));
    result.push_back(generate<TypeParam>(parse_generator("rmat:scale=11"), ValueStorage::weighted));
    result.push_back(cycle<TypeParam>(4000));
    return result;
  }();
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    for (const Ordering kind : {Ordering::rcm, Ordering::degree}) {
      SCOPED_TRACE(std::string(to_string(kind)) + " of matrix " + std::to_string(m));
      const Csr<TypeParam>& matrix = matrices[m];
      const MatrixStatistics facts = statistics(matrix.view());
      const cli::OrderingBytes told = cli::predicted_ordering_bytes(kind, facts, sizeof(TypeParam), Device{}.threads());
      const std::int64_t before = live_bytes();
      forget_peak();
      const cli::OrderedSystem<TypeParam> system = cli::order_system(matrix, kind);
      const std::int64_t held = live_bytes() - before;
      const std::int64_t most = peak_bytes() - before;
      EXPECT_EQ(told.held, system.bytes());
      EXPECT_NEAR(static_cast<double>(held), static_cast<double>(told.held), rounding);
      EXPECT_LE(most, static_cast<std::int64_t>(told.held + told.passing) + rounding);
      EXPECT_LE(static_cast<double>(told.held + told.passing), 1.7 * static_cast<double>(most));
    }
  }
}

TEST(OrderingMemory, TheNaturalOneTakesNothing) {
  const cli::OrderingBytes told = cli::predicted_ordering_bytes(Ordering::natural, {}, sizeof(double), 1);
  EXPECT_EQ(told.held + told.passing, 0U);
}

}  // namespace

}  // namespace tessera::testing
