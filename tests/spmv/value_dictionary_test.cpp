// Value dictionaries on the host.
#include "tests/spmv/value_dictionaries.hpp"
#include "tests/support/small_grain.hpp"

namespace tessera {

using namespace detail;
namespace {

template <class T>
class ValueDictionaryOnHost : public ::testing::Test {
 protected:
  static std::optional<ValueDictionary<T>> find(const std::vector<T>& values) {
    return host::find_value_dictionary<T>(Device::host(3), values);
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ValueDictionaryOnHost, Types);

TYPED_TEST(ValueDictionaryOnHost, NamesUpTo255ValuesAndNoMore) {
  const testing::SmallGrain small;
  for (const std::int64_t n : {300, 4096, 100000}) {
    for (const int distinct : {1, 2, 200, 254, 255}) {
      const auto values = testing::values_of_few<TypeParam>(n, distinct);
      const auto found = this->find(values);
      ASSERT_TRUE(found.has_value()) << n << ", " << distinct;
      ASSERT_EQ(found->count(), distinct);
      testing::check_dictionary(*found, values);
    }
    EXPECT_FALSE(this->find(testing::values_of_few<TypeParam>(n, 256)).has_value()) << n;
  }
  EXPECT_FALSE(this->find({}).has_value());
}

TYPED_TEST(ValueDictionaryOnHost, KeepsEveryBit) {
  const auto values = testing::odd_values<TypeParam>();
  const auto found = this->find(values);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->count(), static_cast<int>(values.size()));
  testing::check_dictionary(*found, values);
  EXPECT_FALSE(this->find({TypeParam{1}, testing::all_bits<TypeParam>()}).has_value());
}

TEST(ValueDictionary, SamplesAscendAndCoverAllValues) {
  for (const std::int64_t all : {std::int64_t{1}, std::int64_t{4095}, std::int64_t{4096}, std::int64_t{4097},
                                 std::int64_t{1000000007}, std::int64_t{1} << 42}) {
    const std::int64_t count = std::min(all, sampled_values);
    std::int64_t last = -1;
    for (std::int64_t number = 0; number < count; ++number) {
      const std::int64_t position = sampled_position(number, count, all);
      ASSERT_GT(position, last) << number << " of " << all;
      last = position;
    }
    EXPECT_LT(last, all);
    EXPECT_GE(last, all - 1 - 2 * (all / count));
  }
}

TEST(ValueDictionary, FloatsAreTheValuesThatSurviveRounding) {
  for (const double value : {0.0, -0.0, 1.5, std::numeric_limits<double>::infinity(), 1e-45 * 0.0}) {
    EXPECT_TRUE(is_float(value)) << value;
  }
  for (const double value : {0.1, 1e300, 1e-300, 1.0 + 1e-10}) EXPECT_FALSE(is_float(value)) << value;
}

}  // namespace
}  // namespace tessera
