/// \file
/// Two threads solve side by side, each in a context of its own: on a GPU each has a stream, and neither waits for the
/// other; on the host each has one thread. One solves a Poisson problem by CG, the other ranks a web-like graph.
///
///     two_contexts [host|cuda|cuda:N]

#include <tessera/amg.hpp>
#include <tessera/context.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/pagerank.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A context for one thread: on the host it has one thread of the processor, else a stream of its own.
tessera::Context context_on(const tessera::Device& device) {
  return tessera::Context(device.is_host() ? tessera::Device::host(1) : device);
}

/// The Poisson problem with a right-hand side of ones. Vectors and plan lie in the context, which orders their work.
std::string solve(const tessera::Context& context) {
  const tessera::SpmvPlan<double> A(tessera::poisson2d<double>(100, 100), tessera::SpmvOptions{.device = context});
  const tessera::Amg<double> M(A.matrix(), {}, context);
  const auto b = tessera::Array<double>::copy_of(std::vector<double>(10000, 1.0), context);
  tessera::Array<double> x(10000, tessera::Init::zero, context);
  const tessera::SolveReport report = tessera::cg<double>(A, M, b.span(), x.span());
  const double middle = x.to(tessera::Device{})[5050];
  return "CG: " + report.reason + "; x in the middle " + std::to_string(middle);
}

std::string rank(const tessera::Context& context) {
  tessera::PageRankOptions options;
  options.spmv.device = context;
  const tessera::Csr<double> graph = tessera::rmat<double>(tessera::RmatOptions{.scale = 12});
  const tessera::PageRankResult<double> result =
      tessera::pagerank(tessera::TransitionMatrix<double>(graph.view()), options);
  return "PageRank: " + result.reason;
}

/// Runs work() and keeps what it says, or why it failed.
template <class Work>
std::thread run(std::string& said, const Work& work) {
  return std::thread([&said, work] {
    try {
      said = work();
    } catch (const std::exception& error) {
      said = std::string("error: ") + error.what();
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const tessera::Device device = tessera::Device::parse(argc > 1 ? argv[1] : "host");
    std::string solved;
    std::string ranked;
    std::thread solver = run(solved, [device] { return solve(context_on(device)); });
    std::thread ranker = run(ranked, [device] { return rank(context_on(device)); });
    solver.join();
    ranker.join();
    std::cout << solved << '\n' << ranked << '\n';
    return solved.starts_with("error") || ranked.starts_with("error") ? 1 : 0;
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
}
