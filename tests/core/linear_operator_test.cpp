#include "core/enqueued_product.hpp"
#include "core/fused_adapter.hpp"
#include "tessera/error.hpp"
#include "tessera/fused_operator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace tessera {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Row i of the 3 x 2 matrix [1 2; 3 4; 5 6]; counts its calls.
class Tall {
 public:
  [[nodiscard]] FunctionOperator<double> make() {
    return FunctionOperator<double>(3, 2, [this](std::span<const double> x, std::span<double> y) {
      ++calls_;
      for (std::size_t i = 0; i < 3; ++i) {
        const double first = static_cast<double>(2 * i + 1);
        y[i] = first * x[0] + (first + 1) * x[1];
      }
    });
  }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  int calls_ = 0;
};

using Vector = std::vector<double>;

Vector apply(const LinearOperator<double>& a, double alpha, const Vector& x, double beta, Vector y) {
  a.apply(alpha, x, beta, y);
  return y;
}

TEST(LinearOperator, AlphaAndBeta) {
  Tall tall;
  const auto a = tall.make();
  const Vector x{1, -1};
  EXPECT_EQ(apply(a, 1, x, 0, {7, 8, 9}), (Vector{-1, -1, -1}));
  EXPECT_EQ(apply(a, 2, x, 0, {7, 8, 9}), (Vector{-2, -2, -2}));
  EXPECT_EQ(apply(a, -2, x, 3, {7, 8, 9}), (Vector{23, 26, 29}));
  const int calls = tall.calls();
  EXPECT_EQ(apply(a, 0, x, 3, {7, 8, 9}), (Vector{21, 24, 27}));
  EXPECT_EQ(apply(a, 0, {nan, nan}, 1, {7, 8, 9}), (Vector{7, 8, 9}));
  EXPECT_EQ(tall.calls(), calls) << "alpha = 0 must not form the product";
}

TEST(LinearOperator, OldContentsNeverMatterWithBetaZero) {
  Tall tall;
  const auto a = tall.make();
  const IdentityOperator<double> identity(3);
  EXPECT_EQ(apply(a, 1, {1, 1}, 0, {nan, nan, nan}), (Vector{3, 7, 11}));
  EXPECT_EQ(apply(a, 0, {1, 1}, 0, {nan, nan, nan}), (Vector{0, 0, 0}));
  EXPECT_EQ(apply(identity, 2, {1, 2, 3}, 0, {nan, nan, nan}), (Vector{2, 4, 6}));
  EXPECT_TRUE(std::isnan(apply(identity, 1, {1, 2, 3}, 1, {nan, 0, 0})[0]));
}

TEST(LinearOperator, SizesAreChecked) {
  Tall tall;
  const auto a = tall.make();
  Vector two(2);
  Vector three(3);
  EXPECT_THROW(a.apply(three, three), DimensionError);
  EXPECT_THROW(a.apply(two, two), DimensionError);
  Vector output(3);
  const auto fused = detail::fused_operator<double>(a);
  EXPECT_THROW(static_cast<void>(fused->apply_and_dot(two, output, two)), DimensionError);
  DualBuffer<double> small(2, DualBuffer<double>::Mode::single, Device{});
  EXPECT_THROW(fused->apply(two, small), DimensionError);
  EXPECT_THROW(static_cast<void>(fused->apply_and_dot(two, small, two)), DimensionError);
  try {
    a.apply(three, three);
  } catch (const DimensionError& e) {
    EXPECT_EQ(std::string(e.what()), "operator is 3 x 2: vector x must have 2 elements, has 3");
  }
  EXPECT_EQ(tall.calls(), 0);
}

TEST(LinearOperator, AliasingIsRefused) {
  const IdentityOperator<double> identity(4);
  Vector v(7);
  const std::span<double> all(v);
  EXPECT_THROW(identity.apply(all.first(4), all.first(4)), InvalidArgument);
  EXPECT_THROW(identity.apply(all.first(4), all.last(4)), InvalidArgument);
  EXPECT_THROW(identity.apply(all.last(4), all.first(4)), InvalidArgument);
  Vector w(8);
  const std::span<double> halves(w);
  EXPECT_NO_THROW(identity.apply(halves.first(4), halves.last(4)));
  auto buffer = identity.make_output();
  EXPECT_THROW(identity.apply(buffer.current(), buffer), InvalidArgument);
}

