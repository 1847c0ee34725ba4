// Odd structures: their positions one by one, then values that follow from seed and position alone.
#include "support/odd_structures.hpp"

#include "core/random.hpp"
#include "tessera/assemble.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tessera::support {

namespace {

using detail::Permutation;
using detail::SplitMix64;

/// How values follow from positions.
enum class Values {
  independent,  ///< uniform in (-1, 1)
  dominant,     ///< symmetric: uniform in (-1, 0), and diagonal entries that exceed the sum of their row
};

/// Positions in any order, where one may come several times.
class Positions {
 public:
  Positions(std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols) {}

  void add(std::int64_t i, std::int64_t j) {
    row_indices_.push_back(static_cast<index_t>(i));
    column_indices_.push_back(static_cast<index_t>(j));
  }
  void add(std::int64_t i, std::uint64_t j) { add(i, static_cast<std::int64_t>(j)); }
  /// (i, j) and (j, i).
  void add_pair(std::int64_t i, std::int64_t j) {
    add(i, j);
    add(j, i);
  }
  void add_diagonal() {
    for (std::int64_t i = 0; i < rows_; ++i) add(i, i);
  }

  [[nodiscard]] Csr<double> pattern() const {
    return assemble<double>(rows_, cols_, row_indices_, column_indices_, {}, ValueStorage::pattern).matrix;
  }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::vector<index_t> row_indices_;
  std::vector<index_t> column_indices_;
};

/// A generated graph and its transpose, cut to its first vertices, with a full diagonal.
Positions undirected(const GeneratorSpec& graph, std::int64_t rows) {
  const Csr<double> links = generate<double>(graph, ValueStorage::pattern);
  const CsrView<double> view = links.view();
  Positions result(rows, rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = view.row_offsets[row]; k < view.row_offsets[row + 1]; ++k) {
      const index_t j = view.columns[static_cast<std::size_t>(k)];
      if (j < rows) result.add_pair(i, j);
    }
  }
  result.add_diagonal();
  return result;
}

Positions star(std::int64_t n, std::uint64_t seed) {
  Positions result(n, n);
  const auto hub = static_cast<std::int64_t>(SplitMix64(seed).below(static_cast<std::uint64_t>(n)));
  for (std::int64_t i = 0; i < n; ++i) result.add_pair(hub, i);
  result.add_diagonal();
  return result;
}

Positions hubs(std::int64_t n, std::uint64_t seed) {
  constexpr std::int64_t most_hubs = 5;
  Positions result(n, n);
  result.add_diagonal();
  for (std::int64_t i = 1; i < n; ++i) result.add_pair(i, i - 1);
  SplitMix64 random(seed);
  const Permutation hub(static_cast<std::uint64_t>(n), random.next());
  for (std::int64_t h = 0; h < std::min(most_hubs, n); ++h) {
    const Permutation neighbour(static_cast<std::uint64_t>(n), random.next());
    const auto row = static_cast<std::int64_t>(hub(static_cast<std::uint64_t>(h)));
    for (std::int64_t k = 0; k < n / 10; ++k) {
      result.add_pair(row, static_cast<std::int64_t>(neighbour(static_cast<std::uint64_t>(k))));
    }
  }
  return result;
}

Positions chain(std::int64_t n, std::uint64_t seed) {
  return undirected({.family = "kmer", .size = n, .seed = seed, .parameters = {{"chain", 1.0}, {"cross", 0.0}}}, n);
}

Positions components(std::int64_t n, std::uint64_t seed) {
  return undirected({.family = "kmer", .size = n, .seed = seed, .parameters = {{"chain", 0.8}, {"cross", 0.0}}}, n);
}

Positions powerlaw(std::int64_t n, std::uint64_t seed) {
  return undirected({.family = "powerlaw", .size = n, .seed = seed, .parameters = {{"edge_factor", 4.0}}}, n);
}

Positions random_graph(std::int64_t n, std::uint64_t seed) {
  Positions result(n, n);
  result.add_diagonal();
  SplitMix64 random(seed);
  for (std::int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 5; ++k) result.add(i, random.below(static_cast<std::uint64_t>(n)));
  }
  return result;
}

Positions triangular(std::int64_t n, std::uint64_t seed) {
  Positions result(n, n);
  result.add_diagonal();
  SplitMix64 random(seed);
  for (std::int64_t i = 1; i < n; ++i) {
    for (int k = 0; k < 5; ++k) result.add(i, random.below(static_cast<std::uint64_t>(i)));
  }
  return result;
}

/// [H Bᵀ; B 0] with a tridiagonal H; each constraint has a column of its own in B, so that B has full rank.
Positions kkt(std::int64_t n, std::uint64_t seed) {
  const std::int64_t constraints = n / 4;
  const std::int64_t unknowns = n - constraints;
  Positions result(n, n);
  for (std::int64_t i = 0; i < unknowns; ++i) result.add(i, i);
  for (std::int64_t i = 1; i < unknowns; ++i) result.add_pair(i, i - 1);
  SplitMix64 random(seed);
  const Permutation own(static_cast<std::uint64_t>(unknowns), random.next());
  for (std::int64_t c = 0; c < constraints; ++c) {
    result.add_pair(unknowns + c, static_cast<std::int64_t>(own(static_cast<std::uint64_t>(c))));
    for (int k = 0; k < 2; ++k) {
      result.add_pair(unknowns + c, static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(unknowns))));
    }
  }
  return result;
}

