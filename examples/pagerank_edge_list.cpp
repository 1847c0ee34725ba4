/// \file
/// Ranks the vertices of a graph given as text, one link "from to [weight]" per line, vertices counted from 0. Lines
/// that begin with '#' are comments.
///
///     pagerank_edge_list links.txt

#include <tessera/assemble.hpp>
#include <tessera/error.hpp>
#include <tessera/pagerank.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace {

struct EdgeList {
  std::vector<tessera::index_t> from;
  std::vector<tessera::index_t> to;
  std::vector<double> weight;
  std::int64_t vertices = 0;
};

/// Adds the link of one line: two vertices and perhaps a weight, nothing else.
void add_link(const std::string& path, std::int64_t number, const std::string& line, EdgeList& edges) {
  std::istringstream text(line);
  const std::vector<std::string> fields{std::istream_iterator<std::string>(text), {}};
  const auto read = [&](const std::string& field, auto& value) {
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    if (error == std::errc{} && stop == end) return;
    throw tessera::ParseError(path, number, 1, R"(expected "from to [weight]", found ")" + field + '"');
  };
  if (fields.empty() || fields[0][0] == '#') return;
  if (fields.size() < 2 || fields.size() > 3) {
    throw tessera::ParseError(path, number, 1, R"(expected "from to [weight]")");
  }
  read(fields[0], edges.from.emplace_back());
  read(fields[1], edges.to.emplace_back());
  edges.weight.push_back(1.0);
  if (fields.size() == 3) read(fields[2], edges.weight.back());
  edges.vertices = std::max({edges.vertices, std::int64_t{edges.from.back()} + 1, std::int64_t{edges.to.back()} + 1});
}

EdgeList read_edges(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw tessera::IoError("cannot open " + path);
  EdgeList edges;
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) add_link(path, ++number, line, edges);
  if (file.bad()) throw tessera::IoError("cannot read " + path);
  if (edges.from.empty()) throw tessera::IoError(path + " holds no links");
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
