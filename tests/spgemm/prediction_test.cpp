// Predicted products, chains and powers against what is formed; orders of association against textbooks and exhaustion.
#include "tessera/spgemm_prediction.hpp"

#include "core/memory_budget.hpp"
#include "spgemm/common/association.hpp"
#include "spgemm/common/sketches.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tessera {
namespace {

using detail::ChainStep;
using detail::PowerProduct;

/// Mean of estimate / size - 1 over random sets.
template <int M>
double bias_of_estimate(index_t size, int sets) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(size));
  double sum = 0.0;
  for (int k = 0; k < sets; ++k) {
    const auto start = static_cast<index_t>(generator() % 1000000000);
    std::array<std::uint8_t, std::size_t{M}> registers{};
    for (index_t j = 0; j < size; ++j) detail::sketch_insert<M>(registers.data(), start + j);
    detail::SketchSums sums;
    for (const std::uint8_t rank : registers) sums.add(rank);
    sum += detail::corrected_estimate<M>(sums) / size - 1.0;
  }
  return sum / sets;
}

TEST(CorrectedEstimate, IsUnbiasedAtAllSizes) {
  // The plain estimate is 3 to 5 % too large around 2.5 M.
  const int sets = 1500;
  const double error_64 = 1.04 / std::sqrt(64.0 * sets);
  for (const index_t size : {1, 3, 10, 40, 100, 160, 200, 300, 1000, 5000}) {
    EXPECT_LE(std::fabs(bias_of_estimate<64>(size, sets)), 4.0 * error_64) << size;
  }
  for (const index_t size : {1000, 2500, 4000}) {
    EXPECT_LE(std::fabs(bias_of_estimate<1024>(size, 200)), 4.0 * 1.04 / std::sqrt(1024.0 * 200)) << size;
  }
  EXPECT_EQ(detail::corrected_estimate<64>({std::uint64_t{64} << 32, 64}), 0.0);
}

TEST(Association, TheExampleOfCormenAndOthers) {
  // Introduction to Algorithms, 15.2: six dense matrices, 15125 multiplications.
  const std::array<double, 7> sizes{30, 35, 15, 5, 10, 20, 25};
  const auto cost = [&](const ChainStep& step) {
    return sizes[static_cast<std::size_t>(step.first)] * sizes[static_cast<std::size_t>(step.split + 1)] *
           sizes[static_cast<std::size_t>(step.last + 1)];
  };
  const detail::ChainPlan plan = detail::best_chain(6, cost);
  EXPECT_EQ(plan.cost, 15125.0);
  const std::vector<std::string> names{"A", "B", "C", "D", "E", "F"};
  EXPECT_EQ(detail::chain_text(0, 5, names, detail::splits_of(plan.steps)), "(A (B C)) ((D E) F)");
}

TEST(Association, BestChainIsTheBestOfAll) {
  std::mt19937_64 generator(5);
  for (int round = 0; round < 20; ++round) {
    constexpr int n = 6;
    std::array<double, n * n * n> costs{};
    for (double& cost : costs) cost = static_cast<double>(generator() % 1000);
    const auto cost = [&](const ChainStep& step) {
      return costs[static_cast<std::size_t>((step.first * n + step.split) * n + step.last)];
    };
    const std::function<double(int, int)> least = [&](int first, int last) {
      double best = first == last ? 0.0 : 1e300;
      for (int split = first; split < last; ++split) {
        best = std::min(best, least(first, split) + least(split + 1, last) + cost({first, split, last}));
      }
      return best;
    };
    EXPECT_EQ(detail::best_chain(n, cost).cost, least(0, n - 1));
  }
}

TEST(Association, ShortestAdditionChains) {
  // Knuth, 4.6.3, lengths of shortest addition chains for 2 ... 8.
  const std::array<std::size_t, 7> lengths{1, 2, 2, 3, 3, 4, 3};
  for (int k = 2; k <= 8; ++k) {
    const auto unit = [](const PowerProduct& /*step*/) { return 1.0; };
    EXPECT_EQ(detail::best_powering(k, unit).steps.size(), lengths[static_cast<std::size_t>(k - 2)]) << k;
    EXPECT_EQ(detail::binary_powering(k, unit).steps.back().exponent(), k);
  }
  // A product costs its exponent squared: one by one would be 4 + 9 + 16.
  const auto steep = [](const PowerProduct& step) {
    return static_cast<double>(step.left == 1 ? 100 : step.exponent());
  };
  EXPECT_EQ(detail::powering_text(detail::best_powering(4, steep).steps), "A A, A^2 A^2");
  EXPECT_EQ(detail::powering_text(detail::one_by_one(4, steep).steps), "A A, A^2 A, A^3 A");
}

