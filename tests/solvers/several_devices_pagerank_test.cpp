/// PageRank on several devices, with hosts for devices: the parts of the graph, and ranks against the definition.
#include "solvers/distributed/transition_block.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank_several_devices.hpp"
#include "tests/solvers/rank_graphs.hpp"
#include "tests/solvers/rank_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

DeviceGroup hosts(int count) {
  return DeviceGroup(std::vector<Device>(static_cast<std::size_t>(count), Device::host(1)));
}

/// Few links per vertex, all over; or many.
Csr<double> random_graph(index_t n, index_t links, bool weighted) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> weights;
  std::mt19937_64 generator(9);
  for (index_t row = 0; row < n; ++row) {
    std::map<index_t, double> entries;
    const index_t count = row % 6 == 5 ? 0 : links;
    for (index_t k = 0; k < count; ++k) {
      entries[static_cast<index_t>(generator() % static_cast<std::uint64_t>(n))] =
          1.0 + static_cast<double>(generator() % 16);
    }
    for (const auto& [column, weight] : entries) {
      columns.push_back(column);
      weights.push_back(weight);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return weighted ? make_csr<double>(n, n, offsets, columns, weights) : make_pattern<double>(n, n, offsets, columns);
}

/// The entries of a block, by row and column of the whole matrix.
void collect(const detail::TransitionBlock<double>& block, const Partition& partition, int part,
             std::map<std::pair<index_t, index_t>, double>& entries) {
  const CsrView<double> links = block.in_links.view();
  validate(links);
  const index_t own = partition.rows_of(part);
  ASSERT_EQ(links.rows, own);
  ASSERT_EQ(static_cast<std::size_t>(links.cols - own), block.halo.size());
  for (index_t row = 0; row < own; ++row) {
    for (offset_t k = links.row_offsets[static_cast<std::size_t>(row)];
         k < links.row_offsets[static_cast<std::size_t>(row) + 1]; ++k) {
      const index_t column = links.columns[static_cast<std::size_t>(k)];
      const index_t global =
          column < own ? partition.first_row(part) + column : block.halo[static_cast<std::size_t>(column - own)];
      EXPECT_TRUE((entries.emplace(std::pair{partition.first_row(part) + row, global}, links.value(k)).second));
    }
  }
}

TEST(TransitionBlock, HoldsTheInLinksOfItsVertices) {
  for (const Csr<double>& a : {random_graph(101, 2, true), random_graph(60, 30, false), random_graph(60, 30, true)}) {
    std::map<std::pair<index_t, index_t>, double> wanted;
    for (index_t row = 0; row < a.rows(); ++row) {
      for (offset_t k = a.row_offsets()[row]; k < a.row_offsets()[row + 1]; ++k) {
        wanted[{row, a.columns()[k]}] = a.view().value(k);
      }
    }
    for (const int parts : {1, 2, 5}) {
      const Partition partition = Partition::by_nonzeros(a.view(), parts);
      std::map<std::pair<index_t, index_t>, double> found;
      for (int part = 0; part < parts; ++part) {
        const auto block = detail::make_transition_block(a.view(), partition, part, Device::host(2));
        collect(block, partition, part, found);
        offset_t halo_nnz = 0;
        std::map<index_t, int> rows;
        for (const auto& [place, value] : wanted) {
          if (partition.part_of(place.first) != part || partition.part_of(place.second) == part) continue;
          ++halo_nnz;
          ++rows[place.first];
        }
        EXPECT_EQ(block.halo_nnz, halo_nnz);
        EXPECT_EQ(static_cast<std::size_t>(block.boundary_rows), rows.size());
      }
      EXPECT_EQ(found, wanted) << parts << " parts";
    }
  }
}

/// 27 of 30 vertices of the other part are needed: all travel. Of a part of which 26 are needed, those.
TEST(TransitionBlock, TakesAWholePartWhereMostOfItIsNeeded) {
  for (const index_t needed : {26, 27}) {
    std::vector<offset_t> offsets{0, needed};
    std::vector<index_t> columns(static_cast<std::size_t>(needed));
    std::iota(columns.begin(), columns.end(), 30);
    offsets.resize(61, needed);
    const Csr<double> a = make_pattern<double>(60, 60, offsets, columns);
    const Partition halves({0, 30, 60});
    const auto first = detail::make_transition_block(a.view(), halves, 0, Device::host(1));
    EXPECT_EQ(first.halo.size(), needed == 27 ? 30U : 26U);
    EXPECT_EQ(first.halo_nnz, needed);
    EXPECT_EQ(detail::HaloColumns::rows_for(first, halves, 1).size(), first.halo.size());
    const auto second = detail::make_transition_block(a.view(), halves, 1, Device::host(1));
    EXPECT_TRUE(second.halo.empty());
  }
}

std::vector<std::pair<std::string, Csr<double>>> graphs() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  for (auto& [name, graph] : small_graphs<double>()) {
    if (graph.rows() >= 5) result.emplace_back(name, std::move(graph));
  }
  result.emplace_back("rmat", rmat<double>({.scale = 9}));
  result.emplace_back("grid", Csr<double>(poisson2d<double>(17, 23).structure()));
  result.emplace_back("weighted", random_graph(200, 3, true));
  result.emplace_back("weighted, dense halo", random_graph(120, 60, true));
  return result;
}

