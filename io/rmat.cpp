#include "core/parallel.hpp"
#include "core/random.hpp"
#include "tessera/assemble.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <cmath>

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
  io::SplitMix64 random(o.seed, static_cast<std::uint64_t>(number));
  Edge edge;
  for (int level = 0; level < o.scale; ++level) {
    const double r = random.uniform();
    const bool lower = r >= o.a + o.b;
    const bool right = lower ? r >= o.a + o.b + o.c : r >= o.a;
    edge.row = 2 * edge.row + (lower ? 1 : 0);
    edge.column = 2 * edge.column + (right ? 1 : 0);
  }
  return edge;
}

}  // namespace

template <class T>
Csr<T> rmat(const RmatOptions& options) {
  check_options(options);
  const std::int64_t vertices = std::int64_t{1} << options.scale;
  const std::int64_t edges = std::llround(std::ldexp(options.edge_factor, options.scale));
  Array<index_t> rows(edges, Init::none);
  Array<index_t> columns(edges, Init::none);
  const io::Scramble scramble(options.scale, options.seed);
  host::parallel_for(Device{}, edges, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const Edge edge = draw_edge(options, k);
      rows[k] = static_cast<index_t>(options.scramble_ids ? scramble(edge.row) : edge.row);
      columns[k] = static_cast<index_t>(options.scramble_ids ? scramble(edge.column) : edge.column);
    }
  });
  return assemble<T>(vertices, vertices, rows.span(), columns.span(), {}, ValueStorage::pattern).matrix;
}

template Csr<float> rmat(const RmatOptions&);
template Csr<double> rmat(const RmatOptions&);

}  // namespace tessera