TEST(LinearOperator, DotsComeWithTheProduct) {
  Tall tall;
  const FunctionOperator<double> function = tall.make();
  const auto a = detail::fused_operator<double>(function);
  const Vector x{1, 1};
  const Vector w{1, 10, 100};
  Vector y(3, nan);
  const ProductDots dots = a->apply_and_dot(x, y, w);
  EXPECT_EQ(y, (Vector{3, 7, 11}));
  EXPECT_EQ(dots.wy, 3 + 70 + 1100);
  EXPECT_EQ(dots.yy, 9 + 49 + 121);
  auto buffer = a->make_output();
  const ProductDots buffered = a->apply_and_dot(x, buffer, w);
  EXPECT_EQ(Vector(buffer.current().begin(), buffer.current().end()), y);
  EXPECT_EQ(buffered.wy, dots.wy);
  EXPECT_EQ(buffered.yy, dots.yy);
}

TEST(LinearOperator, DotsOfFloatsRunInDouble) {
  const std::int64_t n = 100000;
  const IdentityOperator<float> identity(n);
  std::vector<float> x(static_cast<std::size_t>(n), 0.1F);
  std::vector<float> y(x.size());
  const ProductDots dots = identity.apply_and_dot(x, y, x);
  const double square = static_cast<double>(0.1F) * static_cast<double>(0.1F);
  // In float the sum would be off by about 1e-3 relative.
  EXPECT_NEAR(dots.yy, static_cast<double>(n) * square, 1e-10 * static_cast<double>(n) * square);
  EXPECT_EQ(dots.wy, dots.yy);
}

TEST(LinearOperator, DotsAreTheSameForEveryNumberOfThreads) {
  const std::int64_t n = 300001;
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
  std::vector<double> y(x.size());
  const auto dots_with = [&](int threads) {
    return IdentityOperator<double>(n, Device::host(threads)).apply_and_dot(x, y, x).yy;
  };
  const double one = dots_with(1);
  for (const int threads : {2, 5, 16}) EXPECT_EQ(dots_with(threads), one);
}

TEST(LinearOperator, EmptyOperators) {
  const FunctionOperator<double> no_rows(0, 2, [](auto, auto) { FAIL() << "nothing to compute"; });
  const Vector x{1, 2};
  Vector none;
  no_rows.apply(x, none);
  const ProductDots dots = detail::fused_operator<double>(no_rows)->apply_and_dot(x, none, none);
  EXPECT_EQ(dots.yy, 0.0);
  const FunctionOperator<double> no_columns(
      2, 0, [](std::span<const double>, std::span<double> y) { std::fill(y.begin(), y.end(), 0.0); });
  EXPECT_EQ(apply(no_columns, 1, {}, 2, {3, 4}), (Vector{6, 8}));
}

TEST(LinearOperator, IdentitySaysSo) {
  EXPECT_TRUE(IdentityOperator<float>(3).is_identity());
  Tall tall;
  const FunctionOperator<double> function = tall.make();
  EXPECT_FALSE(detail::fused_operator<double>(function)->is_identity());
  EXPECT_FALSE(detail::fused_operator<double>(function)->diagonal().has_value());
}

/// The default, for an operator that has only a product.
TEST(LinearOperator, ResidualFromAProduct) {
  Tall tall;
  const FunctionOperator<double> function = tall.make();
  const auto a = detail::fused_operator<double>(function);
  const Vector b{1, 2, 3};
  const Vector x{1, -1};
  Vector r(3, nan);
  // A x = (-1, -1, -1)
  EXPECT_EQ(a->residual(0, b, x, r), 4.0 + 9.0 + 16.0);
  EXPECT_EQ(r, (Vector{2, 3, 4}));
  EXPECT_EQ(a->residual(3, b, x, r), 81.0 + 289.0 + 625.0);
  EXPECT_EQ(r, (Vector{9, 17, 25}));
  EXPECT_EQ(tall.calls(), 2);
  EXPECT_THROW(static_cast<void>(a->residual(0, r, x, r)), InvalidArgument);
}