std::vector<double> uneven_weights(index_t n) {
  std::vector<double> weights(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>((i * 7) % 5);
  return weights;
}

LongVector scaled_to_one(const std::vector<double>& weights) {
  long double sum = 0;
  for (const double weight : weights) sum += static_cast<long double>(weight);
  LongVector result(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) result[i] = static_cast<long double>(weights[i]) / sum;
  return result;
}

TEST(PageRankOnSeveralDevices, RanksAsTheDefinitionSays) {
  for (const auto& [name, graph] : graphs()) {
    const TransitionMatrix<double> transition(graph.view());
    const std::vector<double> weights = uneven_weights(graph.rows());
    for (const int ranks : {2, 5}) {
      const DistributedTransitionMatrix<double> shared(hosts(ranks), transition);
      for (const Dangling policy : policies) {
        for (const bool personalized : {false, true}) {
          if (personalized && ranks == 5) continue;
          SCOPED_TRACE(name + ", " + std::to_string(ranks) + " ranks, " + std::string(to_string(policy)));
          PageRankOptions options{.damping = 0.6, .tolerance = 1e-13, .dangling = policy};
          if (personalized) options.personalization = weights;
          const auto result = pagerank(shared, options);
          EXPECT_EQ(result.status, Status::converged) << result.reason;
          const LongVector teleport =
              personalized ? scaled_to_one(weights) : uniform_distribution(static_cast<std::size_t>(graph.rows()));
          const LongVector wanted = pagerank_oracle(graph.view(), teleport, 0.6L, policy);
          EXPECT_LE(l1_distance<double>(result.ranks.span(), wanted), 2e-12L);
          EXPECT_NEAR(result.sum, 1.0, 1e-15);
          EXPECT_EQ(result.dangling_count, static_cast<index_t>(transition.dangling().size()));
        }
      }
    }
  }
}

TEST(PageRankOnSeveralDevices, RanksInSinglePrecision) {
  const Csr<float> graph = rmat<float>({.scale = 9});
  const auto one = pagerank(TransitionMatrix<float>(graph.view()), {.tolerance = 1e-6});
  const DistributedTransitionMatrix<float> shared(hosts(3), TransitionMatrix<float>(graph.view()));
  const auto several = pagerank(shared, {.tolerance = 1e-6});
  EXPECT_TRUE(several.converged()) << several.reason;
  const LongVector wanted(one.ranks.begin(), one.ranks.end());
  EXPECT_LE(l1_distance<float>(several.ranks.span(), wanted), 1e-6L);
}

/// The sums of one rank are those of one device; several give the same bits each time.
TEST(PageRankOnSeveralDevices, GivesTheSameBits) {
  for (const bool weighted : {false, true}) {
    const Csr<double> graph = random_graph(400, 5, weighted);
    const TransitionMatrix<double> transition(graph.view());
    const auto one = pagerank(transition);
    const auto of_one = pagerank(DistributedTransitionMatrix<double>(hosts(1), transition));
    EXPECT_TRUE(std::ranges::equal(of_one.ranks, one.ranks));
    EXPECT_EQ(of_one.iterations, one.iterations);
    EXPECT_EQ(of_one.reason, one.reason);
    const DistributedTransitionMatrix<double> shared(hosts(3), transition);
    const auto first = pagerank(shared);
    EXPECT_EQ(first.iterations, one.iterations);
    for (int run = 0; run < 5; ++run) {
      const auto again = pagerank(shared);
      EXPECT_TRUE(std::ranges::equal(again.ranks, first.ranks));
      EXPECT_EQ(again.reason, first.reason);
    }
  }
}

TEST(PageRankOnSeveralDevices, HasTheNormsOfOneDevice) {
  const TransitionMatrix<double> transition(rmat<double>({.scale = 8}).view());
  const DistributedTransitionMatrix<double> shared(hosts(3), transition);
  for (const RankNorm norm : {RankNorm::l1, RankNorm::l2, RankNorm::linf}) {
    const PageRankOptions options{.tolerance = 1e-7, .norm = norm};
    const auto one = pagerank(transition, options);
    const auto several = pagerank(shared, options);
    EXPECT_EQ(several.iterations, one.iterations);
    EXPECT_NEAR(several.change, one.change, 1e-9 * one.change + 1e-17);
  }
}

TEST(PageRankOnSeveralDevices, EndsAsOneDeviceDoes) {
  const TransitionMatrix<double> transition(rmat<double>({.scale = 8}).view());
  const DistributedTransitionMatrix<double> shared(hosts(2), transition);
  const auto limited = pagerank(shared, {.tolerance = 0.0, .max_iterations = 3});
  EXPECT_EQ(limited.status, Status::max_iterations);
  EXPECT_EQ(limited.iterations, 3);
  const auto late = pagerank(shared, {.tolerance = 0.0, .time_limit_seconds = 0.0});
  EXPECT_EQ(late.status, Status::time_limit);

  PageRankOptions watched{.keep_history = true};
  std::vector<std::int64_t> seen;
  watched.observer = [&](const IterationInfo& info) {
    seen.push_back(info.iteration);
    return info.iteration == 4 ? Control::stop : Control::proceed;
  };
  const auto stopped = pagerank(shared, watched);
  EXPECT_EQ(stopped.status, Status::interrupted);
  EXPECT_EQ(stopped.iterations, 4);
  EXPECT_EQ(stopped.history.size(), 4U);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_NEAR(stopped.sum, 1.0, 1e-15);

  watched.observer = [](const IterationInfo& info) -> Control {
    if (info.iteration == 2) throw std::logic_error("enough");
    return Control::proceed;
  };
  EXPECT_THROW(static_cast<void>(pagerank(shared, watched)), std::logic_error);
  EXPECT_TRUE(pagerank(shared).converged());

  const auto stagnated = pagerank(shared, {.tolerance = 0.0});
  EXPECT_EQ(stagnated.status, Status::stagnated) << stagnated.reason;
}

TEST(PageRankOnSeveralDevices, RefusesWhatDoesNotFit) {
  const TransitionMatrix<double> transition(star<double>(5).view());
  EXPECT_THROW(DistributedTransitionMatrix<double>(hosts(7), transition), InvalidArgument);
  EXPECT_THROW(DistributedTransitionMatrix<double>(hosts(2), transition, Partition({0, 2, 5})), InvalidArgument);
  EXPECT_THROW(DistributedTransitionMatrix<double>(hosts(2), transition, Partition({0, 6})), InvalidArgument);
  const DistributedTransitionMatrix<double> shared(hosts(2), transition, Partition({0, 2, 6}));
  EXPECT_EQ(shared.parts()[1].rows, 4);
  EXPECT_EQ(shared.edges(), transition.edges());
  const std::vector<double> three{1, 1, 1};
  EXPECT_THROW(static_cast<void>(pagerank(shared, {.personalization = three})), DimensionError);
  EXPECT_THROW(static_cast<void>(pagerank(shared, {.damping = 1.0})), InvalidArgument);
}

/// What is said of the parts is what was counted.
TEST(PageRankOnSeveralDevices, DescribesItsParts) {
  const TransitionMatrix<double> transition(random_graph(300, 4, false).view());
  const DistributedTransitionMatrix<double> shared(hosts(3), transition);
  offset_t nnz = 0;
  index_t halo = 0;
  index_t sent = 0;
  for (const DevicePart& part : shared.parts()) {
    EXPECT_EQ(part.device, "host");
    EXPECT_EQ(part.neighbours, 2);
    EXPECT_FALSE(part.kernel.empty());
    nnz += part.nnz;
    halo += part.halo;
    sent += part.sent;
  }
  EXPECT_EQ(nnz, transition.edges());
  EXPECT_EQ(halo, sent);
  EXPECT_GE(shared.memory_bytes(), static_cast<std::uint64_t>(transition.edges()) * sizeof(index_t));
}

}  // namespace
}  // namespace tessera::testing
