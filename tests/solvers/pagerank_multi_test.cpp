/// PageRank from several teleport distributions at once equals PageRank from each of them.
#include "tessera/error.hpp"
#include "tessera/pagerank.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using Sources = std::vector<std::span<const double>>;

TransitionMatrix<double> some_graph() {
  const auto graph = with_row_lengths<double>(power_law_lengths(150, 90, 5), 150, ValueStorage::pattern, 7);
  return TransitionMatrix<double>(graph.view());
}

/// All of the weight on one vertex.
std::vector<double> from_vertex(std::size_t vertex) {
  std::vector<double> weights(150);
  weights[vertex] = 1.0;
  return weights;
}

template <class T>
void expect_equal(const PageRankResult<T>& found, const PageRankResult<T>& expected) {
  EXPECT_EQ(found.status, expected.status);
  EXPECT_EQ(found.iterations, expected.iterations);
  EXPECT_EQ(found.change, expected.change);
  EXPECT_EQ(found.sum, expected.sum);
  EXPECT_EQ(std::vector<T>(found.ranks.begin(), found.ranks.end()),
            std::vector<T>(expected.ranks.begin(), expected.ranks.end()));
}

TEST(PageRankMulti, EveryResultIsThatOfItsVectorAlone) {
  const TransitionMatrix<double> transition = some_graph();
  const std::vector<double> first = from_vertex(3);
  const std::vector<double> second = from_vertex(140);
  const Sources sources{first, {}, second, first};
  const auto results = pagerank_multi<double>(transition, sources, {.tolerance = 1e-10});
  ASSERT_EQ(results.size(), 4U);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    expect_equal(results[k], pagerank(transition, {.tolerance = 1e-10, .personalization = sources[k]}));
  }
  EXPECT_NE(results[0].ranks[3], results[1].ranks[3]);
}

TEST(PageRankMulti, VectorsEndForReasonsOfTheirOwn) {
  // Two vertices that link to each other and a third by itself: from there the first iteration changes nothing.
  const Csr<double> graph = from_dense<double>({{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}, 3);
  const TransitionMatrix<double> transition(graph.view());
  const std::vector<double> pair{1, 0, 0};
  const std::vector<double> single{0, 0, 1};
  const Sources sources{pair, single};
  const auto results = pagerank_multi<double>(transition, sources, {.tolerance = 1e-12, .max_iterations = 5});
  EXPECT_EQ(results[0].status, Status::max_iterations);
  EXPECT_EQ(results[0].iterations, 5);
  EXPECT_EQ(results[1].status, Status::converged);
  EXPECT_EQ(results[1].iterations, 1);
}

TEST(PageRankMulti, NoVectorsNoResults) {
  EXPECT_TRUE(pagerank_multi<double>(some_graph(), {}).empty());
  const std::vector<std::span<const double>> one{{}};
  EXPECT_TRUE(pagerank_multi<double>(TransitionMatrix<double>(Csr<double>{}.view()), one)[0].converged());
}

TEST(PageRankMulti, ATimeLimitIsForAllTogether) {
  const Sources sources{{}, {}};
  const auto results = pagerank_multi<double>(some_graph(), sources, {.tolerance = 0.0, .time_limit_seconds = 0.0});
  for (const auto& result : results) {
    EXPECT_EQ(result.status, Status::time_limit);
    EXPECT_EQ(result.iterations, 1);
  }
}

TEST(PageRankMulti, AnObserverStopsTheVectorThatItIsCalledFor) {
  const std::vector<double> weights = from_vertex(1);
  const Sources sources{weights, {}, weights};
  int starts = 0;
  const Observer observer = [&starts](const IterationInfo& info) {
    starts += info.iteration == 0 ? 1 : 0;
    return starts == 2 && info.iteration == 4 ? Control::stop : Control::proceed;
  };
  const auto results = pagerank_multi<double>(some_graph(), sources, {.observer = observer});
  EXPECT_EQ(starts, 3);
  EXPECT_EQ(results[0].status, Status::converged);
  EXPECT_EQ(results[1].status, Status::interrupted);
  EXPECT_EQ(results[1].iterations, 4);
  EXPECT_EQ(results[2].status, Status::converged);
}

TEST(PageRankMulti, RefusesWhatBelongsToOneVector) {
  const TransitionMatrix<double> transition = some_graph();
  const std::vector<double> weights = from_vertex(1);
  const std::vector<double> too_few{1, 2};
  const Sources one{weights};
  const Sources short_one{weights, too_few};
  EXPECT_THROW((void)pagerank_multi<double>(transition, one, {.personalization = weights}), InvalidArgument);
  EXPECT_THROW((void)pagerank_multi<double>(transition, short_one), DimensionError);
  EXPECT_THROW((void)pagerank_multi<double>(transition, one, {.damping = 1.0}), InvalidArgument);
}

}  // namespace
}  // namespace tessera::testing
