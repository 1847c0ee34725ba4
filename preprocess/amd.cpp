/// \file
/// Approximate minimum degree ordering (P. Amestoy, T. A. Davis, I. S. Duff, SIAM J. Matrix Anal. Appl. 17(4), 1996).
///
/// A quotient graph holds variables, which are not eliminated yet, and elements, the cliques that pivots leave behind.
/// A variable lists its elements and the variables that no element joins it with, an element its variables.
/// Variables with equal lists are one. An element whose variables are all in another one is absorbed by it.
#include "core/interruption.hpp"
#include "preprocess/symmetric_pattern.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

namespace tessera::detail {

namespace {

constexpr index_t none = -1;

struct Node {
  offset_t begin = 0;       // of its list
  offset_t mark = 0;        // of the latest variable that it was compared with
  index_t length = 0;       // of its list
  index_t elements = 0;     // at the head of a variable's list
  index_t size = 1;         // vertices that a variable stands for, or that were eliminated with an element
  index_t degree = 0;       // of an element: its vertices; of a variable: an upper bound
  index_t parent = none;    // what it was absorbed by
  index_t pivot = none;     // the latest pivot whose element has this variable, or shares variables with this element
  index_t outside = 0;      // vertices of an element that the latest pivot's has not
  index_t next = none;      // in a list of equal degrees, or of equal hashes
  index_t previous = none;  // in a list of equal degrees
  std::uint32_t hash = 0;
  bool is_element = false;

  [[nodiscard]] bool is_variable() const noexcept { return !is_element && parent == none; }
};

class QuotientGraph {
 public:
  QuotientGraph(const SymmetricPattern& graph, const FillLimits& limits)
      : limits_(limits),
        most_steps_(limits.steps_per_entry * static_cast<double>(graph.nnz() + graph.vertices())),
        nodes_(static_cast<std::size_t>(graph.vertices())) {
    set_dense_vertices_aside(graph);
    lists_.reserve(static_cast<std::size_t>(graph.nnz() + graph.nnz() / 5 + graph.vertices()));
    first_of_degree_.assign(nodes_.size() + 1, none);
    first_of_hash_.assign(nodes_.size(), none);
    for (index_t v = 0; v < graph.vertices(); ++v) {
      Node& node = at(v);
      if (!node.is_variable()) continue;
      node.begin = end_of_lists();
      for (const index_t neighbour : graph.neighbours(v)) {
        if (at(neighbour).is_variable()) lists_.push_back(neighbour);
      }
      node.length = static_cast<index_t>(end_of_lists() - node.begin);
      // Among equals those beside a pivot come first; leaves before all.
      node.degree = node.length + (node.length > 1 ? 1 : 0);
      insert(v);
    }
  }

  /// \throws BudgetExceeded
  void eliminate_all() {
    const auto variables = static_cast<index_t>(nodes_.size() - dense_.size());
    pivots_.reserve(static_cast<std::size_t>(variables));
    for (index_t left = variables; left > 0; left -= at(pivots_.back()).size) {
      const index_t p = take_least_degree();
      pivots_.push_back(p);
      make_element(p);
      measure_outside(p);
      update_variables(p);
      merge_equal_variables(p);
      finish_element(p, left - at(p).size);
      count(at(p), left - at(p).size);
    }
  }

  /// Elements in postorder of their tree, each with its vertices; then the dense ones.
  [[nodiscard]] std::vector<index_t> order() {
    std::vector<index_t> total(nodes_.size());  // vertices of an element and all below
    for (const index_t p : pivots_) {
      total[index(p)] += at(p).size;
      if (at(p).parent != none) total[index(at(p).parent)] += total[index(p)];
    }
    std::vector<index_t> place(nodes_.size());  // of the next vertex of an element
    std::vector<index_t> end(nodes_.size());    // of the next subtree below an element
    auto end_of_roots = static_cast<index_t>(nodes_.size() - dense_.size());
    for (std::size_t k = pivots_.size(); k > 0; --k) {
      const index_t p = pivots_[k - 1];
      index_t& end_of_siblings = at(p).parent == none ? end_of_roots : end[index(at(p).parent)];
      place[index(p)] = end_of_siblings - at(p).size;
      end[index(p)] = place[index(p)];
      end_of_siblings -= total[index(p)];
    }
    std::vector<index_t> result(nodes_.size());
    for (index_t v = 0; index(v) < nodes_.size(); ++v) {
      if (!is_dense(v)) result[index(place[index(element_of(v))]++)] = v;
    }
    std::copy(dense_.begin(), dense_.end(), result.end() - static_cast<std::ptrdiff_t>(dense_.size()));
    return result;
  }

