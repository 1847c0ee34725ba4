// Matrix Market matrices: coordinate files, read by many threads and expanded to general storage, and array files.
#include "core/memory_budget.hpp"
#include "io/data_chunks.hpp"
#include "io/file_entries.hpp"
#include "io/matrix_market_header.hpp"
#include "io/matrix_readers.hpp"
#include "io/rounded_integers.hpp"
#include "io/source.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

namespace io {

namespace {

/// 0-based. Entry k < stored comes from data line k; behind them lie the mirrored entries of a symmetric file.
template <class T>
struct CoordinateEntries {
  DataLines lines;
  Array<index_t> rows;
  Array<index_t> columns;
  Array<T> values;  ///< empty for a pattern file
  offset_t stored = 0;
  offset_t count = 0;  ///< stored and mirrored; the arrays may be longer
  offset_t explicit_zeros = 0;

  [[nodiscard]] std::span<const index_t> row_span() const { return first_of(rows.span()); }
  [[nodiscard]] std::span<const index_t> column_span() const { return first_of(columns.span()); }
  [[nodiscard]] std::span<const T> value_span() const { return first_of(values.span()); }
  /// Without the mirrored ones.
  [[nodiscard]] std::span<const T> stored_values() const {
    return values.empty() ? values.span() : values.span().first(static_cast<std::size_t>(stored));
  }

 private:
  template <class U>
  std::span<const U> first_of(std::span<const U> all) const {
    return all.empty() ? all : all.first(static_cast<std::size_t>(count));
  }
};

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Counters of a chunk, in a separate cache line each: other threads update the neighbours.
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
                           TextEntry<T> entry;
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
    const LineChunk& chunk = out.lines.chunks[static_cast<std::size_t>(c)];
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

/// \throws ParseError for the first malformed or surplus line, a wrong number of lines, or entries in both triangles of
///         a symmetric file; OutOfMemory
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

/// \throws ParseError at the first line whose position an earlier line holds already
template <class T>
void fail_at_duplicate(const Document& document, const CoordinateEntries<T>& entries) {
  const auto stored = static_cast<std::size_t>(entries.stored);
  const auto line = first_repeated(entries.rows.span().first(stored), entries.columns.span().first(stored));
  if (!line) return;
  fail_at(document, find_data_line(document, entries.lines, *line, Comments::percent),
          fmt::format("expected every position once, found ({}, {}) again", entries.rows[*line] + std::int64_t{1},
                      entries.columns[*line] + std::int64_t{1}));
}

}  // namespace

}  // namespace io

