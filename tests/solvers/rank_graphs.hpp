/// \file
/// Graphs without weights, for tests of PageRank.
#pragma once

#include "tessera/pagerank.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/make_csr.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

inline constexpr Dangling policies[] = {Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop};

template <class T>
[[nodiscard]] Csr<T> pattern_of(const std::vector<std::vector<index_t>>& links) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (const auto& row : links) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_pattern<T>(static_cast<std::int64_t>(links.size()), static_cast<std::int64_t>(links.size()), offsets,
                         columns);
}

/// Leaves that link to vertex 0, which links to every third of them.
template <class T>
[[nodiscard]] Csr<T> star(index_t leaves) {
  std::vector<std::vector<index_t>> links(static_cast<std::size_t>(leaves) + 1, {0});
  links[0].clear();
  for (index_t i = 1; i <= leaves; i += 3) links[0].push_back(i);
  return pattern_of<T>(links);
}

template <class T>
[[nodiscard]] Csr<T> chain(index_t n) {
  std::vector<std::vector<index_t>> links(static_cast<std::size_t>(n));
  for (index_t i = 0; i + 1 < n; ++i) links[static_cast<std::size_t>(i)] = {i + 1};
  return pattern_of<T>(links);
}

/// Every vertex links to itself, and every second one to the next.
template <class T>
[[nodiscard]] Csr<T> self_loops(index_t n) {
  std::vector<std::vector<index_t>> links(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    links[static_cast<std::size_t>(i)] = {i};
    if (i % 2 == 0 && i + 1 < n) links[static_cast<std::size_t>(i)].push_back(i + 1);
  }
  return pattern_of<T>(links);
}

template <class T>
[[nodiscard]] std::vector<std::pair<std::string, Csr<T>>> small_graphs() {
  std::vector<std::pair<std::string, Csr<T>>> graphs;
  graphs.emplace_back("one vertex", pattern_of<T>({{}}));
  graphs.emplace_back("one vertex with a loop", pattern_of<T>({{0}}));
  graphs.emplace_back("all dangling", pattern_of<T>(std::vector<std::vector<index_t>>(70)));
  graphs.emplace_back("star", star<T>(1500));
  graphs.emplace_back("chain", chain<T>(500));
  graphs.emplace_back("self loops", self_loops<T>(300));
  graphs.emplace_back("even rows", with_row_lengths<T>(lengths_of(400, 13), 400, ValueStorage::pattern, 3));
  graphs.emplace_back("power law", with_row_lengths<T>(power_law_lengths(600, 500, 5), 600, ValueStorage::pattern, 7));
  graphs.emplace_back("full", with_row_lengths<T>(lengths_of(90, 90), 90, ValueStorage::pattern, 3));
  return graphs;
}

}  // namespace tessera::testing