/// Both vectors of a buffer are written, so neither operand may lie in it.
TEST(LinearOperator, OperandsInsideTheBufferAreRefused) {
  const IdentityOperator<double> identity(3);
  DualBuffer<double> buffer(3, DualBuffer<double>::Mode::dual, Device{});
  const Vector apart{1, 2, 3};
  EXPECT_THROW(identity.apply(buffer.current(), buffer), InvalidArgument);
  EXPECT_THROW(identity.apply(buffer.next(), buffer), InvalidArgument);
  EXPECT_THROW(static_cast<void>(identity.apply_and_dot(apart, buffer, buffer.current())), InvalidArgument);
  EXPECT_THROW(static_cast<void>(identity.apply_and_dot(apart, buffer, buffer.next())), InvalidArgument);
  Vector y(3);
  EXPECT_THROW(static_cast<void>(identity.apply_and_dot(apart, y, y)), InvalidArgument);
  EXPECT_EQ(identity.apply_and_dot(apart, buffer, apart).wy, 14.0);
}

TEST(LinearOperator, ImpossibleOperators) {
  using Function = FunctionOperator<double>::Function;
  EXPECT_THROW(FunctionOperator<double>(-1, 1, [](auto, auto) {}), InvalidArgument);
  EXPECT_THROW(FunctionOperator<double>(1, 1, Function{}), InvalidArgument);
  EXPECT_THROW(FunctionOperator<double>(
                   1, 1, [](auto, auto) {}, Function{}),
               InvalidArgument);
}

/// The same 3 x 2 matrix with its transpose, [1 3 5; 2 4 6].
FunctionOperator<double> tall_with_transpose(Tall& tall) {
  const auto forward = std::make_shared<FunctionOperator<double>>(tall.make());
  return FunctionOperator<double>(
      3, 2, [forward](std::span<const double> x, std::span<double> y) { forward->apply(x, y); },
      [](std::span<const double> x, std::span<double> y) {
        y[0] = x[0] + 3 * x[1] + 5 * x[2];
        y[1] = 2 * x[0] + 4 * x[1] + 6 * x[2];
      });
}

TEST(LinearOperator, TransposedProducts) {
  Tall tall;
  const auto a = tall_with_transpose(tall);
  ASSERT_TRUE(a.has_transpose());
  const Vector x{1, 1, -1};
  Vector y{nan, nan};
  a.apply_transposed(x, y);
  EXPECT_EQ(y, (Vector{-1, 0}));
  a.apply_transposed(2, x, 3, y);
  EXPECT_EQ(y, (Vector{-5, 0}));
  a.apply_transposed(-1, x, 0, y);
  EXPECT_EQ(y, (Vector{1, 0}));
  a.apply_transposed(0, Vector{nan, nan, nan}, 5, y);
  EXPECT_EQ(y, (Vector{5, 0}));
  y[0] = nan;
  a.apply_transposed(0, x, 0, y);
  EXPECT_EQ(y, (Vector{0, 0}));
}

TEST(LinearOperator, TransposedSizesAreChecked) {
  Tall tall;
  const auto a = tall_with_transpose(tall);
  Vector two(2);
  Vector three(3);
  EXPECT_THROW(a.apply_transposed(two, two), DimensionError);
  EXPECT_THROW(a.apply_transposed(three, three), DimensionError);
  try {
    a.apply_transposed(two, two);
  } catch (const DimensionError& e) {
    EXPECT_STREQ(e.what(), "operator is 3 x 2: vector x of the transposed product must have 3 elements, has 2");
  }
  Vector four(4);
  const std::span<double> all(four);
  EXPECT_THROW(a.apply_transposed(all.first(3), all.last(2)), InvalidArgument);
}

TEST(LinearOperator, OperatorsWithoutATransposeNameTheRemedy) {
  Tall tall;
  const auto a = tall.make();
  EXPECT_FALSE(a.has_transpose());
  Vector two(2);
  const Vector three(3);
  try {
    a.apply_transposed(0, three, 1, two);
    FAIL() << "not refused";
  } catch (const NotSupported& e) {
    EXPECT_STREQ(e.what(),
                 "this 3 x 2 operator offers no transposed product: give FunctionOperator a second function, "
                 "for the transpose");
  }
}

