#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using testing::make_csr;
using testing::make_pattern;

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (const InvalidMatrix& error) {
    return error.what();
  }
  return "";
}

TEST(TransitionMatrix, PatternGraph) {
  // 0 -> 1, 2;  1 -> 2;  2 -> nothing;  3 -> 3, 0
  const TransitionMatrix<double> p(make_pattern<double>(4, 4, {0, 2, 3, 3, 5}, {1, 2, 2, 0, 3}).view());
  EXPECT_EQ(p.vertices(), 4);
  EXPECT_EQ(p.edges(), 5);
  EXPECT_TRUE(p.in_links()->is_pattern());
  EXPECT_EQ(std::vector<double>(p.inverse_out_weight().begin(), p.inverse_out_weight().end()),
            (std::vector<double>{0.5, 1.0, 0.0, 0.5}));
  EXPECT_EQ(std::vector<index_t>(p.out_degree().begin(), p.out_degree().end()), (std::vector<index_t>{2, 1, 0, 2}));
  EXPECT_EQ(std::vector<index_t>(p.dangling().begin(), p.dangling().end()), (std::vector<index_t>{2}));
  const auto& offsets = p.in_links()->row_offsets();
  EXPECT_EQ(std::vector<offset_t>(offsets.begin(), offsets.end()), (std::vector<offset_t>{0, 1, 2, 4, 5}));
  EXPECT_EQ(p.bytes(), p.in_links()->bytes() + 4 * 8 + 4 * 4 + 1 * 4);
}

TEST(TransitionMatrix, ColumnsOfTheStochasticMatrixSumToOne) {
  auto matrix = testing::with_row_lengths<double>(testing::power_law_lengths(500, 400, 9), 500, ValueStorage::weighted);
  auto values = Array<double>::copy_of(matrix.values().span());
  for (double& value : values) value = value * value;
  const Csr<double> graph(500, 500, matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                          std::move(values));
  const TransitionMatrix<double> p(graph.view());
  EXPECT_FALSE(p.in_links()->is_pattern());
  const testing::EigenSparse<double> expected = testing::to_eigen(graph.view()).transpose();
  EXPECT_EQ((testing::to_eigen(p.in_links()->view()) - expected).norm(), 0.0);
  const Eigen::RowVectorXd sums = Eigen::RowVectorXd::Ones(500) * testing::to_eigen(p.in_links()->view());
  for (index_t j = 0; j < 500; ++j) {
    const auto vertex = static_cast<std::size_t>(j);
    const double expected_sum = p.out_degree()[vertex] == 0 ? 0.0 : 1.0;
    EXPECT_NEAR(sums[j] * p.inverse_out_weight()[vertex], expected_sum, 1e-13);
  }
}

TEST(TransitionMatrix, ZeroWeightsAreNoLinks) {
  const TransitionMatrix<double> p(
      make_csr<double>(3, 3, {0, 2, 3, 5}, {0, 1, 2, 0, 2}, {0.0, 2.0, -0.0, 1.0, 3.0}).view());
  EXPECT_EQ(p.edges(), 3);
  EXPECT_EQ(std::vector<double>(p.inverse_out_weight().begin(), p.inverse_out_weight().end()),
            (std::vector<double>{0.5, 0.0, 0.25}));
  EXPECT_EQ(std::vector<index_t>(p.dangling().begin(), p.dangling().end()), (std::vector<index_t>{1}));
  const auto& columns = p.in_links()->columns();
  EXPECT_EQ(std::vector<index_t>(columns.begin(), columns.end()), (std::vector<index_t>{2, 0, 2}));
  const auto& values = p.in_links()->values();
  EXPECT_EQ(std::vector<double>(values.begin(), values.end()), (std::vector<double>{1.0, 2.0, 3.0}));
}

TEST(TransitionMatrix, EqualWeightsBecomeAPattern) {
  // The common weight, even one whose inverse overflows, cancels.
  const TransitionMatrix<double> p(
      make_csr<double>(3, 3, {0, 2, 3, 4}, {0, 1, 2, 0}, {1e-320, 1e-320, 0.0, 1e-320}).view());
  EXPECT_TRUE(p.in_links()->is_pattern());
  EXPECT_EQ(p.edges(), 3);
  EXPECT_EQ(std::vector<double>(p.inverse_out_weight().begin(), p.inverse_out_weight().end()),
            (std::vector<double>{0.5, 0.0, 1.0}));
}

TEST(TransitionMatrix, EmptyGraphs) {
  const TransitionMatrix<float> none((Csr<float>()).view());
  EXPECT_EQ(none.vertices(), 0);
  const TransitionMatrix<float> isolated(make_csr<float>(3, 3, {0, 0, 0, 0}, {}, {}).view());
  EXPECT_EQ(isolated.edges(), 0);
  EXPECT_EQ(isolated.dangling().size(), 3U);
}

