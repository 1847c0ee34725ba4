/// \file
/// PageRank from several groups of vertices, one solve after the other: graph, weights and ranks stay in the memory of
/// the device, and later solves allocate nothing there. Where vertices without out-links keep their rank, ranks are
/// linear in the weights: the mean over all groups is the PageRank of all vertices alike.
///
///     personal_ranks [GROUPS [host|cuda|cuda:N]]

#include <tessera/context.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/pagerank_solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Weight 1 for every vertex of a group: one in `groups`.
std::vector<double> weights_of(std::int64_t group, std::int64_t groups, std::int64_t vertices) {
  std::vector<double> weights(static_cast<std::size_t>(vertices), 0.0);
  for (auto i = static_cast<std::size_t>(group); i < weights.size(); i += static_cast<std::size_t>(groups)) {
    weights[i] = 1.0;
  }
  return weights;
}

std::vector<double> on_host(const tessera::Array<double>& ranks) {
  const tessera::Array<double> copy = ranks.to(tessera::Device{});
  return {copy.begin(), copy.end()};
}

int run(std::int64_t groups, const tessera::Context& context) {
  // In place of a graph that a program makes on its GPU.
  const tessera::Csr<double> graph = tessera::rmat<double>({.scale = 10}).to(context);
  const tessera::TransitionMatrix<double> transition(graph.view(), context);
  const std::int64_t n = transition.vertices();

  tessera::PageRankOptions options;
  options.tolerance = 1e-12;
  options.dangling = tessera::Dangling::self;
  tessera::PageRankSolver<double> solver(transition, options);
  tessera::Array<double> ranks(n, tessera::Init::zero, context);
  if (!solver.solve({}, ranks.span()).converged()) throw tessera::Error("no ranks of all vertices");
  const std::vector<double> uniform = on_host(ranks);

  std::vector<tessera::Array<double>> weights;
  for (std::int64_t k = 0; k < groups; ++k) {
    weights.push_back(tessera::Array<double>::copy_of(weights_of(k, groups, n), context));
  }
  std::vector<double> mean(uniform.size(), 0.0);
  tessera::ContextCounts after_first;
  std::int64_t iterations = 0;
  for (std::int64_t k = 0; k < groups; ++k) {
    const auto& v = weights[static_cast<std::size_t>(k)];
    const tessera::PageRankReport report = solver.solve(v.span(), ranks.span());
    if (!report.converged()) throw tessera::Error("group " + std::to_string(k) + ": " + report.reason);
    iterations += report.iterations;
    if (k == 0) after_first = context.counts();
    const std::vector<double> found = on_host(ranks);
    const std::int64_t members = (n - k + groups - 1) / groups;
    const double share = static_cast<double>(members) / static_cast<double>(n);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += found[i] * share;
  }
  const tessera::ContextCounts at_end = context.counts();

  double difference = 0.0;
  for (std::size_t i = 0; i < mean.size(); ++i) difference = std::max(difference, std::fabs(mean[i] - uniform[i]));
  std::cout << groups << " groups, " << iterations << " iterations; after the first group "
            << at_end.allocations - after_first.allocations << " allocations, "
            << at_end.recordings - after_first.recordings << " recordings\n"
            << "the mean over the groups is " << (difference < 1e-11 ? "within" : "not within")
            << " 1e-11 of the ranks of all\n";
  return difference < 1e-11 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long groups = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 6;
  if (argc > 3 || groups < 1 || groups > 1000) {
    std::cerr << "usage: personal_ranks [GROUPS, 1 to 1000 [host|cuda|cuda:N]]\n";
    return 2;
  }
  try {
    return run(groups, tessera::Context(tessera::Device::parse(argc > 2 ? argv[2] : "host")));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
