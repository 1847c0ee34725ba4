// The kernel that is chosen by measurement: right products, and a reason whose numbers bear it out.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/measured_choice_cases.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

SpmvOptions measured(std::int64_t applications = 1000) {
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::measured;
  options.device = Device::host(2);
  options.expected_applications = applications;
  return options;
}

template <class T>
class MeasuredChoice : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MeasuredChoice, Types);

TYPED_TEST(MeasuredChoice, ProductsAreRight) {
  const std::vector<index_t> path_units = testing::default_path_units<TypeParam>();
  for (const auto& [name, matrix] : testing::adversarial_matrices<TypeParam>(ValueStorage::weighted, path_units)) {
    SCOPED_TRACE(name);
    SpmvOptions options = measured();
    options.with_transpose = true;
    const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options);
    EXPECT_NE(plan.info().algorithm, SpmvAlgorithm::measured);
    EXPECT_EQ(plan.info().determinism, Determinism::gpu_to_gpu);
    const CsrView<TypeParam> a = matrix.view();
    const auto x = testing::random_vector<TypeParam>(a.cols, 3);
    std::vector<TypeParam> y(static_cast<std::size_t>(a.rows));
    plan.apply(x, y);
    EXPECT_TRUE(near(testing::product_oracle<TypeParam>(a, x), constant(y)));
    if (a.nnz() > 0) testing::expect_least_of_measured(plan.info(), 1000, 1);
  }
}

TYPED_TEST(MeasuredChoice, KeepsTheLeast) {
  const Csr<TypeParam> grid = poisson2d<TypeParam>(90, 80);
  const Csr<TypeParam> hubs =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(3000, 2500, 4), 2500, ValueStorage::weighted);
  for (const Csr<TypeParam>* const a : {&grid, &hubs}) {
    for (const std::int64_t applications : {0, 1, 100000}) {
      const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(a->view()), measured(applications));
      testing::expect_least_of_measured(plan.info(), applications, 3);
    }
  }
}

TEST(MeasuredChoice, MatricesWithoutNonzerosNeedNoMeasurement) {
  for (const auto& [rows, cols] : {std::pair{0, 0}, {0, 5}, {5, 0}, {3, 4}}) {
    const SpmvPlan<double> plan(
        testing::from_dense<double>(
            std::vector(static_cast<std::size_t>(rows), std::vector(static_cast<std::size_t>(cols), 0.0)), cols),
        measured());
    EXPECT_EQ(plan.info().reason.find("measured"), std::string::npos);
    std::vector<double> y(static_cast<std::size_t>(rows), 7.0);
    plan.apply(std::vector<double>(static_cast<std::size_t>(cols), 1.0), y);
    EXPECT_EQ(y, std::vector<double>(static_cast<std::size_t>(rows), 0.0));
  }
}

TEST(MeasuredChoice, OneByOne) {
  const SpmvPlan<double> plan(testing::from_dense<double>({{3.0}}, 1), measured());
  std::vector<double> y(1);
  plan.apply(std::vector<double>{2.0}, y);
  EXPECT_EQ(y, std::vector<double>{6.0});
}

/// Values that overflow in the trial are those of the trial alone.
TEST(MeasuredChoice, LargestValues) {
  const double largest = std::numeric_limits<double>::max();
  const SpmvPlan<double> plan(testing::from_dense<double>({{largest, largest}, {0.0, 1.0}}, 2), measured());
  std::vector<double> y(2);
  plan.apply(std::vector<double>{0.0, 0.5}, y);
  EXPECT_EQ(y, (std::vector<double>{0.5 * largest, 0.5}));
}

TEST(MeasuredChoice, DescriptorsOfAKernelAreRefused) {
  SpmvOptions options = measured();
  options.sigma = 7;
  EXPECT_NE(testing::message_of<NotSupported>([&] {
              SpmvPlan<double>(poisson2d<double>(5, 5), options);
            }).find("measured may take another"),
            std::string::npos);
}

TEST(MeasuredChoice, HasAName) {
  EXPECT_EQ(parse_spmv_algorithm("measured"), SpmvAlgorithm::measured);
  EXPECT_EQ(to_string(SpmvAlgorithm::measured), "measured");
  EXPECT_FALSE(describe(SpmvAlgorithm::measured).empty());
  for (const SpmvAlgorithm algorithm : known_spmv_algorithms()) EXPECT_NE(algorithm, SpmvAlgorithm::measured);
}

TEST(MeasuredChoice, UpdatedValuesAreUsed) {
  SpmvPlan<double> plan(poisson2d<double>(60, 50), measured());
  const auto values = testing::random_vector<double>(plan.matrix().nnz(), 9);
  plan.update_values(std::span<const double>(values));
  const auto x = testing::random_vector<double>(3000, 3);
  std::vector<double> y(3000);
  plan.apply(x, y);
  EXPECT_TRUE(near(testing::product_oracle<double>(plan.matrix(), x), constant(y)));
}

}  // namespace
}  // namespace tessera
