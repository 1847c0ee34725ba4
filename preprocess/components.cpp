/// \file
/// Components: union-find with compare-and-swap (Anderson & Woll, STOC 1991); strong ones by Tarjan's search.
#include "core/parallel.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

template <class T>
void require_graph(const CsrView<T>& a, const char* what) {
  if (a.is_square()) return;
  throw DimensionError(fmt::format("{}: a graph needs a square matrix, this one is {} x {}", what, a.rows, a.cols));
}

/// A forest over the vertices in which every parent has a smaller number than its child: roots are components.
class Forest {
 public:
  Forest(index_t vertices, const Device& device) : parents_(vertices, Init::none) {
    host::parallel_for(device, vertices, [&](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) parents_[i] = static_cast<index_t>(i);
    });
  }

  /// Root of a vertex; on the way, each vertex is hung one step higher.
  [[nodiscard]] index_t root(index_t vertex) {
    index_t parent = load(vertex);
    while (parent != vertex) {
      const index_t above = load(parent);
      // Another thread may have moved it, and only ever towards the root.
      if (above != parent) std::atomic_ref(parents_[vertex]).compare_exchange_weak(parent, above);
      vertex = above;
      parent = load(vertex);
    }
    return vertex;
  }

  void join(index_t a, index_t b) {
    for (;;) {
      a = root(a);
      b = root(b);
      if (a == b) return;
      if (a < b) std::swap(a, b);
      index_t expected = a;
      if (std::atomic_ref(parents_[a]).compare_exchange_strong(expected, b)) return;
    }
  }

 private:
  [[nodiscard]] index_t load(index_t vertex) { return std::atomic_ref(parents_[vertex]).load(); }

  Array<index_t> parents_;
};

[[nodiscard]] ComponentCounts counts_of(const std::vector<index_t>& sizes) {
  ComponentCounts counts;
  for (const index_t size : sizes) {
    if (size == 0) continue;
    ++counts.count;
    counts.largest = std::max(counts.largest, size);
    if (size == 1) ++counts.singletons;
  }
  return counts;
}

/// Tarjan's search with its recursion on a stack of its own: a path may be as long as the graph.
template <class T>
class StrongSearch {
 public:
  explicit StrongSearch(const CsrView<T>& graph)
      : graph_(graph),
        order_(static_cast<std::size_t>(graph.rows), unseen),
        low_(static_cast<std::size_t>(graph.rows)) {}

  [[nodiscard]] ComponentCounts run() {
    for (index_t v = 0; v < graph_.rows; ++v) {
      if (order_[at(v)] == unseen) search(v);
    }
    return counts_;
  }

 private:
  struct Frame {
    index_t vertex = 0;
    offset_t next = 0;  ///< entry to follow next
  };
  static constexpr index_t unseen = -1;
  static constexpr index_t finished = -2;  ///< its component is complete

  [[nodiscard]] static std::size_t at(index_t v) { return static_cast<std::size_t>(v); }

  void enter(index_t v) {
    order_[at(v)] = low_[at(v)] = seen_++;
    open_.push_back(v);
    path_.push_back({v, graph_.row_offsets[at(v)]});
  }

  void search(index_t start) {
    enter(start);
    while (!path_.empty()) {
      Frame& top = path_.back();
      if (top.next == graph_.row_offsets[at(top.vertex) + 1]) {
        leave();
        continue;
      }
      const index_t target = graph_.columns[static_cast<std::size_t>(top.next++)];
      if (order_[at(target)] == unseen) {
        enter(target);
      } else if (order_[at(target)] >= 0) {
        low_[at(top.vertex)] = std::min(low_[at(top.vertex)], order_[at(target)]);
      }
    }
  }

  void leave() {
    const index_t v = path_.back().vertex;
    path_.pop_back();
    if (!path_.empty()) {
      index_t& above = low_[at(path_.back().vertex)];
      above = std::min(above, low_[at(v)]);
    }
    if (low_[at(v)] == order_[at(v)]) close(v);
  }

  /// v is the first vertex seen of its component: the rest of it lies above v among the open ones.
  void close(index_t v) {
    index_t size = 0;
    index_t member = v;
    do {
      member = open_.back();
      open_.pop_back();
      order_[at(member)] = finished;
      ++size;
    } while (member != v);
    ++counts_.count;
    counts_.largest = std::max(counts_.largest, size);
    if (size == 1) ++counts_.singletons;
  }

  const CsrView<T>& graph_;
  std::vector<index_t> order_;  ///< number in which a vertex was seen
  std::vector<index_t> low_;    ///< smallest number of an open vertex reached from here
  std::vector<index_t> open_;   ///< seen, component not complete
  std::vector<Frame> path_;
  index_t seen_ = 0;
  ComponentCounts counts_;
};

}  // namespace

template <class T>
ComponentCounts connected_components(const CsrView<T>& matrix, const Device& device) {
  require_graph(matrix, "connected_components");
  Forest forest(matrix.rows, device);
  host::parallel_for(device, matrix.rows, [&](host::Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      for (offset_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
        forest.join(static_cast<index_t>(i), matrix.columns[static_cast<std::size_t>(k)]);
      }
    }
  });
  std::vector<index_t> sizes(static_cast<std::size_t>(matrix.rows));
  for (index_t v = 0; v < matrix.rows; ++v) ++sizes[static_cast<std::size_t>(forest.root(v))];
  return counts_of(sizes);
}

template <class T>
ComponentCounts strong_components(const CsrView<T>& matrix) {
  require_graph(matrix, "strong_components");
  return StrongSearch<T>(matrix).run();
}

template ComponentCounts connected_components(const CsrView<float>&, const Device&);
template ComponentCounts connected_components(const CsrView<double>&, const Device&);
template ComponentCounts strong_components(const CsrView<float>&);
template ComponentCounts strong_components(const CsrView<double>&);

}  // namespace tessera
