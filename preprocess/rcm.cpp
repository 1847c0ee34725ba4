/// \file
/// Reverse Cuthill-McKee (A. George, J. W. H. Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981):
/// breadth-first search in which vertices of small degree come first, from a vertex far out.
#include "preprocess/symmetric_pattern.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera::detail {

namespace {

/// Searches for a vertex far out: more than this many are hardly ever needed, and more gain little.
constexpr int max_searches = 8;

class CuthillMckee {
 public:
  explicit CuthillMckee(const SymmetricPattern& graph)
      : graph_(graph), seen_(static_cast<std::size_t>(graph.vertices())) {
    order_.reserve(seen_.size());
  }

  /// Cuthill-McKee order of all components.
  [[nodiscard]] std::vector<index_t> run() {
    for (index_t v = 0; v < graph_.vertices(); ++v) {
      if (seen_[at(v)] == 0) number_component(pseudo_peripheral(v));
    }
    return std::move(order_);
  }

 private:
  /// The component of a start vertex in breadth-first order from it.
  struct LevelStructure {
    std::vector<index_t> vertices;
    std::size_t last_level = 0;  ///< begin of the last level in `vertices`
    index_t height = 0;          ///< levels
  };

  [[nodiscard]] static std::size_t at(index_t v) { return static_cast<std::size_t>(v); }
  [[nodiscard]] bool comes_before(index_t a, index_t b) const {
    return std::tuple(graph_.degree(a), a) < std::tuple(graph_.degree(b), b);
  }

  void search(index_t start, LevelStructure& levels) {
    levels.vertices.assign(1, start);
    levels.height = 0;
    seen_[at(start)] = 1;
    for (std::size_t begin = 0, end = 1; begin < end; begin = end, end = levels.vertices.size()) {
      levels.last_level = begin;
      ++levels.height;
      for (std::size_t k = begin; k < end; ++k) {
        for (const index_t neighbour : graph_.neighbours(levels.vertices[k])) {
          if (seen_[at(neighbour)] != 0) continue;
          seen_[at(neighbour)] = 1;
          levels.vertices.push_back(neighbour);
        }
      }
    }
    for (const index_t v : levels.vertices) seen_[at(v)] = 0;
  }

  /// From any vertex of a component to one in its last level, as long as that is farther out (George & Liu 1979).
  [[nodiscard]] index_t pseudo_peripheral(index_t start) {
    index_t height = 0;
    for (int round = 0; round < max_searches; ++round) {
      search(start, levels_);
      if (levels_.height <= height) break;
      height = levels_.height;
      start = *std::min_element(levels_.vertices.begin() + static_cast<std::ptrdiff_t>(levels_.last_level),
                                levels_.vertices.end(), [this](index_t a, index_t b) { return comes_before(a, b); });
    }
    return start;
  }

  void number_component(index_t start) {
    std::size_t next = order_.size();
    order_.push_back(start);
    seen_[at(start)] = 1;
    for (; next < order_.size(); ++next) {
      const auto first = static_cast<std::ptrdiff_t>(order_.size());
      for (const index_t neighbour : graph_.neighbours(order_[next])) {
        if (seen_[at(neighbour)] != 0) continue;
        seen_[at(neighbour)] = 1;
        order_.push_back(neighbour);
      }
      std::sort(order_.begin() + first, order_.end(), [this](index_t a, index_t b) { return comes_before(a, b); });
    }
  }

  const SymmetricPattern& graph_;
  std::vector<unsigned char> seen_;
  std::vector<index_t> order_;
  LevelStructure levels_;
};

}  // namespace

std::vector<index_t> rcm_ordering(const SymmetricPattern& graph) {
  std::vector<index_t> order = CuthillMckee(graph).run();
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace tessera::detail