 private:
  static std::size_t index(index_t v) noexcept { return static_cast<std::size_t>(v); }
  [[nodiscard]] Node& at(index_t v) noexcept { return nodes_[index(v)]; }
  [[nodiscard]] index_t& list_entry(offset_t k) noexcept { return lists_[static_cast<std::size_t>(k)]; }
  [[nodiscard]] offset_t end_of_lists() const noexcept { return static_cast<offset_t>(lists_.size()); }
  void cut_lists(offset_t end) { lists_.resize(static_cast<std::size_t>(end)); }

  /// Vertices with many neighbours come last, fewest first. They would be in nearly every list.
  void set_dense_vertices_aside(const SymmetricPattern& graph) {
    const auto n = static_cast<double>(graph.vertices());
    const double mean = static_cast<double>(graph.nnz()) / std::max(n, 1.0);
    const double least = std::max({64.0, 2.0 * std::sqrt(n), 10.0 * mean});
    for (index_t v = 0; v < graph.vertices(); ++v) {
      if (graph.degree(v) <= least) continue;
      dense_.push_back(v);
      at(v).is_element = true;
      at(v).size = 0;
    }
    std::stable_sort(dense_.begin(), dense_.end(),
                     [&](index_t a, index_t b) { return graph.degree(a) < graph.degree(b); });
  }
  [[nodiscard]] bool is_dense(index_t v) noexcept { return at(v).is_element && at(v).size == 0; }

  void insert(index_t v) {
    Node& node = at(v);
    index_t& first = first_of_degree_[index(node.degree)];
    node.previous = none;
    node.next = first;
    if (first != none) at(first).previous = v;
    first = v;
    least_degree_ = std::min(least_degree_, node.degree);
  }
  void take_out(const Node& node) {
    if (node.next != none) at(node.next).previous = node.previous;
    if (node.previous != none) {
      at(node.previous).next = node.next;
    } else {
      first_of_degree_[index(node.degree)] = node.next;
    }
  }
  index_t take_least_degree() {
    while (first_of_degree_[index(least_degree_)] == none) ++least_degree_;
    const index_t p = first_of_degree_[index(least_degree_)];
    take_out(at(p));
    return p;
  }

  /// The variables that p is adjacent to, in the place of its list where no element brings more.
  void make_element(index_t p) {
    Node& pivot = at(p);
    if (pivot.elements > 0 && lists_.size() + index(pivot.degree) > lists_.capacity()) compact();
    const offset_t begin = pivot.begin;
    const offset_t elements_end = begin + pivot.elements;
    const offset_t end = begin + pivot.length;
    const bool is_in_place = pivot.elements == 0;
    offset_t out = begin;
    pivot.is_element = true;
    pivot.begin = is_in_place ? begin : end_of_lists();
    pivot.degree = 0;
    const auto add_variables = [&](offset_t first, offset_t last) {
      steps_ += last - first;
      for (offset_t k = first; k < last; ++k) {
        const index_t i = list_entry(k);
        Node& variable = at(i);
        if (!variable.is_variable() || variable.pivot == p) continue;
        variable.pivot = p;
        pivot.degree += variable.size;
        take_out(variable);
        if (is_in_place) {
          list_entry(out++) = i;
        } else {
          lists_.push_back(i);
        }
      }
    };
    for (offset_t k = begin; k < elements_end; ++k) {
      Node& element = at(list_entry(k));
      if (element.parent != none) continue;
      add_variables(element.begin, element.begin + element.length);
      absorb(element, p);
    }
    add_variables(elements_end, end);
    pivot.length = static_cast<index_t>((is_in_place ? out : end_of_lists()) - pivot.begin);
  }

