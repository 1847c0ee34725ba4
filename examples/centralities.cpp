/// \file
/// Hubs, authorities and Katz centrality of one graph: plans of its matrix and of the transpose, scores in the memory
/// of the device, and what the reports prove.
///
///     centralities [SCALE [host|cuda|cuda:N]]

#include <tessera/centrality.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/pagerank.hpp>
#include <tessera/statistics.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

void show(const std::string& title, const tessera::Array<double>& scores) {
  const tessera::Array<double> here = scores.to(tessera::Device{});
  std::cout << title << ':';
  for (const auto& [vertex, score] : tessera::top_ranks<double>(here.span(), 3)) {
    std::cout << "  " << vertex + 1 << " (" << score << ')';
  }
  std::cout << '\n';
}

int run(int scale, const tessera::Device& device) {
  const auto graph = std::make_shared<const tessera::Csr<double>>(tessera::rmat<double>({.scale = scale}));
  const tessera::index_t n = graph->rows();

  tessera::SpmvOptions options;
  options.device = device;
  options.with_transpose = true;
  const tessera::SpmvPlan<double> plan(graph, options);
  tessera::Array<double> hubs(n, tessera::Init::none, device);
  tessera::Array<double> authorities(n, tessera::Init::none, device);
  const tessera::HitsReport hits = tessera::hits(plan, hubs.span(), authorities.span());
  std::cout << "HITS: " << hits.reason << '\n';
  show("hubs", hubs);
  show("authorities", authorities);

  options.with_transpose = false;
  const tessera::SpmvPlan<double> in_links(tessera::transpose(graph->view()), options);
  tessera::Array<double> scores(n, tessera::Init::none, device);
  const tessera::KatzReport katz = tessera::katz(in_links, scores.span());
  std::cout << "Katz: alpha " << katz.alpha << ", every score within " << katz.error_bound << " of the exact one\n";
  show("scores", scores);
  return hits.converged() && katz.converged() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long scale = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 10;
  if (argc > 3 || scale < 1 || scale > 24) {
    std::cerr << "usage: centralities [SCALE, 1 to 24 [host|cuda|cuda:N]]\n";
    return 2;
  }
  try {
    return run(static_cast<int>(scale), tessera::Device::parse(argc > 2 ? argv[2] : "host"));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
