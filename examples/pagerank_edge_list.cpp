/// \file
/// Ranks the vertices of a graph given as text, one link "from to [weight]" a line, vertices counted from 0. Lines that
/// begin with '#' are comments.
///
///     pagerank_edge_list links.txt

#include <tessera/assemble.hpp>
#include <tessera/error.hpp>
#include <tessera/pagerank.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct EdgeList {
  std::vector<tessera::index_t> from;
  std::vector<tessera::index_t> to;
  std::vector<double> weight;
  std::int64_t vertices = 0;
};

EdgeList read_edges(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tessera::IoError("cannot open " + path);
  EdgeList edges;
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    std::istringstream fields(line);
    tessera::index_t from = 0;
    tessera::index_t to = 0;
    double weight = 1.0;
    if (!(fields >> from >> to)) throw tessera::ParseError(path, number, 1, "expected \"from to [weight]\"");
    if (!(fields >> std::ws).eof() && !(fields >> weight)) {
      throw tessera::ParseError(path, number, 1, "the weight is no number");
    }
    edges.from.push_back(from);
    edges.to.push_back(to);
    edges.weight.push_back(weight);
    edges.vertices = std::max({edges.vertices, std::int64_t{from} + 1, std::int64_t{to} + 1});
  }
  return edges;
}

int rank(const std::string& path) {
  const EdgeList edges = read_edges(path);
  // Links that occur twice count twice: their weights are summed.
  const auto graph =
      tessera::assemble<double>(edges.vertices, edges.vertices, edges.from, edges.to, edges.weight).matrix;
  const tessera::TransitionMatrix<double> transition(graph.view());
  const auto result = tessera::pagerank(transition);
  std::cout << transition.vertices() << " vertices, " << transition.edges() << " links, "
            << transition.dangling().size() << " without out-links: " << to_string(result.status) << " after "
            << result.iterations << " iterations\n";
  constexpr std::int64_t top = 10;
  for (const auto& [vertex, value] : tessera::top_ranks<double>(result.ranks.span(), top)) {
    std::cout << vertex << ' ' << value << '\n';
  }
  return result.converged() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pagerank_edge_list links.txt\n";
    return 2;
  }
  try {
    return rank(argv[1]);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