template <class T>
void expect_prediction(const Csr<T>& a, const Csr<T>& b, double worst) {
  const SpgemmReport formed = spgemm(a, b).report;
  const ProductPrediction predicted = predict(a, b);
  EXPECT_EQ(predicted.products.value, static_cast<double>(formed.products));
  EXPECT_EQ(predicted.products.error, 0.0);
  const double off = predicted.nnz.value - static_cast<double>(formed.nnz);
  EXPECT_LE(std::fabs(off), worst * static_cast<double>(formed.nnz)) << predicted.nnz.error;
  // Five standard errors, and rounding where nothing is estimated.
  EXPECT_LE(std::fabs(off), 5.0 * predicted.nnz.error * predicted.nnz.value + 1e-6) << predicted.nnz.error;
  EXPECT_EQ(predicted.bytes, detail::csr_bytes(a.rows(), std::llround(predicted.nnz.value), sizeof(T)));
}

TEST(Predict, GeneratedFamilies) {
  for (const char* recipe : {"poisson2d:40", "poisson3d:14", "elasticity3d:5", "rmat:1024", "band:2000", "web:4000"}) {
    SCOPED_TRACE(recipe);
    const auto a = generate<double>(parse_generator(recipe));
    expect_prediction(a, a, 0.08);
    const Csr<double> t = transpose(a.view());
    expect_prediction(a, t, 0.08);
  }
  const auto tall = testing::with_row_lengths<float>(std::vector<index_t>(3000, 4), 90, ValueStorage::pattern, 3);
  expect_prediction(tall, transpose(tall.view()), 0.08);
  expect_prediction(transpose(tall.view()), tall, 0.08);
}

TEST(Predict, WhatIsNotEstimatedIsExact) {
  const auto a = generate<double>(parse_generator("rmat:512"));
  const Csr<double> one = matrix_power(a, 0).matrix;
  // Rows of one entry, of A or of B: as many entries as products.
  EXPECT_EQ(predict(one, a).nnz.value, static_cast<double>(a.nnz()));
  EXPECT_EQ(predict(one, a).nnz.error, 0.0);
  const auto empty = testing::make_csr<double>(3, 0, {0, 0, 0, 0}, {}, {});
  EXPECT_EQ(predict(empty, testing::make_csr<double>(0, 5, {0}, {}, {})).nnz.value, 0.0);
  const auto none = testing::make_csr<double>(0, 0, {0}, {}, {});
  EXPECT_EQ(predict(none, none).nnz.value, 0.0);
  const auto single = testing::make_csr<float>(1, 1, {0, 1}, {0}, {2.0F});
  EXPECT_EQ(predict(single, single).nnz.value, 1.0);
  EXPECT_EQ(predict(single, single).nnz.error, 0.0);
}

TEST(Predict, AHubAmongShortRows) {
  // One row has nearly all products; the sample has to have it.
  std::vector<index_t> lengths(5000, 2);
  lengths[1234] = 4500;
  const auto a = testing::with_row_lengths<double>(lengths, 5000, ValueStorage::weighted, 8);
  expect_prediction(a, a, 0.08);
}

TEST(Predict, SameForEveryNumberOfThreads) {
  const testing::SmallGrain grain;
  const auto a = generate<double>(parse_generator("rmat:4096"));
  const ProductPrediction one = predict(a, a, Device::host(1));
  const ProductPrediction three = predict(a, a, Device::host(3));
  EXPECT_EQ(one.nnz.value, three.nnz.value);
  EXPECT_EQ(one.nnz.error, three.nnz.error);
  EXPECT_EQ(predict_power(a, 3, Device::host(1)).products.back().nnz.value,
            predict_power(a, 3, Device::host(3)).products.back().nnz.value);
}

TEST(Predict, RealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"bcsstk16", "crystm01", "memplus", "cit-HepPh", "email-Enron", "cage8", "wing"}) {
    SCOPED_TRACE(name);
    const auto a = read_matrix_market<double>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz")).matrix;
    expect_prediction(a, a, 0.08);
  }
}