Positions rectangular(std::int64_t n, std::uint64_t seed) {
  const std::int64_t cols = std::max<std::int64_t>(n / 2, 1);
  Positions result(n, cols);
  SplitMix64 random(seed);
  for (std::int64_t i = 0; i < n; ++i) {
    result.add(i, i % cols);
    for (int k = 0; k < 3; ++k) result.add(i, random.below(static_cast<std::uint64_t>(cols)));
  }
  return result;
}

Positions empty_rows(std::int64_t n, std::uint64_t seed) {
  Positions result(n, n);
  SplitMix64 random(seed);
  for (std::int64_t i = 0; i < n; ++i) {
    if (random.below(10) == 0) continue;
    result.add(i, i);
    for (int k = 0; k < 2; ++k) result.add(i, random.below(static_cast<std::uint64_t>(n)));
  }
  return result;
}

/// Random bits of a position.
std::uint64_t bits_at(std::uint64_t seed, index_t i, index_t j) {
  return SplitMix64(seed, (static_cast<std::uint64_t>(i) << 32) | static_cast<std::uint64_t>(j)).next();
}

/// Magnitudes uniform in (0, 1), and so never 0, but on a dominant diagonal.
Csr<double> with_values(const Csr<double>& pattern, Values kind, std::uint64_t seed) {
  const CsrView<double> view = pattern.view();
  Array<double> values(view.nnz(), Init::none);
  for (index_t i = 0; i < view.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    offset_t diagonal = -1;
    double sum = 0.0;
    for (offset_t k = view.row_offsets[row]; k < view.row_offsets[row + 1]; ++k) {
      const index_t j = view.columns[static_cast<std::size_t>(k)];
      const bool is_mirrored = kind == Values::dominant && j < i;
      const std::uint64_t bits = is_mirrored ? bits_at(seed, j, i) : bits_at(seed, i, j);
      const double magnitude = static_cast<double>((bits >> 11) | 1U) * 0x1p-53;
      const bool is_negative = kind == Values::dominant ? i != j : (bits & 1U) != 0;
      values[k] = is_negative ? -magnitude : magnitude;
      if (i == j) diagonal = k;
      sum += magnitude;  // that of the diagonal entry is what it exceeds the others by
    }
    if (kind == Values::dominant && diagonal >= 0) values[diagonal] = sum;
  }
  return pattern.with_values(std::move(values));
}

struct Recipe {
  OddStructure structure;
  Positions (*positions)(std::int64_t rows, std::uint64_t seed);
  Values values;
};

constexpr std::array<Recipe, 10> recipes{{
    {{"star", "one row and one column are full"}, star, Values::dominant},
    {{"hubs", "tridiagonal, and five rows and columns of n/10 random entries each"}, hubs, Values::independent},
    {{"chain", "tridiagonal, numbered at random"}, chain, Values::dominant},
    {{"components", "chains of 5 rows in the mean, numbered at random"}, components, Values::dominant},
    {{"powerlaw", "a recursive-matrix graph of at most 8 entries per row in the mean, undirected"},
     powerlaw,
     Values::dominant},
    {{"random", "five random columns per row, and the diagonal"}, random_graph, Values::independent},
    {{"triangular", "five random columns per row left of the diagonal"}, triangular, Values::independent},
    {{"kkt", "[H B^T; B 0], H tridiagonal, n/4 constraints of three random unknowns"}, kkt, Values::dominant},
    {{"rectangular", "n x n/2, four columns per row, three of them random"}, rectangular, Values::independent},
    {{"empty-rows", "a tenth of the rows is empty, the others have two random columns and the diagonal"},
     empty_rows,
     Values::independent},
}};

constexpr std::array<OddStructure, recipes.size()> structures = [] {
  std::array<OddStructure, recipes.size()> result{};
  for (std::size_t k = 0; k < recipes.size(); ++k) result[k] = recipes[k].structure;
  return result;
}();

const Recipe& recipe_of(std::string_view name) {
  const auto* const found =
      std::find_if(recipes.begin(), recipes.end(), [&](const Recipe& recipe) { return recipe.structure.name == name; });
  if (found != recipes.end()) return *found;
  std::array<std::string_view, structures.size()> names;
  std::transform(structures.begin(), structures.end(), names.begin(),
                 [](const OddStructure& structure) { return structure.name; });
  throw InvalidArgument(
      fmt::format("unknown structure '{}': known are {}{}", name, fmt::join(names, ", "), nearest_hint(name, names)));
}

}  // namespace

std::span<const OddStructure> odd_structures() { return structures; }

Csr<double> odd_matrix(std::string_view name, std::int64_t rows, std::uint64_t seed) {
  const Recipe& recipe = recipe_of(name);
  if (rows < 1 || rows > std::numeric_limits<index_t>::max()) {
    throw InvalidArgument(fmt::format("{}: {} rows are not within 1 ... 2^31 - 1", name, rows));
  }
  return with_values(recipe.positions(rows, seed).pattern(), recipe.values, seed);
}

}  // namespace tessera::support
