#include "io/coordinate_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

namespace tessera::io {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// What a chunk has seen. Each has a cache line of its own: neighbours are updated by other threads.
struct alignas(64) Tally {
  offset_t zeros = 0;
  offset_t off_diagonal = 0;
  std::int64_t first_lower = never;  ///< line number of the first entry strictly below the diagonal
  std::int64_t first_upper = never;
};

LineRules rules_of(const MatrixMarketHeader& h, bool single_precision) {
  return {h.format, h.field, h.symmetry, h.rows, h.cols, single_precision};
}

template <MatrixMarketField field, class T>
const char* read_entries(CoordinateEntries<T>& out, std::vector<Tally>& tallies, const LineRules& rules,
                         const Device& device) {
  const bool general = rules.symmetry == MatrixMarketSymmetry::general;
  return read_data_lines(out.lines, out.stored, Comments::percent, device,
                         [&, rows = out.rows.data(), columns = out.columns.data(), values = out.values.data()](
                             std::size_t chunk, std::int64_t line, const char*& p, const char* end) {
                           Entry<T> entry;
                           if (!read_line<MatrixMarketFormat::coordinate, field>(p, end, rules, entry)) return false;
                           rows[line] = entry.row;
                           columns[line] = entry.column;
                           Tally& tally = tallies[chunk];
                           if constexpr (field != MatrixMarketField::pattern) {
                             values[line] = entry.value;
                             tally.zeros += entry.value == T{0} ? 1 : 0;
                           }
                           if (general || entry.row == entry.column) return true;
                           ++tally.off_diagonal;
                           std::int64_t& first = entry.row > entry.column ? tally.first_lower : tally.first_upper;
                           if (first == never) first = line;
                           return true;
                         });
}

template <class T>
const char* read_entries_of_field(CoordinateEntries<T>& out, std::vector<Tally>& tallies, const LineRules& rules,
                                  const Device& device) {
  switch (rules.field) {
    case MatrixMarketField::real:
      return read_entries<MatrixMarketField::real>(out, tallies, rules, device);
    case MatrixMarketField::integer:
      return read_entries<MatrixMarketField::integer>(out, tallies, rules, device);
    case MatrixMarketField::pattern:
      return read_entries<MatrixMarketField::pattern>(out, tallies, rules, device);
  }
  return nullptr;
}

/// A symmetric file that holds entries of both strict triangles would be doubled by mirroring.
template <class T>
std::optional<Problem> problem_of_triangles(const Document& document, const CoordinateEntries<T>& entries,
                                            const std::vector<Tally>& tallies, const LineRules& rules) {
  std::int64_t lower = never;
  std::int64_t upper = never;
  for (const Tally& tally : tallies) {
    lower = std::min(lower, tally.first_lower);
    upper = std::min(upper, tally.first_upper);
  }
  if (lower == never || upper == never) return std::nullopt;
  const std::int64_t line = std::max(lower, upper);
  const bool wants_lower = lower < upper;
  return Problem{
      find_data_line(document, entries.lines, line, Comments::percent),
      fmt::format("expected an entry of the {} triangle as before, found ({}, {}): a {} file holds one triangle, the "
                  "other one is its mirror image",
                  wants_lower ? "lower" : "upper", entries.rows[line] + std::int64_t{1},
                  entries.columns[line] + std::int64_t{1}, to_string(rules.symmetry))};
}

/// Appends (j, i, ±v) for every (i, j, v) off the diagonal of a symmetric file.
template <class T>
void mirror(CoordinateEntries<T>& out, const std::vector<Tally>& tallies, const LineRules& rules,
            const Device& device) {
  out.count = out.stored;
  if (rules.symmetry == MatrixMarketSymmetry::general) return;
  std::vector<offset_t> starts;
  for (const Tally& tally : tallies) {
    starts.push_back(out.count);
    out.count += tally.off_diagonal;
  }
  const T sign = rules.symmetry == MatrixMarketSymmetry::skew_symmetric ? T{-1} : T{1};
  host::parallel_tasks(device, static_cast<std::int64_t>(tallies.size()), [&](std::int64_t c) {
    const Chunk& chunk = out.lines.chunks[static_cast<std::size_t>(c)];
    offset_t next = starts[static_cast<std::size_t>(c)];
    for (std::int64_t k = chunk.first_line; k < chunk.first_line + chunk.lines; ++k) {
      if (out.rows[k] == out.columns[k]) continue;
      out.rows[next] = out.columns[k];
      out.columns[next] = out.rows[k];
      if (rules.has_values()) out.values[next] = sign * out.values[k];
      ++next;
    }
  });
}

}  // namespace