  static void absorb(Node& node, index_t into) noexcept {
    node.parent = into;
    node.length = 0;
  }

  /// Closes the gaps between lists.
  void compact() {
    for (index_t v = 0; index(v) < nodes_.size(); ++v) {
      Node& node = at(v);
      if (node.length == 0) continue;
      // The list is found by a negative number in place of its first entry.
      const index_t first = std::exchange(list_entry(node.begin), -1 - v);
      node.begin = first;
    }
    offset_t out = 0;
    for (offset_t k = 0; k < end_of_lists();) {
      const index_t found = -1 - list_entry(k);
      if (found < 0) {
        ++k;
        continue;
      }
      Node& node = at(found);
      list_entry(k) = static_cast<index_t>(node.begin);
      node.begin = out;
      for (index_t i = 0; i < node.length; ++i) list_entry(out++) = list_entry(k++);
    }
    steps_ += end_of_lists();
    cut_lists(out);
  }

  /// For every element that meets the pivot's: how many of its vertices that one has not.
  void measure_outside(index_t p) {
    for_each_variable(at(p), [&](index_t i) {
      const Node& variable = at(i);
      steps_ += variable.elements;
      for (offset_t k = variable.begin; k < variable.begin + variable.elements; ++k) {
        Node& element = at(list_entry(k));
        if (element.parent != none) continue;
        if (std::exchange(element.pivot, p) != p) element.outside = element.degree;
        element.outside -= variable.size;
      }
    });
  }

  template <class Body>
  void for_each_variable(const Node& element, Body&& body) {
    const offset_t end = element.begin + element.length;
    for (offset_t k = element.begin; k < end; ++k) {
      if (at(list_entry(k)).is_variable()) body(list_entry(k));
    }
  }

  /// Lists of the pivot's variables without what its element stands for, and their degrees.
  void update_variables(index_t p) {
    Node& pivot = at(p);
    for_each_variable(pivot, [&](index_t i) {
      Node& variable = at(i);
      steps_ += variable.length;
      const offset_t elements_end = variable.begin + variable.elements;
      const offset_t end = variable.begin + variable.length;
      offset_t out = variable.begin;
      offset_t degree = 0;  // a bound, which elements that overlap may bring beyond 2^31
      std::uint32_t hash = 0;
      const auto keep = [&](index_t entry, index_t size) {
        list_entry(out++) = entry;
        degree += size;
        hash += static_cast<std::uint32_t>(entry);
      };
      for (offset_t k = variable.begin; k < elements_end; ++k) {
        const index_t e = list_entry(k);
        Node& element = at(e);
        if (element.parent != none) continue;
        if (element.outside > 0) {
          keep(e, element.outside);
        } else {
          absorb(element, p);
        }
      }
      const offset_t first_variable = out;
      for (offset_t k = elements_end; k < end; ++k) {
        const index_t j = list_entry(k);
        if (at(j).is_variable() && at(j).pivot != p) keep(j, at(j).size);
      }
      if (degree == 0) {  // adjacent to the pivot's variables alone: eliminated with it
        pivot.size += variable.size;
        pivot.degree -= variable.size;
        absorb(variable, p);
        return;
      }
      // The list has lost p, or an element that p absorbed: there is place for one more.
      list_entry(out) = list_entry(first_variable);
      list_entry(first_variable) = list_entry(variable.begin);
      list_entry(variable.begin) = p;
      variable.elements = static_cast<index_t>(first_variable + 1 - variable.begin);
      variable.length = static_cast<index_t>(out + 1 - variable.begin);
      variable.degree = static_cast<index_t>(std::min<offset_t>(variable.degree, degree));
      variable.hash = hash;
      index_t& first = first_of_hash_[bucket(variable)];
      variable.next = first;
      first = i;
    });
  }
  [[nodiscard]] std::size_t bucket(const Node& variable) const noexcept { return variable.hash % nodes_.size(); }