TEST(Predict, Refuses) {
  const auto a = testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 2}, {1.0, 1.0});
  EXPECT_THROW(static_cast<void>(predict(a, a)), DimensionError);
  const std::array<const Csr<double>*, 1> one{&a};
  EXPECT_EQ(testing::message_of<InvalidArgument>([&] { static_cast<void>(predict_chain<double>(one)); }),
            "a chain has 2 to 16 factors, got 1");
  const std::array<const Csr<double>*, 3> null{&a, nullptr, &a};
  EXPECT_EQ(testing::message_of<InvalidArgument>([&] { static_cast<void>(predict_chain<double>(null)); }),
            "factor 2 of the chain is a null pointer");
  const auto square = testing::make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {1.0, 1.0});
  EXPECT_THROW(static_cast<void>(predict_power(square, 1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(predict_power(square, 9)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(predict_power(a, 2)), DimensionError);
}

/// Predicted sizes of all products of a chain against those that are formed in the same order.
template <class T>
void expect_chain(const ChainPrediction& predicted, const std::vector<SpgemmReport>& formed, double worst) {
  ASSERT_EQ(predicted.products.size(), formed.size());
  for (std::size_t k = 0; k < formed.size(); ++k) {
    const auto nnz = static_cast<double>(formed[k].nnz);
    const auto products = static_cast<double>(formed[k].products);
    EXPECT_LE(std::fabs(predicted.products[k].nnz.value - nnz), worst * nnz) << predicted.products[k].name;
    EXPECT_LE(std::fabs(predicted.products[k].products.value - products), worst * products)
        << predicted.products[k].name;
  }
}

TEST(PredictChain, SizesOfEveryProduct) {
  const auto a = generate<double>(parse_generator("rmat:1024"));
  const auto b = generate<double>(parse_generator("poisson2d:32"));
  const Csr<double> c = transpose(a.view());
  const std::array<const Csr<double>*, 4> factors{&a, &b, &c, &b};
  const std::span<const Csr<double>* const> chain(factors);
  for (const ChainOrder order : {ChainOrder::automatic, ChainOrder::left_to_right, ChainOrder::right_to_left}) {
    const ChainPrediction predicted = predict_chain(chain, Device{}, order);
    const ChainResult<double> formed = spgemm_chain(chain, {}, order);
    EXPECT_EQ(predicted.order, formed.order);
    expect_chain<double>(predicted, formed.products, 0.3);
    EXPECT_EQ(formed.products.back().predicted_nnz.has_value(), order == ChainOrder::automatic);
  }
}

TEST(PredictChain, APairHasExactProducts) {
  const auto a = generate<double>(parse_generator("rmat:256"));
  const std::array<const Csr<double>*, 2> pair{&a, &a};
  const ChainPrediction predicted = predict_chain<double>(pair);
  EXPECT_EQ(predicted.products.front().products.value, static_cast<double>(spgemm(a, a).report.products));
  EXPECT_EQ(predicted.order, "A B");
}

TEST(SpgemmChain, TakesTheCheapOrder) {
  // A narrow last factor: from the right, every product is narrow. A narrow first one: from the left.
  const auto a = generate<double>(parse_generator("rmat:2048"));
  const auto narrow = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(a.rows()), 1), 2,
                                                        ValueStorage::weighted, 4);
  const ChainResult<double> right = spgemm_chain(a, a, narrow);
  EXPECT_EQ(right.order, "A (B C)");
  EXPECT_NE(right.reason.find("(A B) C"), std::string::npos) << right.reason;
  testing::expect_identical(spgemm(a, spgemm(a, narrow).matrix).matrix.view(), right.matrix.view());
  const Csr<double> flat = transpose(narrow.view());
  const ChainResult<double> left = spgemm_chain(flat, a, a, a);
  EXPECT_EQ(left.order, "((A B) C) D");
  testing::expect_identical(spgemm(spgemm(spgemm(flat, a).matrix, a).matrix, a).matrix.view(), left.matrix.view());
}

TEST(SpgemmChain, CountsWhatIsHeld) {
  const auto a = generate<double>(parse_generator("poisson2d:30"));
  const std::array<const Csr<double>*, 3> chain{&a, &a, &a};
  SpgemmOptions options;
  options.workflow = SpgemmWorkflow::symbolic;
  const SpgemmResult<double> square = spgemm(a, a, options);
  const SpgemmResult<double> cube = spgemm(a, square.matrix, options);
  // Enough for either product, but not for the second beside the first.
  options.memory_limit_bytes = cube.report.peak_bytes + square.matrix.bytes() / 2;
  EXPECT_EQ(spgemm(a, square.matrix, options).matrix.nnz(), cube.matrix.nnz());
  EXPECT_THROW(static_cast<void>(spgemm_chain<double>(chain, options)), OutOfMemory);
  const auto b = testing::make_csr<double>(2, 3, {0, 1, 2}, {0, 2}, {1.0, 1.0});
  EXPECT_EQ(testing::message_of<DimensionError>([&] { static_cast<void>(spgemm_chain(a, a, b)); }),
            "B is 900 x 900 and C is 2 x 3: the columns of B must be as many as the rows of C");
}

