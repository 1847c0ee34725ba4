// Value dictionaries on a GPU, against those of the host.
#include "tests/spmv/value_dictionaries.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {

using namespace detail;
namespace {

template <class T>
class CudaValueDictionary : public testing::CudaTest {
 protected:
  [[nodiscard]] std::optional<ValueDictionary<T>> find(const std::vector<T>& values) const {
    const auto on_device = Array<T>::copy_of(values, this->gpu());
    auto found = cuda::find_value_dictionary<T>(this->gpu(), on_device.span());
    if (!found) return std::nullopt;
    EXPECT_EQ(found->values.device(), this->gpu());
    return ValueDictionary<T>{found->values.to(Device{}), found->keys.to(Device{}), found->codes.to(Device{})};
  }
  [[nodiscard]] ValueSample sample(const std::vector<T>& values) const {
    const auto on_device = Array<T>::copy_of(values, this->gpu());
    Array<ValueSample> found(1, Init::none, this->gpu());
    cuda::enqueue_value_sample<T>(this->gpu(), on_device.span(), found.data());
    return found.to(Device{})[0];
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaValueDictionary, Types);

TYPED_TEST(CudaValueDictionary, NamesUpTo255ValuesAndNoMore) {
  for (const std::int64_t n : {300, 4096, testing::repetitions(3000000, 20000)}) {
    for (const int distinct : {1, 2, 200, 254, 255}) {
      const auto values = testing::values_of_few<TypeParam>(n, distinct);
      const auto found = this->find(values);
      ASSERT_TRUE(found.has_value()) << n << ", " << distinct;
      ASSERT_EQ(found->count(), distinct);
      testing::check_dictionary(*found, values);
      const auto expected = host::find_value_dictionary<TypeParam>(Device{}, values);
      ASSERT_TRUE(std::equal(found->values.begin(), found->values.end(), expected->values.begin()));
    }
    EXPECT_FALSE(this->find(testing::values_of_few<TypeParam>(n, 256)).has_value()) << n;
  }
  EXPECT_FALSE(this->find({}).has_value());
}

TYPED_TEST(CudaValueDictionary, KeepsEveryBit) {
  const auto values = testing::odd_values<TypeParam>();
  const auto found = this->find(values);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->count(), static_cast<int>(values.size()));
  testing::check_dictionary(*found, values);
  EXPECT_FALSE(this->find({TypeParam{1}, testing::all_bits<TypeParam>()}).has_value());
}

TYPED_TEST(CudaValueDictionary, ManyDistinctValuesEndEarly) {
  const std::int64_t n = testing::repetitions(5000000, 20000);
  std::vector<TypeParam> values(static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<TypeParam>(k) / TypeParam{3};
  EXPECT_FALSE(this->find(values).has_value());
  EXPECT_FALSE(this->sample(values).promises_dictionary());
}

TYPED_TEST(CudaValueDictionary, ASampleCountsValues) {
  EXPECT_EQ(this->sample(testing::values_of_few<TypeParam>(700, 200)).distinct, 200);
  EXPECT_GT(this->sample(testing::values_of_few<TypeParam>(700, 256)).distinct, most_dictionary_values);
  EXPECT_GT(this->sample({testing::all_bits<TypeParam>()}).distinct, most_dictionary_values);
  EXPECT_TRUE(this->sample(testing::values_of_few<TypeParam>(5000, 200)).promises_float());
}

class CudaFloatValues : public testing::CudaTest {};

TEST_F(CudaFloatValues, AreThoseThatSurviveRounding) {
  std::vector<double> values = testing::values_of_few<double>(5000, 200);
  EXPECT_TRUE(cuda::are_floats(gpu(), Array<double>::copy_of(values, gpu()).span()));
  values[4999] = 0.1;
  EXPECT_FALSE(cuda::are_floats(gpu(), Array<double>::copy_of(values, gpu()).span()));
  values[4999] = -0.0;
  EXPECT_TRUE(cuda::are_floats(gpu(), Array<double>::copy_of(values, gpu()).span()));
}

}  // namespace
}  // namespace tessera
