/// PageRank by fused products on a GPU, with every layout of tiles, against the host.
#include "core/cuda/device_limits.hpp"
#include "solvers/pagerank.hpp"
#include "spmv/merbit/merbit.hpp"
#include "tests/solvers/rank_graphs.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/hub_rules.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

/// A forced choice of layout.
struct Forced {
  std::string name;
  std::optional<cuda::MerbitLayout> layout;
  int sigma = 0;
  std::optional<cuda::HubRules> hubs = {};
};

/// \returns those that the GPU can run: `rows` needs the bulk copies of compute capability 9.0
std::vector<Forced> forced_layouts() {
  using enum cuda::MerbitLayout;
  std::vector<Forced> layouts{{"chosen", {}},
                              {"scalar", scalar},
                              {"vector", vector},
                              {"columns", columns},
                              {"local columns", local_columns},
                              {"exact, sigma 1", {}, 1},
                              {"exact, sigma 9", {}, 9},
                              {"scalar of hubs", scalar, 0, hubs_of_any_gain()},
                              {"columns of hubs", columns, 0, hubs_of_any_gain()},
                              {"columns of staged hubs", columns, 0, staged_hubs(50)},
                              {"columns of hubs and slots", columns, 0, hubs_and_slots(4000)},
                              {"local columns of hubs", local_columns, 0, hubs_of_any_gain()}};
  if (cuda::device_limits(0).compute_capability >= 90) layouts.push_back({"rows", rows});
  return layouts;
}

/// Result, ranks on the host.
template <class T>
struct Ranked {
  detail::RankState state;
  double sum = 0.0;
  std::vector<T> ranks;
};

/// Fused iterations with a forced layout.
template <class T>
class FusedRanks {
 public:
  FusedRanks(const TransitionMatrix<T>& transition, const Forced& forced)
      : transition_(transition), links_(transition.in_links()->to(Device::cuda(0))) {
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::merbit;
    options.device = Device::cuda(0);
    options.sigma = forced.sigma;
    cuda::MerbitTuning tuning;
    tuning.layout = forced.layout;
    tuning.hubs = forced.hubs;
    kernel_ = cuda::make_merbit_kernel<T>(links_.view(), options, tuning);
  }

  /// \param chunk iterations per call of run()
  [[nodiscard]] Ranked<T> run(const PageRankOptions& options, const std::vector<T>& teleport, int chunk = 8) const {
    const Device gpu = Device::cuda(0);
    auto product = kernel_->make_rank_product(links_.view(), 1);
    if (!product) throw std::runtime_error("no fused product for this kernel");
    const detail::RankRules rules = detail::rank_rules<T>(options, transition_.vertices());
    auto v = rules.uniform_teleport ? Array<T>{} : Array<T>::copy_of(teleport, gpu);
    const auto loop = detail::make_fused_rank_loop(std::move(product), transition_, rules, std::move(v), 1, gpu);
    loop->start({});
    while (loop->state(0).halt == 0) loop->run(chunk);
    Ranked<T> result{loop->state(0), 0.0, {}};
    detail::FinalRanks<T> final_ranks = loop->take_ranks(0);
    result.sum = final_ranks.sum;
    const Array<T> ranks = final_ranks.ranks.to(Device{});
    result.ranks.assign(ranks.begin(), ranks.end());
    return result;
  }

 private:
  const TransitionMatrix<T>& transition_;
  Csr<T> links_;
  std::unique_ptr<detail::SpmvKernel<T>> kernel_;
};

std::vector<double> uneven_weights(index_t n) {
  std::vector<double> weights(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 5);
  weights.back() = 3.0;
  return weights;
}

template <class T>
std::vector<T> distribution(const std::vector<double>& weights) {
  double sum = 0.0;
  for (const double weight : weights) sum += weight;
  std::vector<T> result;
  for (const double weight : weights) result.push_back(static_cast<T>(weight / sum));
  return result;
}

/// Ends as on the host, with ranks as near as the last change and rounding allow.
template <class T>
void expect_as_on_host(const Ranked<T>& found, const PageRankResult<T>& expected, double tolerance) {
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  ASSERT_NE(found.state.halt, 0);
  ASSERT_EQ(found.state.status, expected.status) << expected.reason;
  ASSERT_LE(std::abs(found.state.iteration - expected.iterations), 1 + expected.iterations / 20);
  ASSERT_NEAR(found.sum, 1.0, sizeof(T) == 8 ? 1e-14 : 1e-6);
  const LongVector ranks(expected.ranks.begin(), expected.ranks.end());
  ASSERT_LE(static_cast<double>(l1_distance<T>(found.ranks, ranks)), 20 * tolerance + 300 * epsilon);
}