  /// Variables of the pivot's element with equal lists become one.
  void merge_equal_variables(index_t p) {
    for_each_variable(at(p), [&](index_t i) {
      for (index_t first = std::exchange(first_of_hash_[bucket(at(i))], none); first != none; first = at(first).next) {
        if (at(first).next != none) absorb_equals(first);
      }
    });
  }
  /// Variables that follow in the list of a bucket.
  void absorb_equals(index_t i) {
    Node& variable = at(i);
    ++mark_;
    steps_ += variable.length;
    for (offset_t k = variable.begin; k < variable.begin + variable.length; ++k) at(list_entry(k)).mark = mark_;
    for (index_t last = i; at(last).next != none;) {
      const index_t j = at(last).next;
      Node& other = at(j);
      if (!are_equal(variable, other)) {
        last = j;
        continue;
      }
      variable.size += other.size;
      at(last).next = other.next;
      absorb(other, i);
    }
  }
  /// \param a its list is marked
  [[nodiscard]] bool are_equal(const Node& a, const Node& b) {
    if (a.hash != b.hash || a.length != b.length || a.elements != b.elements) return false;
    for (offset_t k = b.begin; k < b.begin + b.length; ++k) {
      ++steps_;
      if (at(list_entry(k)).mark != mark_) return false;
    }
    return true;
  }

  /// Variables of the pivot's element return to the lists of degrees. \param left vertices that are not eliminated
  void finish_element(index_t p, index_t left) {
    Node& pivot = at(p);
    offset_t out = pivot.begin;
    for_each_variable(pivot, [&](index_t i) {
      Node& variable = at(i);
      variable.degree =
          static_cast<index_t>(std::min<offset_t>(offset_t{variable.degree} + pivot.degree, left)) - variable.size;
      insert(i);
      list_entry(out++) = i;
    });
    if (pivot.begin + pivot.length == end_of_lists()) cut_lists(out);
    pivot.length = static_cast<index_t>(out - pivot.begin);
  }

  /// Entries and work of L and U in the columns of a pivot, and steps of the order. All edges that are left will be
  /// entries. With as many per vertex as the pivot had, an estimate since degrees are bounds, they tell of the work
  /// too.
  void count(const Node& pivot, index_t left) {
    const double size = pivot.size;
    const double below = pivot.degree + (size - 1.0) / 2.0;
    entries_ += size * (2.0 * below + 1.0);
    flops_ += size * below * (2.0 * below + 1.0);
    all_steps_ += static_cast<double>(steps_);
    const double edges = 0.5 * left * pivot.degree;
    const double entries = entries_ + 2.0 * edges;
    const double flops = flops_ + edges * pivot.degree;
    if (entries > limits_.entries || flops > limits_.flops) {
      throw BudgetExceeded(fmt::format(
          "an approximate minimum degree order fills factors with over {:.3g} entries, for {:.3g} flops; the "
          "limits are {:.3g} and {:.3g}",
          entries, flops, limits_.entries, limits_.flops));
    }
    if (all_steps_ > most_steps_) {
      throw BudgetExceeded(fmt::format("no approximate minimum degree order is found in {:.3g} steps", most_steps_));
    }
    interruption_point(std::exchange(steps_, 0));
  }

  [[nodiscard]] index_t element_of(index_t v) {
    index_t element = v;
    while (!at(element).is_element) element = at(element).parent;
    while (!at(v).is_element) v = std::exchange(at(v).parent, element);
    return element;
  }

  FillLimits limits_;
  double most_steps_;
  std::vector<Node> nodes_;
  std::vector<index_t> lists_;
  std::vector<index_t> first_of_degree_;
  std::vector<index_t> first_of_hash_;
  std::vector<index_t> pivots_;
  std::vector<index_t> dense_;
  index_t least_degree_ = 0;
  offset_t mark_ = 0;
  std::int64_t steps_ = 0;  // entries of lists that were read for the latest pivot
  double all_steps_ = 0.0;
  double entries_ = 0.0;
  double flops_ = 0.0;
};

}  // namespace

std::vector<index_t> amd_ordering(const SymmetricPattern& graph, const FillLimits& limits) {
  QuotientGraph quotient(graph, limits);
  quotient.eliminate_all();
  return quotient.order();
}

}  // namespace tessera::detail
