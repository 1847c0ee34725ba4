// Predictions of a GPU against those of the host, which tests hold against what is formed.
#include "spgemm/common/prediction.hpp"
#include "tessera/generators.hpp"
#include "tessera/spgemm_prediction.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/product_cuda_check.hpp"
#include "tests/support/make_csr.hpp"

#include <array>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

class PredictionOnGpu : public testing::CudaTest {};

/// Relative difference that estimates may have: both sum the same integers, of estimates rounded to 2^-20.
constexpr double rounding = 1e-5;

void expect_near(double expected, double found) { EXPECT_NEAR(found, expected, rounding * std::fabs(expected)); }

template <class T>
void expect_sample(const Csr<T>& a, const Csr<T>& b, const Device& gpu) {
  const auto on_host = host::sample_product(a.view(), b.view(), Device{});
  const Csr<T> left = a.to(gpu);
  const Csr<T> right = b.to(gpu);
  const auto on_gpu = cuda::sample_product(left.view(), right.view(), gpu);
  EXPECT_EQ(on_host.exact_entries, on_gpu.exact_entries);
  for (std::size_t s = 0; s < on_host.totals.size(); ++s) {
    EXPECT_EQ(on_host.totals[s].rows, on_gpu.totals[s].rows) << s;
    EXPECT_EQ(on_host.totals[s].products, on_gpu.totals[s].products) << s;
    EXPECT_EQ(on_host.sums[s].rows, on_gpu.sums[s].rows) << s;
    EXPECT_EQ(on_host.sums[s].products, on_gpu.sums[s].products) << s;
    expect_near(static_cast<double>(on_host.sums[s].entries), static_cast<double>(on_gpu.sums[s].entries));
    for (int g = 0; g < detail::sample_groups; ++g) {
      expect_near(static_cast<double>(on_host.sums[s].groups[g]), static_cast<double>(on_gpu.sums[s].groups[g]));
    }
  }
  const ProductPrediction host_prediction = predict(a, b);
  const ProductPrediction gpu_prediction = predict(a, b, gpu);
  EXPECT_EQ(host_prediction.products.value, gpu_prediction.products.value);
  expect_near(host_prediction.nnz.value, gpu_prediction.nnz.value);
}

TEST_F(PredictionOnGpu, SamplesAreThoseOfTheHost) {
  for (const char* recipe : {"poisson2d:30", "rmat:256", "band:300"}) {
    SCOPED_TRACE(recipe);
    const auto a = generate<double>(parse_generator(recipe));
    expect_sample(a, a, gpu());
  }
  const auto tall = testing::with_row_lengths<float>(std::vector<index_t>(700, 2), 50, ValueStorage::pattern, 3);
  expect_sample(tall, transpose(tall.view()), gpu());
  expect_sample(testing::make_csr<double>(0, 0, {0}, {}, {}), testing::make_csr<double>(0, 0, {0}, {}, {}), gpu());
  expect_sample(testing::make_csr<double>(1, 1, {0, 1}, {0}, {2.0}),
                testing::make_csr<double>(1, 1, {0, 1}, {0}, {2.0}), gpu());
}

TEST_F(PredictionOnGpu, BlocksShareLongRows) {
  // A row of A that a block reads, with 38 500 products, which two blocks put into one sketch.
  std::vector<index_t> lengths(300, 2);
  lengths[7] = 1100;
  const auto a = testing::with_row_lengths<double>(lengths, 1100, ValueStorage::weighted, 8);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(1100, 35), 3000, ValueStorage::weighted, 9);
  expect_sample(a, b, gpu());
}

TEST_F(PredictionOnGpu, ChainsAreThoseOfTheHost) {
  const auto a = generate<double>(parse_generator("rmat:128"));
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(a.rows()), 2), 30,
                                                   ValueStorage::weighted, 3);
  const Csr<double> r = transpose(b.view());
  const std::array<const Csr<double>*, 4> chain{&r, &a, &a, &b};
  const ChainPrediction expected = predict_chain<double>(chain, Device{}, ChainOrder::right_to_left);
  const ChainPrediction found = predict_chain<double>(chain, gpu(), ChainOrder::right_to_left);
  ASSERT_EQ(expected.products.size(), found.products.size());
  for (std::size_t k = 0; k < found.products.size(); ++k) {
    expect_near(expected.products[k].nnz.value, found.products[k].nnz.value);
    expect_near(expected.products[k].products.value, found.products[k].products.value);
  }
  SpgemmOptions options;
  options.device = gpu();
  options.determinism = Determinism::gpu_to_gpu;
  const ChainResult<double> formed = spgemm_chain<double>(chain, options);
  EXPECT_EQ(formed.matrix.device(), gpu());
  EXPECT_EQ(formed.products.size(), 3U);
  const MatrixPower<double> power = matrix_power(a, 4, options);
  ASSERT_TRUE(power.products.back().predicted_nnz.has_value()) << power.reason;
  expect_near(predict_power(a, 4).products.back().nnz.value, *power.products.back().predicted_nnz);
  EXPECT_EQ(matrix_power(a, 4).order, power.order);
}

}  // namespace
}  // namespace tessera