/// Every policy with and without a personalization. \param number of the case: an emulated GPU takes two of the eight
template <class T>
void check_graph(const Csr<T>& adjacency, const Forced& forced, PageRankOptions options, std::size_t number) {
  const TransitionMatrix<T> transition(adjacency.view());
  const FusedRanks<T> fused(transition, forced);
  const std::vector<double> weights = uneven_weights(adjacency.rows());
  for (const Dangling policy : policies) {
    for (const bool personalised : {false, true}) {
      if (repetitions(1, 0) == 0 && number++ % 4 != 0) continue;
      SCOPED_TRACE(forced.name + ", " + std::string(to_string(policy)) + (personalised ? ", personalised" : ""));
      options.dangling = policy;
      options.personalization = personalised ? std::span<const double>(weights) : std::span<const double>{};
      const auto found = fused.run(options, distribution<T>(weights));
      expect_as_on_host(found, pagerank(transition, options), options.tolerance);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

class FusedPageRank : public CudaTest {};

template <class T>
void check_small_graphs(double tolerance, std::int64_t max_iterations) {
  PageRankOptions options;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  const std::vector<Forced> layouts = forced_layouts();
  std::size_t number = 0;
  for (const auto& [name, graph] : small_graphs<T>()) {
    ++number;
    for (std::size_t c = 0; c < layouts.size(); ++c) {
      if (is_spared(number, c, layouts.size())) continue;
      check_graph(graph, layouts[c], options, number + c);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << name;
    }
  }
}

TEST_F(FusedPageRank, SmallGraphsDouble) { check_small_graphs<double>(1e-10, repetitions(1000, 6)); }
TEST_F(FusedPageRank, SmallGraphsFloat) { check_small_graphs<float>(1e-4, repetitions(1000, 6)); }

/// To the tolerance, by the public function.
TEST_F(FusedPageRank, ConvergesAsOnTheHost) {
  const auto graph = with_row_lengths<double>(power_law_lengths(300, 100, 5), 300, ValueStorage::pattern, 7);
  const TransitionMatrix<double> transition(graph.view());
  for (const RankNorm norm : {RankNorm::l1, RankNorm::l2, RankNorm::linf}) {
    PageRankOptions options;
    options.norm = norm;
    options.tolerance = 1e-9;
    options.keep_history = true;
    const auto expected = pagerank(transition, options);
    options.spmv.device = gpu();
    options.spmv.algorithm = SpmvAlgorithm::merbit;
    const auto found = pagerank(transition, options);
    EXPECT_EQ(found.status, Status::converged) << found.reason;
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(found.spmv_count, found.iterations);
    EXPECT_NEAR(found.change, expected.change, 1e-6 * expected.change);
    EXPECT_EQ(found.plan.determinism, Determinism::run_to_run);
    ASSERT_EQ(found.history.size(), expected.history.size());
    for (std::size_t k = 0; k < found.history.size(); ++k) {
      EXPECT_EQ(found.history[k].iteration, static_cast<std::int64_t>(k) + 1);
      EXPECT_NEAR(found.history[k].recurrence, expected.history[k].recurrence,
                  1e-6 * expected.history[k].recurrence + 1e-15);
    }
  }
}

/// The row of a hub spans thousands of tiles, whose carries whole blocks add.
TEST_F(FusedPageRank, HubOverThousandsOfTiles) {
  const auto graph = star<double>(repetitions(2000000, 60000));
  const TransitionMatrix<double> transition(graph.view());
  PageRankOptions options;
  options.tolerance = 0.0;
  options.max_iterations = 3;
  const auto expected = pagerank(transition, options);
  for (const Forced& forced : forced_layouts()) {
    SCOPED_TRACE(forced.name);
    const FusedRanks<double> fused(transition, forced);
    const auto found = fused.run(options, {});
    expect_as_on_host(found, expected, 0.0);
    // Two million numbers of like size, added up in another order.
    ASSERT_NEAR(found.ranks[0], expected.ranks[0], 1e-12);
  }
}

TEST_F(FusedPageRank, RepeatsBitwise) {
  const auto graph = with_row_lengths<float>(power_law_lengths(1200, 1100, 5), 1200, ValueStorage::pattern, 7);
  const TransitionMatrix<float> transition(graph.view());
  PageRankOptions options;
  options.tolerance = 1e-4;
  options.max_iterations = repetitions(100, 4);
  for (const Forced& forced : forced_layouts()) {
    SCOPED_TRACE(forced.name);
    const FusedRanks<float> fused(transition, forced);
    const auto first = fused.run(options, {});
    for (int run = 0; run < repetitions(10, 2); ++run) {
      const auto again = fused.run(options, {}, 1 + run);  // however many iterations at a time
      ASSERT_EQ(again.ranks, first.ranks);
      ASSERT_EQ(again.state.norm, first.state.norm);
      ASSERT_EQ(again.state.iteration, first.state.iteration);
    }
  }
}

TEST_F(FusedPageRank, TheIterationLimitIsExact) {
  const auto graph = star<double>(50);
  const TransitionMatrix<double> transition(graph.view());
  PageRankOptions options;
  options.tolerance = 0.0;
  options.spmv.device = gpu();
  options.spmv.algorithm = SpmvAlgorithm::merbit;
  for (const std::int64_t limit : {0, 1, 7, 8, 9, 16, 17}) {
    options.max_iterations = limit;
    PageRankOptions on_host = options;
    on_host.spmv = {};
    const auto found = pagerank(transition, options);
    const auto expected = pagerank(transition, on_host);
    EXPECT_EQ(found.status, Status::max_iterations);
    EXPECT_EQ(found.iterations, limit);
    const LongVector ranks(expected.ranks.begin(), expected.ranks.end());
    EXPECT_LE(l1_distance<double>(found.ranks.span(), ranks), 1e-15L);
  }
}

TEST_F(FusedPageRank, ObserversSeeEveryStepAndMayStop) {
  const auto graph = star<double>(50);
  std::vector<std::int64_t> seen;
  PageRankOptions options;
  options.tolerance = 0.0;
  options.spmv.device = gpu();
  options.spmv.algorithm = SpmvAlgorithm::merbit;
  options.observer = [&](const IterationInfo& info) {
    seen.push_back(info.iteration);
    return info.iteration == 3 ? Control::stop : Control::proceed;
  };
  const auto found = pagerank(TransitionMatrix<double>(graph.view()), options);
  EXPECT_EQ(found.status, Status::interrupted);
  EXPECT_GE(found.iterations, 3);
  EXPECT_LE(found.iterations, 8) << "the iterations in flight";
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST_F(FusedPageRank, StagnatesWhereNoToleranceIsMet) {
  const auto graph = with_row_lengths<float>(power_law_lengths(200, 100, 5), 200, ValueStorage::pattern, 7);
  PageRankOptions options;
  options.tolerance = 0.0;
  options.spmv.device = gpu();
  options.spmv.algorithm = SpmvAlgorithm::merbit;
  const auto found = pagerank(TransitionMatrix<float>(graph.view()), options);
  EXPECT_TRUE(found.status == Status::stagnated || found.status == Status::converged) << found.reason;
  EXPECT_LT(found.change, 1e-4);
}

TEST_F(FusedPageRank, GraphsWithWeightsAndOtherKernelsTakeTheirProduct) {
  const auto weighted = with_row_lengths<double>(lengths_of(60, 5), 60, ValueStorage::weighted, 3);
  const Csr<double> on_gpu = weighted.to(gpu());
  SpmvOptions spmv;
  spmv.device = gpu();
  spmv.algorithm = SpmvAlgorithm::merbit;
  const auto kernel = cuda::make_merbit_kernel<double>(on_gpu.view(), spmv, {});
  EXPECT_EQ(kernel->make_rank_product(on_gpu.view(), 1), nullptr);
}

/// A ranking announces the products that it can take, not the default of a plan.
TEST_F(FusedPageRank, APlanIsMadeForTheIterationsThatCanCome) {
  const auto graph = with_row_lengths<double>(power_law_lengths(300, 100, 5), 300, ValueStorage::pattern, 7);
  const TransitionMatrix<double> transition(graph.view());
  PageRankOptions options;
  options.spmv.device = gpu();
  options.max_iterations = 3;
  const auto few = pagerank(transition, options).plan.reason;
  EXPECT_NE(few.find("one kernel, 2 lanes per row"), std::string::npos) << few;
  options.max_iterations = 20;
  const auto more = pagerank(transition, options).plan.reason;
  EXPECT_NE(more.find("a whole iteration of PageRank is one product along tiles"), std::string::npos) << more;
}

TEST_F(FusedPageRank, EmptyGraph) {
  PageRankOptions options;
  options.spmv.device = gpu();
  options.spmv.algorithm = SpmvAlgorithm::merbit;
  const auto none = pagerank(TransitionMatrix<double>(Csr<double>{}.view()), options);
  EXPECT_TRUE(none.converged());
  EXPECT_TRUE(none.ranks.empty());
}

}  // namespace
}  // namespace tessera::testing