namespace {

using detail::MemoryBudget;
using io::Document;
using io::ParsedHeader;

/// Peak of assemble(): offsets, a copy of the entries, and the result. Checked here so that two large
/// sizes in a header with few entries end in an OutOfMemory that says so.
template <class T>
void reserve_assembly(const MatrixMarketHeader& header, offset_t entries, MemoryBudget& budget) {
  const auto row_bytes = (static_cast<std::uint64_t>(header.rows) + 1) * sizeof(offset_t);
  const auto entry_bytes = static_cast<std::uint64_t>(entries) * (3 * sizeof(index_t) + 2 * sizeof(T));
  budget.reserve(row_bytes + entry_bytes, "compressed rows of the matrix");
}

/// \param release_text called when the text is no longer needed, so that assembly can use its memory
template <class T>
MatrixMarketMatrix<T> read_coordinate(const Document& document, const ParsedHeader& parsed, const ReadOptions& options,
                                      MemoryBudget& budget, const std::function<void()>& release_text) {
  const MatrixMarketHeader& header = parsed.header;
  const auto entries = io::read_coordinate_entries<T>(document, parsed, options.device, budget);
  const auto rounded = io::first_rounded_integer<T>(document, parsed, entries.stored_values());
  if (options.duplicates != Duplicates::error) release_text();
  reserve_assembly<T>(header, entries.count, budget);
  const auto storage = header.field == MatrixMarketField::pattern ? ValueStorage::pattern : ValueStorage::weighted;
  Assembly<T> assembly = assemble<T>(header.rows, header.cols, entries.row_span(), entries.column_span(),
                                     entries.value_span(), storage, Duplicates::sum);
  if (assembly.duplicates > 0 && options.duplicates == Duplicates::error) io::fail_at_duplicate(document, entries);
  // Every value of the file is finite; a sum of repeated entries may overflow.
  if (assembly.duplicates > 0) io::check_sums(document.name, assembly.matrix.view());
  return {std::move(assembly.matrix), header, assembly.duplicates, entries.explicit_zeros, rounded};
}

/// Calls visit(i, j, v) for every nonzero of an array file, mirror images included.
template <class T, class Visit>
void for_each_nonzero(const MatrixMarketHeader& header, const Array<T>& values, Visit&& visit) {
  const bool general = header.symmetry == MatrixMarketSymmetry::general;
  const bool skew = header.symmetry == MatrixMarketSymmetry::skew_symmetric;
  std::int64_t k = 0;
  for (std::int64_t j = 0; j < header.cols; ++j) {
    for (std::int64_t i = general ? 0 : (skew ? j + 1 : j); i < header.rows; ++i) {
      const T value = values[k++];
      if (value == T{0}) continue;
      visit(static_cast<index_t>(i), static_cast<index_t>(j), value);
      if (!general && i != j) visit(static_cast<index_t>(j), static_cast<index_t>(i), skew ? -value : value);
    }
  }
}

template <class T>
MatrixMarketMatrix<T> read_array(const Document& document, const ParsedHeader& parsed, const ReadOptions& options,
                                 MemoryBudget& budget) {
  const MatrixMarketHeader& header = parsed.header;
  const Array<T> values = io::read_array_values<T>(document, parsed, options.device, budget);
  const auto rounded = io::first_rounded_integer<T>(document, parsed, values.span());
  offset_t nonzeros = 0;
  // A file without values may still declare 2^31 - 1 columns or rows.
  if (header.entries > 0) for_each_nonzero(header, values, [&](index_t, index_t, T) { ++nonzeros; });
  budget.reserve(static_cast<std::uint64_t>(nonzeros) * (2 * sizeof(index_t) + sizeof(T)), "entries of the matrix");
  Array<index_t> rows(nonzeros, Init::none);
  Array<index_t> columns(nonzeros, Init::none);
  Array<T> kept(nonzeros, Init::none);
  offset_t next = 0;
  if (nonzeros > 0) {
    for_each_nonzero(header, values, [&](index_t i, index_t j, T value) {
      rows[next] = i;
      columns[next] = j;
      kept[next] = value;
      ++next;
    });
  }
  reserve_assembly<T>(header, nonzeros, budget);
  Assembly<T> assembly = assemble<T>(header.rows, header.cols, rows.span(), columns.span(), kept.span());
  return {std::move(assembly.matrix), header, 0, 0, rounded};
}

}  // namespace

template <class T>
MatrixMarketMatrix<T> io::read_matrix_market_text(const Document& document, const ReadOptions& options,
                                                  MemoryBudget& budget, const std::function<void()>& release_text) {
  const ParsedHeader parsed = parse_header(document);
  if (parsed.header.format == MatrixMarketFormat::array) return read_array<T>(document, parsed, options, budget);
  return read_coordinate<T>(document, parsed, options, budget, release_text);
}

template <class T>
MatrixMarketMatrix<T> read_matrix_market(const std::filesystem::path& path, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  io::ByteBuffer text = io::load_text(path, budget, options.device);
  return io::read_matrix_market_text<T>({text.view(), path.string()}, options, budget, [&text] { text.clear(); });
}

template <class T>
MatrixMarketMatrix<T> parse_matrix_market(std::string_view text, const std::string& name, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  return io::read_matrix_market_text<T>({text, name}, options, budget, [] {});
}

template MatrixMarketMatrix<float> io::read_matrix_market_text(const Document&, const ReadOptions&, MemoryBudget&,
                                                               const std::function<void()>&);
template MatrixMarketMatrix<double> io::read_matrix_market_text(const Document&, const ReadOptions&, MemoryBudget&,
                                                                const std::function<void()>&);
template MatrixMarketMatrix<float> read_matrix_market(const std::filesystem::path&, const ReadOptions&);
template MatrixMarketMatrix<double> read_matrix_market(const std::filesystem::path&, const ReadOptions&);
template MatrixMarketMatrix<float> parse_matrix_market(std::string_view, const std::string&, const ReadOptions&);
template MatrixMarketMatrix<double> parse_matrix_market(std::string_view, const std::string&, const ReadOptions&);

}  // namespace tessera
