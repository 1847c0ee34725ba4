// Networks of conductances: circuit (modified nodal analysis), plgraph (the Laplacian of a graph with preferential
// attachment). Compiled without contraction of a * b + c.
#include "core/first_exception.hpp"
#include "core/portable_math.hpp"
#include "io/recipe.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

/// Entries in any order, duplicates included; rows as in a Csr.
struct NetworkDraft {
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<double> values;
};

/// The entries that `put_element(k, put)` puts as put(row, column, value) for k in [0, elements), and put(i, i, leak)
/// for each of the first `nodes` rows. `put_element` is a pure function of k, evaluated twice.
template <class PutElement>
NetworkDraft draft_network(std::int64_t rows, std::int64_t nodes, double leak, std::int64_t elements,
                           const PutElement& put_element) {
  NetworkDraft draft{Array<offset_t>(rows + 1), {}, {}};
  const auto allocate = [&](std::int64_t row) {
    return std::atomic_ref<offset_t>(draft.offsets[row + 1]).fetch_add(1, std::memory_order_relaxed);
  };
  for (std::int64_t row = 0; row < nodes; ++row) draft.offsets[row + 1] = 1;
  host::parallel_for(Device{}, elements, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      put_element(k, [&](std::int64_t row, std::int64_t, double) { allocate(row); });
    }
  });
  // offsets[row + 1] becomes the start of the row and, once all entries are placed, its end.
  offset_t total = 0;
  for (std::int64_t row = 0; row < rows; ++row) total += std::exchange(draft.offsets[row + 1], total);
  draft.columns = Array<index_t>(total, Init::none);
  draft.values = Array<double>(total, Init::none);
  const auto put = [&](std::int64_t row, std::int64_t column, double value) {
    const offset_t k = allocate(row);
    draft.columns[k] = static_cast<index_t>(column);
    draft.values[k] = value;
  };
  for (std::int64_t row = 0; row < nodes; ++row) put(row, row, leak);
  host::parallel_for(Device{}, elements, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) put_element(k, put);
  });
  return draft;
}

/// Adds up the entries of a row at equal columns, and to its diagonal the conductances: its negative entries with the
/// other sign. Sorted by value too, so that the sums do not depend on the order of the entries.
void add_up_row(std::int64_t row, std::vector<std::pair<index_t, double>>& entries) {
  std::sort(entries.begin(), entries.end());
  double conductance = 0.0;
  std::size_t count = 0;
  for (const auto& [column, value] : entries) {
    if (value < 0.0) conductance -= value;
    if (count > 0 && entries[count - 1].first == column) {
      entries[count - 1].second += value;
    } else {
      entries[count++] = {column, value};
    }
  }
  entries.resize(count);
  for (auto& [column, value] : entries) {
    if (column == row) value += conductance;
  }
}

/// Adds up all rows, in place; returns the offsets of the rows that remain.
Array<offset_t> add_up_rows(NetworkDraft& draft) {
  const std::int64_t rows = draft.offsets.size() - 1;
  Array<offset_t> remaining(rows + 1);
  host::FirstException failure;
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    failure.keep([&] {
      std::vector<std::pair<index_t, double>> entries;
      for (std::int64_t row = range.begin; row < range.end; ++row) {
        entries.clear();
        for (offset_t k = draft.offsets[row]; k < draft.offsets[row + 1]; ++k) {
          entries.emplace_back(draft.columns[k], draft.values[k]);
        }
        add_up_row(row, entries);
        remaining[row + 1] = static_cast<offset_t>(entries.size());
        offset_t k = draft.offsets[row];
        for (const auto& [column, value] : entries) {
          draft.columns[k] = column;
          draft.values[k++] = value;
        }
      }
    });
  });
  failure.rethrow();
  accumulate_counts(remaining);
  return remaining;
}

template <class T>
Csr<T> network_matrix(NetworkDraft draft) {
  const std::int64_t rows = draft.offsets.size() - 1;
  Array<offset_t> offsets = add_up_rows(draft);
  Array<index_t> columns(offsets[rows], Init::none);
  Array<T> values(offsets[rows], Init::none);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const offset_t shift = draft.offsets[row] - offsets[row];
      for (offset_t k = offsets[row]; k < offsets[row + 1]; ++k) {
        columns[k] = draft.columns[k + shift];
        values[k] = static_cast<T>(draft.values[k + shift]);
      }
    }
  });
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

/// Bytes of a draft.
double draft_bytes(double rows, double entries) {
  return sizeof(offset_t) * (rows + 1) + (sizeof(index_t) + sizeof(double)) * entries;
}

