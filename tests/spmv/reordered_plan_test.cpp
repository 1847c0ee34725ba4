// Plans in another numbering: products, transposed products, residuals, new values, and solves, which no one can tell
// from those of a plan but by rounding.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"
#include "tests/spmv/reordered_plan_cases.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace tessera {
namespace {

using testing::plan_orderings;

template <class T>
class Reordered : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Reordered, Types);

TYPED_TEST(Reordered, ProductsAreRight) {
  const testing::SmallGrain small;
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    testing::check_all_products<TypeParam>(Device::host(2), storage, plan_orderings);
  }
}

template <class T>
Csr<T> graph() {
  return testing::with_row_lengths<T>(testing::power_law_lengths(300, 280, 4), 300, ValueStorage::weighted);
}

/// Every kernel of the host finds what it needs in the rows of P A P'.
TYPED_TEST(Reordered, ByEveryKernel) {
  const Csr<TypeParam> a =
      testing::with_row_lengths<TypeParam>(testing::lengths_of(200, 5), 200, ValueStorage::weighted);
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    SCOPED_TRACE(to_string(algorithm));
    try {
      const ReorderedPlan<TypeParam> plan(a, Ordering::degree, {.algorithm = algorithm, .device = {}});
      EXPECT_EQ(plan.plan().info().algorithm, algorithm);
      testing::check_products(plan, a.view());
    } catch (const NotSupported&) {
      EXPECT_EQ(algorithm, SpmvAlgorithm::patterns);  // rows that do not repeat
    }
  }
}

TYPED_TEST(Reordered, TransposedProducts) {
  const Csr<TypeParam> a = graph<TypeParam>();
  const Csr<TypeParam> transposed = transpose(a.view());
  const auto x = testing::random_vector<TypeParam>(300, 3);
  const auto y0 = testing::random_vector<TypeParam>(300, 4);
  for (const Ordering kind : plan_orderings) {
    const ReorderedPlan<TypeParam> plan(a, kind, {.device = {}, .with_transpose = true});
    ASSERT_TRUE(plan.has_transpose());
    std::vector<TypeParam> y = y0;
    plan.apply_transposed(TypeParam{2}, x, TypeParam{-3}, y);
    testing::expect_near(testing::multiply_oracle<TypeParam>(TypeParam{2}, transposed.view(), x, TypeParam{-3}, y0), y);
  }
  const ReorderedPlan<TypeParam> plain(a, Ordering::degree);
  std::vector<TypeParam> y(300);
  EXPECT_NE(testing::message_of<NotSupported>([&] { plain.apply_transposed(x, y); }).find("with_transpose"),
            std::string::npos);
}

/// r = 2^3 b - A x, in double for both types.
TYPED_TEST(Reordered, Residuals) {
  const Csr<TypeParam> a = graph<TypeParam>();
  const auto b = testing::random_vector<TypeParam>(300, 6);
  const auto x = testing::random_vector<TypeParam>(300, 3);
  const ReorderedPlan<TypeParam> plan(a, Ordering::degree);
  std::vector<TypeParam> r(300);
  const double squares = plan.residual(3, b, x, r);
  std::vector<TypeParam> scaled = b;
  for (TypeParam& each : scaled) each *= TypeParam{8};
  const auto oracle = testing::multiply_oracle<TypeParam>(TypeParam{-1}, a.view(), x, TypeParam{1}, scaled);
  testing::expect_near(oracle, r);
  long double sum = 0;
  for (const TypeParam each : r) sum += static_cast<long double>(each) * static_cast<long double>(each);
  EXPECT_NEAR(squares, static_cast<double>(sum), 1e-6 * static_cast<double>(sum));
  // No worse than the residual of a plan in the numbering of A.
  const SpmvPlan<TypeParam> natural{Csr<TypeParam>::copy_of(a.view())};
  std::vector<TypeParam> expected(300);
  static_cast<void>(natural.residual(3, b, x, expected));
  if constexpr (std::is_same_v<TypeParam, float>) {
    for (std::size_t i = 0; i < r.size(); ++i) {
      ASSERT_NEAR(r[i], expected[i], 4 * std::numeric_limits<float>::epsilon() * std::fabs(expected[i]) + 1e-12F);
    }
  }
}

TYPED_TEST(Reordered, NewValues) {
  const Csr<TypeParam> a = graph<TypeParam>();
  for (const bool with_transpose : {false, true}) {
    ReorderedPlan<TypeParam> plan(a, Ordering::degree, {.device = {}, .with_transpose = with_transpose});
    const std::uint64_t bytes = plan.info().bytes;
    for (std::uint64_t round = 0; round < 3; ++round) {
      const auto values = testing::random_vector<TypeParam>(a.nnz(), 50 + round);
      plan.update_values(values);
      const auto updated = a.with_values(Array<TypeParam>::copy_of(values));
      testing::check_products(plan, updated.view());
    }
    EXPECT_GE(plan.info().bytes, bytes + sizeof(index_t) * static_cast<std::uint64_t>(a.nnz()));
  }
  ReorderedPlan<TypeParam> plan(a, Ordering::degree);
  const std::vector<TypeParam> few(3);
  EXPECT_THROW(plan.update_values(few), DimensionError);
  ReorderedPlan<TypeParam> pattern(a.structure(), Ordering::degree);
  EXPECT_THROW(pattern.update_values(few), InvalidArgument);
}

