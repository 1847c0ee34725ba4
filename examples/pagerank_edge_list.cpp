/// \file
/// Ranks the vertices of a graph given as text, one link "from to" or "from to weight" per line; vertices may have
/// names.
///
///     pagerank_edge_list links.csv

#include <tessera/edge_list.hpp>
#include <tessera/error.hpp>
#include <tessera/pagerank.hpp>

#include <cstdint>
#include <iostream>
#include <string>

namespace {

int rank(const std::string& path) {
  // Links that occur twice count twice if they have weights: these are summed.
  const auto graph = tessera::read_edge_list<double>(path);
  const tessera::TransitionMatrix<double> transition(graph.file.matrix.view());
  const auto result = tessera::pagerank(transition);
  std::cout << transition.vertices() << " vertices, " << transition.edges() << " links, "
            << transition.dangling().size() << " without out-links: " << to_string(result.status) << " after "
            << result.iterations << " iterations\n";
  constexpr std::int64_t top = 10;
  for (const auto& [vertex, value] : tessera::top_ranks<double>(result.ranks.span(), top)) {
    std::cout << graph.labels[static_cast<std::size_t>(vertex)] << ' ' << value << '\n';
  }
  return result.converged() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pagerank_edge_list links.csv\n";
    return 2;
  }
  try {
    return rank(argv[1]);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
