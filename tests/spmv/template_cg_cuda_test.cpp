// The two products of two-kernel CG by row templates.
#include "spmv/common/cg_product.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/small_grain.hpp"

#include <fmt/format.h>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaCase;
using testing::CudaProduct;
using testing::helix;
using testing::mostly_uniform;
using testing::near;
using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

template <class T>
class CudaTemplateCg : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options() {
    return CudaCase{SpmvAlgorithm::patterns, Determinism::run_to_run}.options(testing::CudaTest::gpu());
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaTemplateCg, Types);

/// Both products of two-kernel CG, in turn.
template <class T>
void check_cg_products(const CudaProduct<T>& product, bool with_diagonal) {
  const SpmvPlan<T>& plan = product.plan();
  const Device& gpu = plan.device();
  const index_t n = static_cast<index_t>(plan.rows());
  const auto cg = PlanInternals::kernel(plan).make_cg_product(plan.matrix(), false);
  ASSERT_NE(cg, nullptr);
  const auto r = testing::random_vector<T>(n, 1);
  const auto p = testing::random_vector<T>(n, 2);
  const auto x = testing::random_vector<T>(n, 3);
  const auto m = testing::random_vector<T>(n, 4);
  auto gpu_r = Array<T>::copy_of(r, gpu);
  auto gpu_p = Array<T>::copy_of(p, gpu);
  auto gpu_next = Array<T>::copy_of(product.poison(), gpu);
  auto gpu_x = Array<T>::copy_of(x, gpu);
  auto gpu_kept = Array<T>::copy_of(product.poison(), gpu);
  const auto gpu_m = Array<T>::copy_of(m, gpu);
  const CgVectors<T> vectors{gpu_r.data(),
                             {gpu_next.data(), gpu_p.data()},
                             gpu_x.data(),
                             gpu_kept.data(),
                             with_diagonal ? gpu_m.data() : nullptr};
  const auto run = [&](const CgScalars& scalars, bool second) {
    const std::vector<CgScalars> scalars_here{scalars};
    const auto on_gpu = Array<CgScalars>::copy_of(scalars_here, gpu);
    const Array<std::int32_t> halted(1, Init::zero, gpu);
    const auto parts = second ? cg->enqueue_residual(vectors, on_gpu.data(), halted.data())
                              : cg->enqueue_direction(vectors, on_gpu.data(), halted.data());
    std::vector<CgSums> here(parts.size());
    copy_bytes(Device{}, here.data(), gpu, parts.data(), parts.size_bytes());
    CgSums total;
    for (const CgSums& part : here) total += part;
    return total;
  };
  const CgSums of_direction = run({.alpha = 0.5, .beta = -0.25, .current = 1, .x_is_behind = 1, .keep = 1}, false);
  const std::vector<T> next = product.download(std::as_const(gpu_next).span());
  const double epsilon = std::numeric_limits<T>::epsilon();
  const std::vector<T> new_x = product.download(std::as_const(gpu_x).span());
  ASSERT_TRUE(testing::same_bytes(constant(product.download(std::as_const(gpu_kept).span())), constant(new_x)));
  for (std::size_t i = 0; i < r.size(); ++i) {
    const long double z = with_diagonal ? static_cast<long double>(m[i]) * r[i] : static_cast<long double>(r[i]);
    ASSERT_NEAR(static_cast<double>(next[i]), static_cast<double>(z - 0.25L * p[i]), 4 * epsilon) << i;
    ASSERT_NEAR(static_cast<double>(new_x[i]), static_cast<double>(x[i] + 0.5L * p[i]), 4 * epsilon) << i;
  }
  // The direction as it was stored: A p' and the new residual follow from it.
  const std::vector<T> q = product.apply(next);
  long double pq = 0.0L;
  long double qq = 0.0L;
  long double pp = 0.0L;
  long double magnitude = 0.0L;
  for (std::size_t i = 0; i < q.size(); ++i) {
    pq += static_cast<long double>(next[i]) * q[i];
    magnitude += std::abs(static_cast<long double>(next[i]) * q[i]);
    qq += static_cast<long double>(q[i]) * q[i];
    pp += static_cast<long double>(next[i]) * next[i];
  }
  const double small = 1e-13;
  ASSERT_NEAR(of_direction.first, static_cast<double>(pq), small * static_cast<double>(magnitude));
  ASSERT_NEAR(of_direction.second, static_cast<double>(qq), small * static_cast<double>(qq));
  ASSERT_NEAR(of_direction.third, static_cast<double>(pp), small * static_cast<double>(pp));
  const CgSums of_residual = run({.alpha = 0.125, .current = 0}, true);
  const std::vector<T> residual = product.download(std::as_const(gpu_r).span());
  long double rr = 0.0L;
  long double rz = 0.0L;
  long double rz_magnitude = 0.0L;
  for (std::size_t i = 0; i < q.size(); ++i) {
    const long double expected = r[i] - 0.125L * q[i];
    ASSERT_NEAR(static_cast<double>(residual[i]), static_cast<double>(expected),
                4 * epsilon * (1.0 + std::abs(static_cast<double>(q[i]))))
        << i;
    const T z = with_diagonal ? m[i] * residual[i] : residual[i];
    rr += static_cast<long double>(residual[i]) * residual[i];
    rz += static_cast<long double>(residual[i]) * z;
    rz_magnitude += std::abs(static_cast<long double>(residual[i]) * z);
  }
  ASSERT_NEAR(of_residual.first, static_cast<double>(rr), small * static_cast<double>(rr));
  ASSERT_NEAR(of_residual.second, static_cast<double>(rz), small * static_cast<double>(rz_magnitude));
}

