// Sparsification by rows, against rows that are sorted as a whole.
#include "tests/preprocess/keep_cases.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

template <class T>
void check(const Csr<T>& a) {
  for (const Keep& keep : testing::keep_rules()) {
    SCOPED_TRACE(::testing::Message() << "tolerance " << keep.tolerance << ", most " << keep.most);
    testing::expect_identical(keep_entries(a, keep).view(), testing::naive_keep(a.view(), keep).view());
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

template <class T>
class KeepEntries : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(KeepEntries, Types);

TYPED_TEST(KeepEntries, OfAdversarialMatrices) {
  const testing::SmallGrain grain;
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(storage, {32})) {
      SCOPED_TRACE(name);
      check(matrix);
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TYPED_TEST(KeepEntries, OfAwkwardMagnitudes) { check(testing::awkward_magnitudes<TypeParam>()); }

TEST(Keep, WrittenOut) {
  const auto a = testing::from_dense<double>({{0.5, 4, -2, 1}, {3, 0.1, -3, 3}, {1, 2, 0, 4}}, 4);
  const auto dropped = keep_entries(a, {.tolerance = 0.5});
  testing::expect_identical(dropped.view(),
                            testing::from_dense<double>({{0.5, 4, -2, 0}, {3, 0.1, -3, 3}, {0, 2, 0, 4}}, 4).view());
  const auto two = keep_entries(a, {.most = 2});
  testing::expect_identical(two.view(),
                            testing::from_dense<double>({{0.5, 4, 0, 0}, {3, 0.1, 0, 0}, {0, 2, 0, 4}}, 4).view());
  const auto without_diagonal = keep_entries(a, {.most = 2, .diagonal = false});
  testing::expect_identical(without_diagonal.view(),
                            testing::from_dense<double>({{0, 4, -2, 0}, {3, 0, -3, 0}, {0, 2, 0, 4}}, 4).view());
}

TEST(Keep, Refusals) {
  const Csr<double> a;
  const auto message = [&](const Keep& keep) {
    return testing::message_of<InvalidArgument>([&] { static_cast<void>(keep_entries(a, keep)); });
  };
  EXPECT_EQ(message({.tolerance = -0.5}), "Keep::tolerance must be finite and not negative, but it is -0.5");
  EXPECT_EQ(message({.tolerance = std::numeric_limits<double>::quiet_NaN()}),
            "Keep::tolerance must be finite and not negative, but it is nan");
  EXPECT_EQ(message({.most = -1}), "Keep::most must not be negative, but it is -1");
}

}  // namespace
}  // namespace tessera