TEST(MatrixPower, ChoosesAnAdditionChain) {
  for (const char* recipe : {"poisson2d:30", "rmat:256"}) {
    SCOPED_TRACE(recipe);
    const auto a = generate<double>(parse_generator(recipe));
    for (const int k : {3, 4, 5}) {
      const MatrixPower<double> power = matrix_power(a, k);
      const ChainPrediction predicted = predict_power(a, k);
      EXPECT_EQ(predicted.order, power.order);
      expect_chain<double>(predicted, power.products, 0.3);
      const MatrixPower<double> other = matrix_power(a, k, {}, PowerOrder::one_by_one);
      EXPECT_EQ(other.products.size(), static_cast<std::size_t>(k - 1));
      EXPECT_EQ(other.matrix.nnz(), power.matrix.nnz());
      for (std::size_t s = 0; s < power.products.size(); ++s) {
        const auto nnz = power.products[s].predicted_nnz;
        // The square from a sample, or all powers from sketches of A.
        const double off = nnz ? *nnz / static_cast<double>(power.products[s].nnz) - 1.0 : 0.0;
        EXPECT_LE(std::fabs(off), 0.3) << s;
      }
      EXPECT_EQ(power.products.front().predicted_nnz.has_value(), k > 3);
      EXPECT_EQ(power.matrix.nnz(), matrix_power(a, k, {}, PowerOrder::binary).matrix.nnz());
    }
  }
  EXPECT_EQ(matrix_power(generate<double>(parse_generator("poisson2d:4")), 9).order, "A A, A^2 A^2, A^4 A^4, A^8 A");
}

TEST(MatrixPower, OfAMatrixThatFillsUpIsPredictedAsAWhole) {
  // A^2 is dense: from then on every product with A costs less than a square.
  const auto a = testing::with_row_lengths<double>(std::vector<index_t>(400, 25), 400, ValueStorage::weighted, 12);
  const MatrixPower<double> power = matrix_power(a, 4);
  EXPECT_EQ(power.order, "A A, A^2 A, A^3 A") << power.reason;
  EXPECT_TRUE(power.products.back().predicted_nnz.has_value());
  testing::expect_identical(matrix_power(a, 4, {}, PowerOrder::one_by_one).matrix.view(), power.matrix.view());
}

TEST(SpgemmChain, OfPairsThatAreAlikeBeginsWithShortRows) {
  // R A and A P have the same work, but A P has the shorter rows.
  const auto a = generate<double>(parse_generator("poisson2d:60"));
  std::vector<index_t> lengths(static_cast<std::size_t>(a.rows()), 2);
  const auto p = testing::with_row_lengths<double>(lengths, 300, ValueStorage::weighted, 3);
  const Csr<double> r = transpose(p.view());
  const ChainResult<double> chain = spgemm_chain(r, a, p);
  EXPECT_EQ(chain.order, "A (B C)");
  EXPECT_NE(chain.reason.find("rows of B C are shorter"), std::string::npos) << chain.reason;
  EXPECT_TRUE(chain.products.front().predicted_nnz.has_value());
  EXPECT_FALSE(chain.products.back().predicted_nnz.has_value());
  EXPECT_EQ(predict_chain<double>(std::array{&r, &a, &p}).order, chain.order);
  EXPECT_EQ(spgemm_chain(transpose(p.view()), a, p).order, "A (B C)");
}

TEST(Galerkin, OrderFollowsThePrediction) {
  // R with few rows: R A is small, A P is not.
  const auto a = generate<double>(parse_generator("rmat:8192"));
  std::vector<index_t> lengths(static_cast<std::size_t>(a.rows()), 2);
  const auto p = testing::with_row_lengths<double>(lengths, 4000, ValueStorage::weighted, 3);
  const auto r = testing::with_row_lengths<double>({3, 2}, a.rows(), ValueStorage::weighted, 5);
  const GalerkinResult<double> result = galerkin(r, a, p);
  EXPECT_EQ(result.order, GalerkinOrder::r_a_first) << result.reason;
  testing::expect_identical(spgemm(spgemm(r, a).matrix, p).matrix.view(), result.matrix.view());
  GalerkinOptions options;
  options.order = GalerkinOrder::a_p_first;
  const GalerkinResult<double> forced = galerkin(r, a, p, options);
  EXPECT_EQ(forced.order, GalerkinOrder::a_p_first);
  EXPECT_FALSE(forced.first.predicted_nnz.has_value());
  ASSERT_TRUE(result.first.predicted_nnz.has_value());
  EXPECT_LE(std::fabs(*result.first.predicted_nnz - static_cast<double>(result.first.nnz)),
            0.3 * static_cast<double>(result.first.nnz));
  options.keep_a_p = true;
  options.order = GalerkinOrder::r_a_first;
  EXPECT_THROW(static_cast<void>(galerkin(r, a, p, options)), InvalidArgument);
}

}  // namespace
}  // namespace tessera