template <class T>
CoordinateEntries<T> read_coordinate_entries(const Document& document, const ParsedHeader& parsed, const Device& device,
                                             MemoryBudget& budget) {
  const LineRules rules = rules_of(parsed.header, std::is_same_v<T, float>);
  CoordinateEntries<T> out;
  out.lines = split_data_lines(document, parsed.body, Comments::percent, device);
  // Bounded by the lines that are there, whatever the header claims.
  out.stored = std::min(out.lines.count, parsed.header.entries);
  const bool general = rules.symmetry == MatrixMarketSymmetry::general;
  const offset_t capacity = general ? out.stored : 2 * out.stored;
  const std::size_t value_bytes = rules.has_values() ? sizeof(T) : 0;
  budget.reserve(static_cast<std::uint64_t>(capacity) * (2 * sizeof(index_t) + value_bytes), "entries of the matrix");
  out.rows = Array<index_t>(capacity, Init::none);
  out.columns = Array<index_t>(capacity, Init::none);
  out.values = Array<T>(rules.has_values() ? capacity : 0, Init::none);

  std::vector<Tally> tallies(out.lines.chunks.size());
  std::vector<Problem> problems;
  const char* malformed = read_entries_of_field(out, tallies, rules, device);
  if (malformed != nullptr) problems.push_back(problem_of_line<T>(document, malformed, rules));
  if (auto triangles = problem_of_triangles(document, out, tallies, rules)) problems.push_back(*triangles);
  if (auto count = problem_of_count(document, out.lines, parsed.header.entries, Comments::percent, parsed.size_line)) {
    problems.push_back(*count);
  }
  fail_at_first(document, problems);

  for (const Tally& tally : tallies) out.explicit_zeros += tally.zeros;
  mirror(out, tallies, rules, device);
  return out;
}

template <class T>
void fail_at_duplicate(const Document& document, const CoordinateEntries<T>& entries) {
  struct Position {
    index_t row;
    index_t column;
    std::int64_t line;
  };
  std::vector<Position> positions;
  positions.reserve(static_cast<std::size_t>(entries.stored));
  for (std::int64_t k = 0; k < entries.stored; ++k) positions.push_back({entries.rows[k], entries.columns[k], k});
  std::sort(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
    return std::tie(a.row, a.column, a.line) < std::tie(b.row, b.column, b.line);
  });
  Position first{0, 0, never};
  for (std::size_t k = 1; k < positions.size(); ++k) {
    const Position& p = positions[k];
    const bool repeated = p.row == positions[k - 1].row && p.column == positions[k - 1].column;
    if (repeated && p.line < first.line) first = p;
  }
  if (first.line == never) return;
  fail_at(document, find_data_line(document, entries.lines, first.line, Comments::percent),
          fmt::format("expected every position once, found ({}, {}) again", first.row + std::int64_t{1},
                      first.column + std::int64_t{1}));
}

template CoordinateEntries<float> read_coordinate_entries(const Document&, const ParsedHeader&, const Device&,
                                                          MemoryBudget&);
template CoordinateEntries<double> read_coordinate_entries(const Document&, const ParsedHeader&, const Device&,
                                                           MemoryBudget&);
template void fail_at_duplicate(const Document&, const CoordinateEntries<float>&);
template void fail_at_duplicate(const Document&, const CoordinateEntries<double>&);

}  // namespace tessera::io
