// The kernel that is chosen by measurement on a GPU: right products, a reason whose numbers bear it out, and the
// classes and fused iterations that were asked for.
#include "spmv/matrix_hash.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/generators.hpp"
#include "tessera/measured_choices.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/measured_choice_cases.hpp"

namespace tessera {

using namespace detail;
namespace {

using testing::CudaProduct;
using testing::near;

template <class T>
class CudaMeasuredChoice : public testing::CudaTest {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaMeasuredChoice, Types);

template <class T>
std::vector<Csr<T>> some_matrices() {
  std::vector<Csr<T>> result;
  result.push_back(poisson2d<T>(60, 50));
  result.push_back(testing::with_row_lengths<T>(testing::power_law_lengths(900, 700, 3), 800, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<T>({7000, 3, 0, 1}, 8000, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<T>({1}, 1, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<T>({0, 0}, 3, ValueStorage::weighted));
  return result;
}

TYPED_TEST(CudaMeasuredChoice, ProductsAreRight) {
  for (const Csr<TypeParam>& matrix : some_matrices<TypeParam>()) {
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::measured;
    options.device = this->gpu();
    const CudaProduct<TypeParam> product(matrix, options);
    const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
    const std::vector<TypeParam> y =
        product.apply(TypeParam{1}, x, TypeParam{0}, std::vector<TypeParam>(static_cast<std::size_t>(matrix.rows())));
    EXPECT_TRUE(near(testing::product_oracle<TypeParam>(matrix.view(), x), testing::constant(y)));
    if (matrix.nnz() > 0) testing::expect_least_of_measured(product.plan().info(), 1000, 2);
  }
}

TYPED_TEST(CudaMeasuredChoice, KeepsTheClassAskedFor) {
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::measured;
  options.device = this->gpu();
  options.determinism = Determinism::run_to_run;
  for (const Csr<TypeParam>& matrix : some_matrices<TypeParam>()) {
    const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()), options);
    EXPECT_GE(plan.info().determinism, Determinism::run_to_run) << plan.info().reason;
  }
}

/// PageRank gains more by a fused iteration than by the fastest product.
TYPED_TEST(CudaMeasuredChoice, RankingsKeepTheirFusedIteration) {
  const Csr<TypeParam> graph =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(900, 700, 3), 900, ValueStorage::pattern);
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::measured;
  options.device = this->gpu();
  options.rank_products = true;
  const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(graph.view()), options);
  EXPECT_NE(PlanInternals::kernel(plan).make_rank_product(plan.matrix(), 1), nullptr) << plan.info().reason;
}

TYPED_TEST(CudaMeasuredChoice, TheSecondPlanTakesTheKernelOfTheFirst) {
  forget_measured_choices();
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::measured;
  options.device = this->gpu();
  const auto plan = [&options] { return SpmvPlan<TypeParam>(poisson2d<TypeParam>(60, 50), options); };
  const PlanInfo first = plan().info();
  EXPECT_EQ(plan().info().reason, "measured before" + first.reason.substr(std::string("measured").size()));
  EXPECT_EQ(plan().info().algorithm, first.algorithm);
  // Not that of the host.
  options.device = Device::host(2);
  EXPECT_FALSE(plan().info().reason.starts_with("measured before"));
  forget_measured_choices();
}

TYPED_TEST(CudaMeasuredChoice, TheHashOfAMatrixIsThatOfTheHost) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    const Csr<TypeParam> matrix =
        testing::with_row_lengths<TypeParam>(testing::power_law_lengths(900, 700, 3), 800, storage);
    const Csr<TypeParam> there = matrix.to(this->gpu());
    EXPECT_EQ(matrix_hash(this->gpu(), there.view()), matrix_hash(Device::host(2), matrix.view()));
  }
}

}  // namespace
}  // namespace tessera
