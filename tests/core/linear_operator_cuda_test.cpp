// Vector operations of linear operators, on a GPU and on the host.
#include "core/cuda/vector_ops.hpp"
#include "tessera/fused_operator.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

template <class T>
class CudaOperator : public testing::CudaTest {
 protected:
  static constexpr std::int64_t sizes[] = {1, 31, 256, 1000, 300001};

  static Array<T> upload(const std::vector<T>& vector) { return Array<T>::copy_of(vector, gpu()); }
  static std::vector<T> download(const Array<T>& array) {
    const Array<T> copy = array.to(Device{});
    return {copy.begin(), copy.end()};
  }
  static std::vector<T> nans(std::int64_t size) {
    return std::vector<T>(static_cast<std::size_t>(size), std::numeric_limits<T>::quiet_NaN());
  }
  static void expect_near(const std::vector<T>& actual, const std::vector<T>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    // The GPU rounds a sum of two products once less.
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(actual[i]), static_cast<double>(expected[i]),
                  8 * static_cast<double>(std::numeric_limits<T>::epsilon()))
          << i;
    }
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaOperator, Types);

TYPED_TEST(CudaOperator, IdentityCombinesAsOnTheHost) {
  using T = TypeParam;
  for (const std::int64_t size : this->sizes) {
    const auto x = testing::random_vector<T>(size, 1);
    const IdentityOperator<T> on_host(size);
    const IdentityOperator<T> on_gpu(size, this->gpu());
    for (const auto& [alpha, beta] : {std::pair{T{1}, T{0}}, {T{2}, T{-3}}, {T{0}, T{2}}, {T{0}, T{0}}, {T{1}, T{1}}}) {
      auto y = beta == T{0} ? this->nans(size) : testing::random_vector<T>(size, 2);
      auto target = this->upload(y);
      on_host.apply(alpha, x, beta, y);
      on_gpu.apply(alpha, this->upload(x).span(), beta, target.span());
      this->expect_near(this->download(target), y);
    }
  }
}

TYPED_TEST(CudaOperator, SumsAndResidualsAreThoseOfTheHost) {
  using T = TypeParam;
  for (const std::int64_t size : this->sizes) {
    const auto x = testing::random_vector<T>(size, 1);
    const auto w = testing::random_vector<T>(size, 2);
    const IdentityOperator<T> on_host(size);
    const IdentityOperator<T> on_gpu(size, this->gpu());
    std::vector<T> y(x.size());
    auto target = this->upload(this->nans(size));
    const ProductDots expected = on_host.apply_and_dot(x, y, w);
    const ProductDots dots = on_gpu.apply_and_dot(this->upload(x).span(), target.span(), this->upload(w).span());
    const double slack = 1e-15 * static_cast<double>(size);
    EXPECT_NEAR(dots.wy, expected.wy, slack);
    EXPECT_NEAR(dots.yy, expected.yy, slack);
    for (const int exponent : {0, 3, -40}) {
      std::vector<T> r = this->nans(size);
      auto residual = this->upload(r);
      const double squares = on_host.residual(exponent, w, x, r);
      EXPECT_NEAR(on_gpu.residual(exponent, this->upload(w).span(), this->upload(x).span(), residual.span()), squares,
                  1e-14 * squares + slack * static_cast<double>(std::numeric_limits<T>::epsilon()));
      this->expect_near(this->download(residual), r);
    }
  }
}

TYPED_TEST(CudaOperator, SumsRepeatBitwise) {
  using T = TypeParam;
  const auto x = this->upload(testing::random_vector<T>(300001, 1));
  const auto w = this->upload(testing::random_vector<T>(300001, 2));
  const ProductDots first = cuda::dots<T>(this->gpu(), x.span(), w.span());
  for (int run = 0; run < testing::repetitions(20, 2); ++run) {
    const ProductDots again = cuda::dots<T>(this->gpu(), x.span(), w.span());
    ASSERT_EQ(again.wy, first.wy);
    ASSERT_EQ(again.yy, first.yy);
  }
}

TYPED_TEST(CudaOperator, FunctionsAreScaledAndAdded) {
  using T = TypeParam;
  const auto twice = [this](std::span<const T> x, std::span<T> y) {
    IdentityOperator<T>(static_cast<std::int64_t>(x.size()), this->gpu()).apply(T{2}, x, T{0}, y);
  };
  const FunctionOperator<T> op(1000, 1000, twice, this->gpu());
  const auto x = testing::random_vector<T>(1000, 1);
  auto y = testing::random_vector<T>(1000, 2);
  auto target = this->upload(y);
  op.apply(T{3}, this->upload(x).span(), T{-2}, target.span());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = T{6} * x[i] - T{2} * y[i];
  this->expect_near(this->download(target), y);
}

}  // namespace
}  // namespace tessera