TEST(LinearOperator, DiagonalOperatorsAreTheirOwnTranspose) {
  const IdentityOperator<double> identity(3);
  ASSERT_TRUE(identity.has_transpose());
  Vector y{1, 2, 3};
  identity.apply_transposed(2, Vector{1, 1, 1}, -1, y);
  EXPECT_EQ(y, (Vector{1, 0, -1}));
}

/// The adapter of a plain operator passes everything on; a fused one needs none.
TEST(LinearOperator, AnyOperatorIsAFusedOne) {
  Tall tall;
  const auto a = tall_with_transpose(tall);
  const auto fused = detail::fused_operator<double>(a);
  EXPECT_EQ(fused->rows(), 3);
  EXPECT_EQ(fused->cols(), 2);
  EXPECT_EQ(fused->device(), a.device());
  const Vector x{1, -1};
  EXPECT_EQ(apply(*fused, -2, x, 3, {7, 8, 9}), apply(a, -2, x, 3, {7, 8, 9}));
  ASSERT_TRUE(fused->has_transpose());
  Vector y{nan, nan};
  fused->apply_transposed(Vector{1, 1, -1}, y);
  EXPECT_EQ(y, (Vector{-1, 0}));
  EXPECT_FALSE(detail::fused_operator<double>(tall.make())->has_transpose());
  EXPECT_EQ(detail::EnqueuedProduct<double>::of(*fused), nullptr);
  const IdentityOperator<double> identity(3);
  EXPECT_EQ(detail::fused_operator<double>(identity).get(), &identity);
}

/// Says that it can be enqueued, and lies on the host.
class Eager final : public LinearOperator<double> {
 public:
  [[nodiscard]] std::int64_t rows() const override { return 2; }
  [[nodiscard]] std::int64_t cols() const override { return 2; }
  [[nodiscard]] bool can_enqueue() const override { return true; }

 protected:
  void do_apply(double alpha, std::span<const double> x, double /*beta*/, std::span<double> y) const override {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = alpha * x[i];
  }
};

TEST(LinearOperator, TheHostHasNoStreams) {
  Tall tall;
  const auto a = tall.make();
  const Vector x{1, 1};
  Vector y(3);
  EXPECT_FALSE(a.can_enqueue());
  try {
    a.enqueue(x, y, nullptr);
    FAIL() << "not refused";
  } catch (const NotSupported& e) {
    EXPECT_STREQ(e.what(),
                 "this 3 x 2 operator on host cannot be enqueued: its class has to override can_enqueue() and "
                 "do_enqueue()");
  }
  const Eager eager;
  Vector z(2);
  try {
    eager.enqueue(x, z, nullptr);
    FAIL() << "not refused";
  } catch (const NotSupported& e) {
    EXPECT_STREQ(e.what(), "this 2 x 2 operator on host cannot be enqueued: only a GPU has streams");
  }
  EXPECT_EQ(detail::EnqueuedProduct<double>::of(*detail::fused_operator<double>(eager)), nullptr);
  const auto in_stream = [](std::span<const double>, std::span<double>, CUstream_st*) {};
  EXPECT_THROW(FunctionOperator<double>(2, 2, in_stream, Device{}), InvalidArgument);
}

TEST(DualBuffer, SwapsAndForgets) {
  DualBuffer<double> buffer(3, DualBuffer<double>::Mode::dual, Device{});
  EXPECT_EQ(buffer.bytes(), 2U * 3 * sizeof(double));
  const double* first = buffer.current().data();
  const double* second = buffer.next().data();
  EXPECT_NE(first, second);
  buffer.swap();
  EXPECT_EQ(buffer.current().data(), second);
  buffer.set_prepared_for(7);
  // An operator that writes in place must say that the buffer is no longer prepared.
  IdentityOperator<double>(3).apply(Vector{1, 2, 3}, buffer);
  EXPECT_EQ(buffer.prepared_for(), 0U);
  EXPECT_EQ(buffer.current()[2], 3.0);
}

}  // namespace
}  // namespace tessera
