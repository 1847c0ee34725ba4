// A A and A Aᵀ of every real matrix on a GPU, against the host, which is tested against Eigen and an oracle.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/matrices_dir.hpp"

#include <cstdio>

namespace tessera {
namespace {

class SpgemmRealMatricesOnGpu : public testing::CudaTest {};

/// Larger products would take the host too long.
offset_t most_products() { return testing::gpu_is_emulated ? 60'000 : 600'000'000; }

/// Larger ones sync every workflow, and beyond ten times as many the automatic choice alone.
constexpr offset_t most_products_all_ways = 2'000'000;

void check(const Device& gpu, const std::string& name, const Csr<double>& a, const Csr<double>& b) {
  SCOPED_TRACE(name);
  const offset_t products = testing::count_products(a.view(), b.view());
  if (products > most_products()) {
    std::printf("  %s: %lld products, left out\n", name.c_str(), static_cast<long long>(products));
    return;
  }
  const SpgemmResult<double> expected = spgemm(a, b);
  const auto compare = [&](SpgemmWorkflow workflow, SpgemmAccumulator accumulator) {
    const auto options = testing::gpu_options(gpu, workflow, accumulator);
    SCOPED_TRACE(testing::gpu_name_of(options));
    testing::expect_identical(expected.matrix.view(), testing::product_on_gpu(a, b, options, expected.report).view());
  };
  compare(SpgemmWorkflow::automatic, SpgemmAccumulator::automatic);
  if (products > 10 * most_products_all_ways || testing::gpu_is_emulated) return;
  for (const SpgemmWorkflow workflow : spgemm_workflows()) {
    if (products > most_products_all_ways) {
      compare(workflow, SpgemmAccumulator::automatic);
      continue;
    }
    for (const auto accumulator : testing::with_automatic(spgemm_accumulators(Device::Kind::cuda))) {
      compare(workflow, accumulator);
    }
  }
  auto any_order = testing::gpu_options(gpu, SpgemmWorkflow::symbolic, SpgemmAccumulator::bitmap_tiled);
  any_order.determinism = Determinism::not_guaranteed;
  ASSERT_TRUE(testing::is_product(a.view(), b.view(), spgemm(a, b, any_order).matrix.to(Device{}).view()));
}

TEST_F(SpgemmRealMatricesOnGpu, SquaresAndProductsWithTheTranspose) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& file : testing::real_matrix_files()) {
    const Csr<double> a = read_matrix_market<double>(file).matrix;
    const std::string name = testing::matrix_name(file);
    if (a.rows() == a.cols()) check(gpu(), name + " squared", a, a);
    check(gpu(), name + " times its transpose", a, transpose(a.view()));
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace tessera
