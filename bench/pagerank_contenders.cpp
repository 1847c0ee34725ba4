#include "bench/pagerank_contenders.hpp"

#include "bench/krylov_contenders.hpp"
#include "tessera/error.hpp"

#include <utility>

namespace tessera::bench {

namespace {

/// The tolerance 0 keeps the iteration going to its limit, unless the ranks stand still.
PageRankOptions options_of(SpmvAlgorithm algorithm, const Device& device) {
  PageRankOptions options;
  options.damping = pagerank_damping;
  options.tolerance = 0.0;
  options.spmv.algorithm = algorithm;
  options.spmv.device = device;
  return options;
}

std::vector<double> copied(const Array<double>& ranks) { return {ranks.begin(), ranks.end()}; }

}  // namespace

RankContenders::RankContenders(const TransitionMatrix<double>& transition, const Device& device,
                               const SolverBenchSettings& settings)
    : transition_(transition) {
  add_hand_written(device);
  for (const SpmvAlgorithm algorithm : wanted_kernels(settings, device)) add_kernel(algorithm, device);
}

void RankContenders::add_hand_written(const Device& device) {
  try {
    loop_ = std::make_unique<HandWrittenPageRank>(transition_, device);
  } catch (const NotSupported& error) {
    contenders_.push_back({std::string(hand_written_name), error.what()});
    return;
  }
  const auto add = [this](std::string_view name, int check_every) {
    const auto run = [this, check_every](std::int64_t iterations) {
      const double solve_ms = loop_->run(pagerank_damping, iterations, check_every);
      return RankRun{loop_->setup_ms(), loop_->upload_ms(), solve_ms, iterations};
    };
    contenders_.push_back({std::string(name), {}, run, [this] { return loop_->ranks(); }});
  };
  add(hand_written_name, 1);
  add(sparing_name, sparing_checks);
}

void RankContenders::add_kernel(SpmvAlgorithm algorithm, const Device& device) {
  auto latest = std::make_shared<PageRankResult<double>>();
  PageRankOptions options = options_of(algorithm, device);
  const auto run = [this, latest, options](std::int64_t iterations) mutable {
    options.max_iterations = iterations;
    *latest = pagerank(transition_, options);
    const Timings& timings = latest->timings;
    return RankRun{timings.plan_ms, timings.upload_ms, timings.solve_ms, latest->iterations};
  };
  contenders_.push_back({std::string(to_string(algorithm)), {}, run, [latest] { return copied(latest->ranks); }});
}

}  // namespace tessera::bench