TYPED_TEST(Reordered, TwoThreadsAtOnce) {
  const Csr<TypeParam> a = graph<TypeParam>();
  const ReorderedPlan<TypeParam> plan(a, Ordering::degree);
  const auto multiply = [&](std::uint64_t seed) {
    const auto x = testing::random_vector<TypeParam>(300, seed);
    const auto oracle = testing::multiply_oracle<TypeParam>(TypeParam{1}, a.view(), x, TypeParam{0}, x);
    for (int run = 0; run < 200; ++run) {
      std::vector<TypeParam> y(300);
      plan.apply(x, y);
      testing::expect_near(oracle, y);
    }
  };
  std::thread other(multiply, 1);
  multiply(2);
  other.join();
}

TEST(ReorderedPlan, SaysWhatItTook) {
  const Csr<double> a = graph<double>();
  const ReorderedPlan<double> plan(a, Ordering::degree);
  const ReorderedPlanInfo& info = plan.info();
  EXPECT_EQ(info.ordering, Ordering::degree);
  EXPECT_EQ(info.matrix_bytes, a.bytes());
  EXPECT_EQ(info.vector_bytes, std::size_t{600} * sizeof(double));
  EXPECT_EQ(info.bytes, std::size_t{600} * sizeof(index_t) + plan.plan().info().bytes);
  EXPECT_EQ(ReorderedPlan<float>(graph<float>(), Ordering::rcm).info().vector_bytes, std::size_t{900} * sizeof(float));
  EXPECT_GE(info.ordering_ms + info.permute_ms + info.build_ms, 0.0);
  EXPECT_EQ(info.upload_ms, 0.0);
  EXPECT_EQ((std::vector<index_t>(plan.order().begin(), plan.order().end())), ordering(a.view(), Ordering::degree));
}

TEST(ReorderedPlan, RefusesRectangles) {
  const auto wide = testing::make_pattern<double>(1, 2, {0, 1}, {1});
  for (const Ordering kind : plan_orderings) EXPECT_THROW(ReorderedPlan<double>(wide, kind), DimensionError);
}

TEST(ReorderedPlan, GathersAndScatters) {
  const ReorderedPlan<double> plan(graph<double>(), Ordering::degree);
  std::vector<double> outer(300);
  std::iota(outer.begin(), outer.end(), 0.0);
  std::vector<double> inner(300);
  std::vector<double> back(300);
  plan.gather(outer, inner);
  for (std::size_t k = 0; k < inner.size(); ++k) EXPECT_EQ(inner[k], plan.order()[k]);
  plan.scatter(inner, back);
  EXPECT_EQ(back, outer);
  std::vector<double> few(299);
  EXPECT_THROW(plan.gather(outer, few), DimensionError);
  EXPECT_THROW(plan.scatter(few, outer), DimensionError);
}

/// A symmetric system of a graph with hubs: the Laplacian of a star forest, and 1.
Csr<double> hubs(index_t n) {
  std::vector<std::vector<double>> dense(static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(n)));
  for (index_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    dense[row][row] += 1;
    const auto hub = static_cast<std::size_t>(n / 2) + static_cast<std::size_t>(i % 3);
    if (row == hub) continue;
    dense[row][hub] -= 1;
    dense[hub][row] -= 1;
    dense[row][row] += 1;
    dense[hub][hub] += 1;
  }
  return testing::from_dense<double>(dense, n);
}

/// The same solution within what the bound on the residual allows: ‖x - x'‖ <= 2 target / λ_min, λ_min >= 1.
TEST(ReorderedPlan, Solves) {
  const Csr<double> a = hubs(120);
  const auto b = testing::random_vector<double>(120, 9);
  SolverOptions options;
  options.relative_tolerance = 1e-11;
  const SpmvPlan<double> natural(Csr<double>::copy_of(a.view()));
  for (const Ordering kind : plan_orderings) {
    SCOPED_TRACE(to_string(kind));
    const ReorderedPlan<double> plan(a, kind);
    for (const bool symmetric : {true, false}) {
      const auto solve = [&](const LinearOperator<double>& A, std::span<double> x) {
        const IdentityOperator<double> M(120);
        return symmetric ? cg<double>(A, M, b, x, options) : bicgstab<double>(A, M, b, x, options);
      };
      std::vector<double> expected(120);
      std::vector<double> x(120);
      const SolveReport known = solve(natural, expected);
      const SolveReport report = solve(plan, x);
      ASSERT_TRUE(known.converged() && report.converged()) << report.reason;
      double squares = 0;
      for (std::size_t i = 0; i < x.size(); ++i) squares += (x[i] - expected[i]) * (x[i] - expected[i]);
      EXPECT_LE(std::sqrt(squares), known.target + report.target);
    }
  }
}

}  // namespace
}  // namespace tessera