/// Modified nodal analysis: potentials of nodes, then currents of voltage sources. The elements are, in order, a chain
/// that connects all nodes, local wires, long wires, wires to a few rails, voltage-controlled current sources, and
/// voltage sources. Each has a random stream of its own.
class Circuit {
 public:
  explicit Circuit(const Recipe& recipe)
      : sources_(recipe.size() / 100),
        nodes_(recipe.size() - sources_),
        seed_(draw_seed(recipe.seed(), Draw::edge)),
        loads_(static_cast<std::uint64_t>(nodes_), draw_seed(recipe.seed(), Draw::rail_load)),
        sourced_(static_cast<std::uint64_t>(nodes_), draw_seed(recipe.seed(), Draw::voltage_source)) {
    SplitMix64 random(draw_seed(recipe.seed(), Draw::heavy_row));
    for (std::int64_t& rail : rails_) rail = any_node(random);
  }

  [[nodiscard]] std::int64_t nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t elements() const { return nodes_ - 1 + local_ + long_ + loaded_ + controlled_ + sources_; }

  /// Entries with duplicates, their diagonal ones once per node.
  [[nodiscard]] double entries() const {
    const std::int64_t wires = nodes_ - 1 + local_ + long_ + loaded_;
    return static_cast<double>(nodes_ + 2 * wires + controlled_ + 2 * sources_);
  }

  template <class Put>
  void operator()(std::int64_t element, const Put& put) const {
    SplitMix64 random(seed_, static_cast<std::uint64_t>(element));
    std::int64_t k = element;
    if (k < nodes_ - 1) return wire(k, k + 1, -6, 3, random, put);
    k -= nodes_ - 1;
    if (k < local_) {
      const std::int64_t from = any_node(random);
      return wire(from, near(from, random), -6, 3, random, put);
    }
    k -= local_;
    if (k < long_) {
      const std::int64_t from = any_node(random);
      return wire(from, any_node(random), -6, 0, random, put);
    }
    k -= long_;
    if (k < loaded_) {
      const auto load = static_cast<std::int64_t>(loads_(static_cast<std::uint64_t>(k)));
      return wire(load, rails_[random.below(rails_.size())], -5, 1, random, put);
    }
    k -= loaded_;
    if (k < controlled_) {
      const std::int64_t node = any_node(random);
      const auto distance = static_cast<std::int64_t>(1 + random.below(29));
      return put(node, std::min(node + distance, nodes_ - 1), power_of_ten(-5, -1, random));
    }
    k -= controlled_;
    const auto node = static_cast<std::int64_t>(sourced_(static_cast<std::uint64_t>(k)));
    put(nodes_ + k, node, 1.0);
    put(node, nodes_ + k, 1.0);
  }

 private:
  [[nodiscard]] std::int64_t any_node(SplitMix64& random) const {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes_)));
  }

  /// At a distance with the geometric distribution, p = 0.02, on either side.
  [[nodiscard]] std::int64_t near(std::int64_t node, SplitMix64& random) const {
    const double failures = std::floor(portable_log2(1.0 - random.uniform()) / log2_failure_);
    const std::int64_t distance = 1 + static_cast<std::int64_t>(failures);
    return std::clamp<std::int64_t>(random.below(2) == 0 ? node - distance : node + distance, 0, nodes_ - 1);
  }

  /// Log-uniform between 10^least and 10^most.
  static double power_of_ten(double least, double most, SplitMix64& random) {
    return portable_pow(10.0, least + (most - least) * random.uniform());
  }

  template <class Put>
  static void wire(std::int64_t a, std::int64_t b, double least, double most, SplitMix64& random, const Put& put) {
    if (a == b) return;
    const double conductance = power_of_ten(least, most, random);
    put(a, b, -conductance);
    put(b, a, -conductance);
  }

  std::int64_t sources_;
  std::int64_t nodes_;
  std::int64_t local_ = nodes_ * 4 / 5;
  std::int64_t long_ = nodes_ / 500;
  std::int64_t loaded_ = nodes_ / 4;  ///< nodes with a wire to a rail
  std::int64_t controlled_ = nodes_ / 10;
  double log2_failure_ = portable_log2(0.98);
  std::uint64_t seed_;
  Permutation loads_;
  Permutation sourced_;
  std::array<std::int64_t, 24> rails_{};
};

template <class T>
Csr<T> make_circuit(const Recipe& recipe) {
  const Circuit circuit(recipe);
  constexpr double leak = 1e-12;  // to ground
  return network_matrix<T>(draft_network(recipe.size(), circuit.nodes(), leak, circuit.elements(), circuit));
}