/// Against the matrix of the graph that is permuted first. Weights are small integers, so sums are exact in any order.
TEST(TransitionMatrix, PermutedIsThatOfThePermutedGraph) {
  for (const ValueStorage storage : {ValueStorage::pattern, ValueStorage::weighted}) {
    auto matrix = testing::with_row_lengths<double>(testing::power_law_lengths(500, 400, 9), 500, storage);
    if (storage == ValueStorage::weighted) {
      Array<double> values(matrix.nnz(), Init::none);
      for (offset_t k = 0; k < matrix.nnz(); ++k) values[k] = static_cast<double>(k % 7);
      matrix = matrix.with_values(std::move(values));
    }
    const TransitionMatrix<double> natural(matrix.view());
    for (const Ordering kind : {Ordering::natural, Ordering::rcm, Ordering::degree}) {
      SCOPED_TRACE(to_string(kind));
      const std::vector<index_t> order = ordering(natural.in_links()->view(), kind);
      const TransitionMatrix<double> found = natural.permuted(order);
      const TransitionMatrix<double> expected(permuted(matrix.view(), std::span<const index_t>(order)).view());
      testing::expect_identical(found.in_links()->view(), expected.in_links()->view());
      EXPECT_TRUE(std::ranges::equal(found.inverse_out_weight(), expected.inverse_out_weight()));
      EXPECT_TRUE(std::ranges::equal(found.out_degree(), expected.out_degree()));
      EXPECT_TRUE(std::ranges::equal(found.dangling(), expected.dangling()));
      EXPECT_FALSE(found.dangling().empty());
      EXPECT_EQ(found.bytes(), expected.bytes());
    }
  }
}

/// `degree` of the in-links puts vertices with many out-links first: 5 has three, 0 none, all the others one.
TEST(TransitionMatrix, DegreeOrderingCountsOutLinks) {
  const TransitionMatrix<double> natural(
      make_pattern<double>(6, 6, {0, 0, 1, 2, 3, 4, 7}, {0, 0, 0, 0, 0, 1, 2}).view());
  const std::vector<index_t> order = ordering(natural.in_links()->view(), Ordering::degree);
  EXPECT_EQ(order, (std::vector<index_t>{5, 1, 2, 3, 4, 0}));
  const TransitionMatrix<double> found = natural.permuted(order);
  EXPECT_EQ(std::vector<index_t>(found.out_degree().begin(), found.out_degree().end()),
            (std::vector<index_t>{3, 1, 1, 1, 1, 0}));
  EXPECT_EQ(std::vector<index_t>(found.dangling().begin(), found.dangling().end()), (std::vector<index_t>{5}));
}

TEST(TransitionMatrix, PermutedRefusesWhatIsNoPermutation) {
  const TransitionMatrix<float> p(make_pattern<float>(3, 3, {0, 1, 1, 2}, {1, 0}).view());
  EXPECT_THROW(static_cast<void>(p.permuted(std::vector<index_t>{0, 1})), DimensionError);
  EXPECT_THROW(static_cast<void>(p.permuted(std::vector<index_t>{0, 1, 1})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(p.permuted(std::vector<index_t>{0, 3, 1})), InvalidArgument);
  const TransitionMatrix<float> empty(make_pattern<float>(0, 0, {0}, {}).view());
  EXPECT_EQ(empty.permuted({}).vertices(), 0);
}

TEST(TransitionMatrix, RefusesWeightsByRowAndColumn) {
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::denorm_min()}) {
    const auto graph = make_csr<double>(3, 3, {0, 1, 1, 3}, {0, 1, 2}, {1.0, 2.0, bad});
    const std::string message = message_of([&] { (void)TransitionMatrix<double>(graph.view()); });
    EXPECT_NE(message.find("row 3, column 3"), std::string::npos) << message;
  }
}

TEST(TransitionMatrix, RefusesOutWeightsWithoutInverse) {
  const auto tiny = make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {1.0, 1e-310});
  EXPECT_NE(message_of([&] { (void)TransitionMatrix<double>(tiny.view()); }).find("vertex 2"), std::string::npos);
  const auto huge = make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 0}, {1.7e308, 1.7e308, 1.0});
  EXPECT_NE(message_of([&] { (void)TransitionMatrix<double>(huge.view()); }).find("vertex 1"), std::string::npos);
  const auto huge_float = make_csr<float>(2, 2, {0, 2, 3}, {0, 1, 0}, {3e38F, 3e38F, 1.0F});
  EXPECT_NE(message_of([&] { (void)TransitionMatrix<float>(huge_float.view()); }).find("vertex 1"), std::string::npos);
  // Its inverse is a normal float, but not times a rank of the order of 1 / vertices.
  const auto large_float = [](float weight) {
    return make_csr<float>(2, 2, {0, 2, 3}, {0, 1, 0}, {weight, 1.0F, 1.0F});
  };
  EXPECT_THROW(TransitionMatrix<float>(large_float(1e37F).view()), InvalidMatrix);
  EXPECT_NO_THROW(TransitionMatrix<float>(large_float(1e35F).view()));
}

TEST(TransitionMatrix, RefusesRectangles) {
  EXPECT_THROW((void)TransitionMatrix<double>(make_pattern<double>(1, 2, {0, 1}, {1}).view()), InvalidMatrix);
}

TEST(TransitionMatrix, OutWeightsOfFloatsAreSummedInDouble) {
  // 2^24 + 1 + 1 + ...: in single precision the ones would vanish.
  std::vector<index_t> columns(1001);
  std::vector<float> values(1001, 1.0F);
  for (std::size_t j = 0; j < columns.size(); ++j) columns[j] = static_cast<index_t>(j);
  values[0] = 16777216.0F;
  std::vector<offset_t> offsets(1002, 1001);
  offsets[0] = 0;
  const TransitionMatrix<float> p(make_csr<float>(1001, 1001, offsets, columns, values).view());
  EXPECT_EQ(p.inverse_out_weight()[0], static_cast<float>(1.0 / 16778216.0));
}

}  // namespace
}  // namespace tessera