/// Square, with rows of every length up to the width at the end of the matrix.
TYPED_TEST(CudaTemplateCg, ProductsOfTwoKernelCg) {
  const testing::SmallGrain small;
  for (const index_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    RepeatingRows spec = mostly_uniform(2100 + width, width);
    spec.cols = spec.rows;
    SCOPED_TRACE("width " + std::to_string(width));
    const CudaProduct<TypeParam> product(with_repeating_rows<TypeParam>(spec, Repeating::columns_and_values),
                                         this->options());
    for (const bool with_diagonal : {false, true}) {
      check_cg_products(product, with_diagonal);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

/// Boundaries on sub-lists, of which the first and the last line are read by the table.
TYPED_TEST(CudaTemplateCg, ProductsOnGrids) {
  const testing::SmallGrain small;
  for (const auto& grid :
       {poisson2d<TypeParam>(45, 45), poisson2d<TypeParam>(130, 130), poisson3d<TypeParam>(13, 13, 13),
        poisson3d<TypeParam>(64, 64, 2), poisson3d<TypeParam>(64, 64, 3)}) {
    SCOPED_TRACE(fmt::format("{} rows", grid.rows()));
    const CudaProduct<TypeParam> product(grid, this->options());
    for (const bool with_diagonal : {false, true}) {
      check_cg_products(product, with_diagonal);
      ASSERT_FALSE(this->HasFatalFailure());
    }
  }
}

TYPED_TEST(CudaTemplateCg, TwoKernelCgIsOfferedWhereItPays) {
  const auto offers = [&](const RepeatingRows& spec, Repeating repeating) {
    const CudaProduct<TypeParam> product(with_repeating_rows<TypeParam>(spec, repeating), this->options());
    return PlanInternals::kernel(product.plan()).make_cg_product(product.plan().matrix(), false) != nullptr;
  };
  EXPECT_FALSE(offers(helix(2000, 40), Repeating::columns_and_values)) << "few rows";
  const testing::SmallGrain small;
  EXPECT_TRUE(offers(helix(2000, 40), Repeating::columns_and_values));
  EXPECT_FALSE(offers(helix(2000, 40), Repeating::columns));
  EXPECT_FALSE(offers(helix(2000, 40), Repeating::nothing));
  EXPECT_FALSE(offers(testing::five_points(45), Repeating::columns_and_values)) << "no uniform slices";
  const CudaProduct<TypeParam> grid(generate<TypeParam>(parse_generator("poisson2d:45")), this->options());
  EXPECT_NE(PlanInternals::kernel(grid.plan()).make_cg_product(grid.plan().matrix(), false), nullptr) << "sub-lists";
  RepeatingRows wide = testing::rows_of_width(2000, 10);
  wide.cols = wide.rows;
  EXPECT_FALSE(offers(wide, Repeating::columns_and_values));
  RepeatingRows exceptional = helix(2000, 40);
  exceptional.others = {70};
  EXPECT_FALSE(offers(exceptional, Repeating::columns_and_values));
}

/// Templates that no longer hold have no two products.
TYPED_TEST(CudaTemplateCg, TwoKernelCgEndsWithTheTemplates) {
  const testing::SmallGrain small;
  const auto matrix = with_repeating_rows<TypeParam>(helix(2000, 40), Repeating::columns_and_values);
  CudaProduct<TypeParam> product(matrix, this->options());
  const auto values = testing::random_vector<TypeParam>(matrix.nnz(), 9);
  product.update_values(values, false);
  EXPECT_EQ(PlanInternals::kernel(product.plan()).make_cg_product(product.plan().matrix(), false), nullptr);
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 3);
  EXPECT_TRUE(near(testing::product_oracle(product.matrix(), constant(x)), constant(product.apply(x))));
}

}  // namespace
}  // namespace tessera
