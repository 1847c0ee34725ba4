#include "bench/embedding_ranks.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank_solver.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tessera::bench {

namespace {

constexpr std::size_t sources = 8;
constexpr double tolerance = 1e-9;

/// Weights near uniform, so that a warm start has something to begin from.
[[nodiscard]] std::vector<double> weights_of(std::size_t source, std::size_t vertices) {
  std::vector<double> weights(vertices, 1.0);
  for (std::size_t i = source; i < vertices; i += 97) weights[i] = 2.0;
  return weights;
}

struct Way {
  std::string name;
  std::function<PageRankReport(std::size_t source)> solve;
  std::int64_t iterations = 0;  ///< over all sources
  ContextCounts counts = {};
  std::vector<double> ms = {};
};

class RankBench {
 public:
  RankBench(const Context& context, int scale)
      : context_(context),
        graph_(rmat<double>({.scale = scale})),
        there_(graph_.to(context)),
        on_host_(graph_.view()),
        on_gpu_(there_.view(), context),
        solver_(on_gpu_, options()),
        ranks_(graph_.rows(), Init::zero, context) {
    for (std::size_t k = 0; k < sources; ++k) {
      weights_.push_back(weights_of(k, static_cast<std::size_t>(graph_.rows())));
      weights_there_.push_back(Array<double>::copy_of(weights_.back(), context));
    }
  }

  [[nodiscard]] Json measure(int rounds);

 private:
  [[nodiscard]] PageRankOptions options() const {
    PageRankOptions result;
    result.tolerance = tolerance;
    result.spmv.device = context_;
    return result;
  }
  [[nodiscard]] PageRankReport by_function(const TransitionMatrix<double>& transition,
                                           std::span<const double> weights) const {
    PageRankOptions personal = options();
    personal.personalization = weights;
    return pagerank(transition, personal);
  }
  void add_ways();
  void solve_all(Way& way);
  [[nodiscard]] Json transition_times(int rounds);

  const Context& context_;
  Csr<double> graph_;
  Csr<double> there_;
  TransitionMatrix<double> on_host_;
  TransitionMatrix<double> on_gpu_;
  PageRankSolver<double> solver_;
  Array<double> ranks_;
  std::vector<std::vector<double>> weights_;
  std::vector<Array<double>> weights_there_;
  std::vector<Way> ways_;
};

void RankBench::add_ways() {
  ways_.push_back(
      {"pagerank(), graph on the host", [this](std::size_t k) { return by_function(on_host_, weights_[k]); }});
  ways_.push_back({"pagerank(), graph on the GPU",
                   [this](std::size_t k) { return by_function(on_gpu_, weights_there_[k].span()); }});
  ways_.push_back(
      {"PageRankSolver", [this](std::size_t k) { return solver_.solve(weights_there_[k].span(), ranks_.span()); }});
  ways_.push_back({"PageRankSolver, warm start", [this](std::size_t k) {
                     return solver_.solve(weights_there_[k].span(), ranks_.span(), RankStart::given);
                   }});
}

void RankBench::solve_all(Way& way) {
  way.iterations = 0;
  for (std::size_t k = 0; k < sources; ++k) {
    const PageRankReport report = way.solve(k);
    if (!report.converged()) throw Error(way.name + ": " + report.reason);
    way.iterations += report.iterations;
  }
  synchronize(context_);
}

/// The matrix made where the graph lies, in ms.
Json RankBench::transition_times(int rounds) {
  const std::vector<TimingCandidate> candidates{{"host", [this] { (void)TransitionMatrix<double>(graph_.view()); }, {}},
                                                {"GPU",
                                                 [this] {
                                                   (void)TransitionMatrix<double>(there_.view(), context_);
                                                   synchronize(context_);
                                                 },
                                                 {}}};
  TimingOptions timing;
  timing.min_rounds = timing.max_rounds = rounds;
  const TimingSamples samples = time_interleaved(candidates, timing);
  Json times = {{"host", json_of(summarise(samples[0]))}, {"gpu", json_of(summarise(samples[1]))}};
  fmt::print("  transition matrix: {:.3f} ms on the host, {:.3f} ms on the GPU\n", summarise(samples[0]).median,
             summarise(samples[1]).median);
  return times;
}

Json RankBench::measure(int rounds) {
  add_ways();
  std::vector<TimingCandidate> candidates;
  for (Way& way : ways_) {
    solve_all(way);
    const ContextCounts before = context_.counts();
    solve_all(way);
    const ContextCounts after = context_.counts();
    way.counts = {after.allocations - before.allocations, after.waits - before.waits,
                  after.recordings - before.recordings};
    candidates.push_back({way.name, [this, &way] { solve_all(way); }, {}});
  }
  Json result = {{"vertices", graph_.rows()}, {"edges", graph_.nnz()}, {"solves", sources}, {"tolerance", tolerance}};
  fmt::print("rmat of {} vertices, {} edges, {} teleport distributions:\n", graph_.rows(), graph_.nnz(), sources);
  TimingOptions timing;
  timing.min_rounds = timing.max_rounds = rounds;
  const TimingSamples samples = time_interleaved(candidates, timing);
  for (std::size_t w = 0; w < ways_.size(); ++w) {
    Way& way = ways_[w];
    for (const double ms : samples[w]) way.ms.push_back(ms / static_cast<double>(sources));
    Json row = json_of(summarise(way.ms));
    row["way"] = way.name;
    row["iterations"] = way.iterations;
    row["in_all_solves"] = {
        {"allocations", way.counts.allocations}, {"recordings", way.counts.recordings}, {"waits", way.counts.waits}};
    add_speedup(row, ways_.front().name, ways_.front().ms, way.ms);
    fmt::print("  {:30} {:8.4f} ms per solve, {} iterations in all; {} allocations, {} recordings, {} waits\n",
               way.name, row["median_ms"].get<double>(), way.iterations, way.counts.allocations, way.counts.recordings,
               way.counts.waits);
    result["ways"].push_back(std::move(row));
  }
  result["transition_matrix"] = transition_times(rounds);
  return result;
}

}  // namespace

Json measure_ranks(const Context& context, int scale, int rounds) { return RankBench(context, scale).measure(rounds); }

}  // namespace tessera::bench
