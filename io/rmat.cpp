#include "core/random.hpp"
#include "io/recipe.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

namespace {

constexpr int max_scale = 30;
constexpr double max_edges = 0x1p40;

void check_options(const RmatOptions& o) {
  if (o.scale < 0 || o.scale > max_scale) {
    throw InvalidArgument(fmt::format("rmat: scale must be in [0, {}], got {}", max_scale, o.scale));
  }
  if (!(o.edge_factor >= 0.0) || std::ldexp(o.edge_factor, o.scale) > max_edges) {
    throw InvalidArgument(
        fmt::format("rmat: edge factor {} at scale {} is not in range: it must not be negative, nor "
                    "give more than 2^40 edges",
                    o.edge_factor, o.scale));
  }
  // Sums of decimal fractions such as 0.57 + 0.19 + 0.19 + 0.05 may exceed 1 by rounding.
  constexpr double slack = 1e-12;
  if (!(o.a >= 0.0) || !(o.b >= 0.0) || !(o.c >= 0.0) || !(o.a + o.b + o.c <= 1.0 + slack)) {
    throw InvalidArgument(fmt::format(
        "rmat: probabilities must not be negative nor add to more than 1, got a={} b={} c={}", o.a, o.b, o.c));
  }
}

struct Edge {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
};

/// Descends `scale` times into one of the four quadrants (Chakrabarti, Zhan, Faloutsos, SDM 2004, §3).
Edge draw_edge(const RmatOptions& o, std::int64_t number) {
  detail::SplitMix64 random(o.seed, static_cast<std::uint64_t>(number));
  Edge edge;
  for (int level = 0; level < o.scale; ++level) {
    const double r = random.uniform();
    // Without branches, which no processor could predict. Order: upper left, upper right, lower left, lower right.
    const unsigned behind_first = r >= o.a ? 1 : 0;
    const unsigned behind_second = r >= o.a + o.b ? 1 : 0;
    const unsigned behind_third = r >= o.a + o.b + o.c ? 1 : 0;
    edge.row = 2 * edge.row + behind_second;
    edge.column = 2 * edge.column + (behind_first - behind_second + behind_third);
  }
  return edge;
}

std::int64_t drawn_edges(const RmatOptions& o) { return std::llround(std::ldexp(o.edge_factor, o.scale)); }

io::Structure rmat_structure(const RmatOptions& options) {
  check_options(options);
  const std::int64_t vertices = std::int64_t{1} << options.scale;
  const detail::Scramble scramble(options.scale, options.seed);
  return io::structure_by_entries(vertices, vertices, drawn_edges(options), [&](std::int64_t k) {
    const Edge edge = draw_edge(options, k);
    if (!options.scramble_ids) return io::DrawnEntry{static_cast<index_t>(edge.row), static_cast<index_t>(edge.column)};
    return io::DrawnEntry{static_cast<index_t>(scramble(edge.row)), static_cast<index_t>(scramble(edge.column))};
  });
}

}  // namespace

template <class T>
Csr<T> rmat(const RmatOptions& options) {
  io::Structure graph = rmat_structure(options);
  return Csr<T>::pattern(graph.rows, graph.cols, std::move(graph.offsets), std::move(graph.columns), Check::trusted);
}

template Csr<float> rmat(const RmatOptions&);
template Csr<double> rmat(const RmatOptions&);

namespace io {

namespace {

/// Least scale with `vertices` or more.
int scale_of(std::int64_t vertices) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(vertices - 1)));
}

RmatOptions options_of(const Recipe& recipe) {
  RmatOptions options;
  options.scale = std::isnan(recipe["scale"]) ? scale_of(recipe.size()) : static_cast<int>(recipe.whole("scale"));
  options.edge_factor = recipe["edge_factor"];
  options.a = recipe["a"];
  options.b = recipe["b"];
  options.c = recipe["c"];
  options.seed = recipe.seed();
  check_options(options);
  return options;
}

Structure make_rmat(const Recipe& recipe) { return rmat_structure(options_of(recipe)); }

Expected expected_rmat(const Recipe& recipe) {
  const RmatOptions options = options_of(recipe);
  return {std::ldexp(1.0, options.scale), static_cast<double>(drawn_edges(options)), true};
}

constexpr std::array<GeneratorParameter, 5> rmat_parameters{
    {{"scale", "2^scale vertices, instead of a size", std::numeric_limits<double>::quiet_NaN(), 0, max_scale, true},
     {"edge_factor", "drawn edges per vertex, before duplicates are removed", 16, 0, 1e6},
     {"a", "probability of the upper left quadrant", 0.57, 0, 1},
     {"b", "of the upper right one", 0.19, 0, 1},
     {"c", "of the lower left one; the fourth has the rest", 0.19, 0, 1}}};

GeneratorFamily graph_family(std::string_view name, std::string_view description, std::int64_t size,
                             ValueStorage storage) {
  return {.name = name,
          .description = description,
          .size_means = "vertices",
          .default_size = size,
          .max_size = std::int64_t{1} << max_scale,
          .storage = storage,
          .parameters = rmat_parameters};
}

}  // namespace

GeneratorEntry rmat_family() {
  return {
      .family = graph_family("rmat", "directed power-law graph, random values; vertices rounded up to a power of two",
                             std::int64_t{1} << 22, ValueStorage::weighted),
      .expected = expected_rmat,
      .structure = make_rmat};
}

GeneratorEntry powerlaw_family() {
  return {.family = graph_family("powerlaw", "the graph of rmat without values, of moderate size",
                                 std::int64_t{1} << 16, ValueStorage::pattern),
          .expected = expected_rmat,
          .structure = make_rmat};
}

}  // namespace io

}  // namespace tessera