Expected expected_circuit(const Recipe& recipe) {
  const auto rows = static_cast<double>(recipe.size());
  const double entries = Circuit(recipe).entries();
  return {.rows = rows, .drawn = entries, .scratch_bytes = draft_bytes(rows, entries)};
}

}  // namespace

GeneratorEntry circuit_family() {
  return {.family = {.name = "circuit",
                     .description = "modified nodal analysis, conductances over 9 decades, rails of many wires, "
                                    "1 % voltage sources: nonsymmetric",
                     .size_means = "rows",
                     .default_size = 200'000,
                     .max_size = max_rows},
          .expected = expected_circuit,
          .matrix_float = make_circuit<float>,
          .matrix_double = make_circuit<double>};
}

namespace {

/// Barabasi and Albert's graph: vertex `links` is linked with all before it, and each later one with `links` ends of
/// earlier links. The last vertex is the ground and the others are renumbered at random.
///
/// Where an end is that of an earlier link, the draw of that link is repeated (P. Sanders and C. Schulz, Inf. Process.
/// Lett. 116, 2016): two draws on average, and no list of the links.
class PreferentialLinks {
 public:
  explicit PreferentialLinks(const Recipe& recipe)
      : vertices_(recipe.size()),
        links_(std::min(vertices_, recipe.whole("links"))),
        seed_(draw_seed(recipe.seed(), Draw::edge)),
        renumber_(static_cast<std::uint64_t>(vertices_), draw_seed(recipe.seed(), Draw::permutation)) {}

  [[nodiscard]] std::int64_t count() const { return links_ * (vertices_ - links_ + 1); }

  /// Entries with duplicates; the links to the ground are on the diagonal.
  [[nodiscard]] double entries() const {
    return static_cast<double>(vertices_) + 2 * static_cast<double>(count() - links_);
  }

  template <class Put>
  void operator()(std::int64_t link, const Put& put) const {
    const std::int64_t from = links_ + link / links_;
    const auto to = static_cast<std::int64_t>(renumber_(static_cast<std::uint64_t>(target(link))));
    if (from == vertices_) return put(to, to, 1.0);
    const auto renumbered = static_cast<std::int64_t>(renumber_(static_cast<std::uint64_t>(from)));
    put(renumbered, to, -1.0);
    put(to, renumbered, -1.0);
  }

 private:
  /// All ends of the links of earlier vertices, `group` vertices, are numbered vertex by vertex, sources first.
  [[nodiscard]] std::int64_t target(std::int64_t link) const {
    std::int64_t group = link / links_;
    while (group > 0) {
      SplitMix64 random(seed_, static_cast<std::uint64_t>(link));
      const double end = random.uniform() * static_cast<double>(group);
      group = static_cast<std::int64_t>(end);
      const double place = (end - static_cast<double>(group)) * static_cast<double>(2 * links_);
      if (place < static_cast<double>(links_)) return links_ + group;
      link = links_ * group + static_cast<std::int64_t>(place) - links_;
    }
    return link;
  }

  std::int64_t vertices_;
  std::int64_t links_;
  std::uint64_t seed_;
  Permutation renumber_;
};

template <class T>
Csr<T> make_plgraph(const Recipe& recipe) {
  const PreferentialLinks links(recipe);
  return network_matrix<T>(draft_network(recipe.size(), recipe.size(), 0.0, links.count(), links));
}

/// The draft has a further entry for each link to the ground.
Expected expected_plgraph(const Recipe& recipe) {
  const auto rows = static_cast<double>(recipe.size());
  const double entries = PreferentialLinks(recipe).entries();
  return {.rows = rows, .drawn = entries, .scratch_bytes = draft_bytes(rows, entries + recipe["links"])};
}

constexpr std::array<GeneratorParameter, 1> plgraph_parameters{
    {{"links", "of a new vertex, at most the size", 4, 1, 1000, true}}};

}  // namespace

GeneratorEntry plgraph_family() {
  return {.family = {.name = "plgraph",
                     .description = "Laplacian of a graph with preferential attachment, one vertex grounded, vertices "
                                    "shuffled, positive definite",
                     .size_means = "vertices",
                     .default_size = 200'000,
                     .max_size = max_rows,
                     .symmetric = true,
                     .parameters = plgraph_parameters},
          .expected = expected_plgraph,
          .matrix_float = make_plgraph<float>,
          .matrix_double = make_plgraph<double>};
}

}  // namespace tessera::io
