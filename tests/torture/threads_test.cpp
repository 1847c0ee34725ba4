/// Random systems give the same bits with 1, 2, 3 and 8 threads.
#include "tessera/tessera.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/torture/budget.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace tessera::testing {
namespace {

/// Large enough that loops are shared out, with rows from empty to long.
[[nodiscard]] Csr<double> random_matrix(std::uint64_t seed) {
  const auto n = static_cast<index_t>(9000 + seed % 7 * 1000);
  std::vector<index_t> lengths = power_law_lengths(static_cast<std::size_t>(n), 2000, seed);
  return with_row_lengths<double>(lengths, n, ValueStorage::weighted, seed);
}

[[nodiscard]] std::vector<std::uint64_t> bits(std::span<const double> values) {
  std::vector<std::uint64_t> result;
  for (const double value : values) result.push_back(std::bit_cast<std::uint64_t>(value));
  return result;
}

/// compute(device) with every number of threads.
template <class Compute>
void expect_same_bits(Compute&& compute) {
  const std::vector<std::uint64_t> reference = compute(Device::host(1));
  ASSERT_FALSE(reference.empty());
  for (const int threads : {2, 3, 8}) EXPECT_EQ(compute(Device::host(threads)), reference) << threads << " threads";
}

class TortureThreads : public ::testing::Test {
 protected:
  template <class Check>
  void for_seeds(Check&& check) {
    for (std::uint64_t seed = 0; seed < torture_cases(3) && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      check(seed);
    }
  }
};

TEST_F(TortureThreads, Products) {
  for_seeds([](std::uint64_t seed) {
    const auto a = std::make_shared<const Csr<double>>(random_matrix(seed));
    const auto x = random_vector<double>(a->cols(), seed);
    for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
      if (algorithm == SpmvAlgorithm::patterns) continue;  // refuses rows that do not repeat
      expect_same_bits([&](const Device& device) {
        SpmvOptions options;
        options.algorithm = algorithm;
        options.device = device;
        options.determinism = Determinism::gpu_to_gpu;
        std::vector<double> y(static_cast<std::size_t>(a->rows()));
        SpmvPlan<double>(a, options).apply(x, y);
        return bits(y);
      });
    }
  });
}

TEST_F(TortureThreads, Solves) {
  for_seeds([](std::uint64_t seed) {
    const auto a = std::make_shared<const Csr<double>>(poisson2d<double>(100 + static_cast<index_t>(seed), 100));
    const auto b = random_vector<double>(a->rows(), seed);
    expect_same_bits([&](const Device& device) {
      SpmvOptions options;
      options.device = device;
      const SpmvPlan<double> plan(a, options);
      const Amg<double> M(plan.matrix(), {}, device);
      std::vector<double> x(b.size());
      std::vector<std::uint64_t> all;
      for (const bool symmetric : {true, false}) {
        std::fill(x.begin(), x.end(), 0.0);
        EXPECT_TRUE((symmetric ? cg<double>(plan, M, b, x) : bicgstab<double>(plan, M, b, x)).converged());
        const auto part = bits(x);
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    });
  });
}

TEST_F(TortureThreads, SparseProducts) {
  for_seeds([](std::uint64_t seed) {
    const Csr<double> a = random_matrix(seed);
    expect_same_bits([&](const Device& device) {
      SpgemmOptions options;
      options.device = device;
      const auto product = spgemm(a, a, options);
      auto all = bits(product.matrix.values());
      for (const index_t column : product.matrix.columns()) all.push_back(static_cast<std::uint64_t>(column));
      return all;
    });
  });
}

TEST_F(TortureThreads, PageRank) {
  for_seeds([](std::uint64_t seed) {
    const auto lengths = power_law_lengths(12000, 2000, seed);
    const Csr<double> links = with_row_lengths<double>(lengths, 12000, ValueStorage::pattern, seed);
    expect_same_bits([&](const Device& device) {
      PageRankOptions options;
      options.spmv.device = device;
      const auto result = pagerank(TransitionMatrix<double>(links.view(), device), options);
      EXPECT_TRUE(result.converged());
      return bits(result.ranks.span());
    });
  });
}

}  // namespace
}  // namespace tessera::testing
