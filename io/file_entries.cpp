#include "io/file_entries.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

std::string position(index_t row, index_t column) {
  return fmt::format("({}, {})", row + std::int64_t{1}, column + std::int64_t{1});
}

template <class T>
void check_entries(const FileEntries<T>& entries, const std::string& name) {
  const MatrixMarketHeader& h = entries.header;
  for (std::int64_t k = 0; k < entries.rows.size(); ++k) {
    const index_t i = entries.rows[k];
    const index_t j = entries.columns[k];
    if (i < 0 || i >= h.rows || j < 0 || j >= h.cols) {
      throw InvalidMatrix(fmt::format("{}: entry {} is at {}, outside the {} x {} matrix", name, k + 1, position(i, j),
                                      h.rows, h.cols));
    }
  }
  for (std::int64_t k = 0; k < entries.values.size(); ++k) {
    if (std::isfinite(entries.values[k])) continue;
    throw InvalidMatrix(fmt::format("{}: the value at {} is {}{}", name, position(entries.rows[k], entries.columns[k]),
                                    entries.values[k], sizeof(T) < sizeof(double) ? " in single precision" : ""));
  }
}

/// Appends (j, i, ±v) for every (i, j, v) off the diagonal of a symmetric file.
template <class T>
FileEntries<T> mirrored(FileEntries<T> stored, const std::string& name, MemoryBudget& budget) {
  const MatrixMarketHeader& h = stored.header;
  if (h.symmetry == MatrixMarketSymmetry::general) return stored;
  const bool skew = h.symmetry == MatrixMarketSymmetry::skew_symmetric;
  if (h.rows != h.cols) {
    throw InvalidMatrix(
        fmt::format("{}: a {} matrix is square, found {} x {}", name, to_string(h.symmetry), h.rows, h.cols));
  }
  const std::int64_t count = stored.rows.size();
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    lower += stored.rows[k] > stored.columns[k] ? 1 : 0;
    upper += stored.rows[k] < stored.columns[k] ? 1 : 0;
    if (skew && stored.rows[k] == stored.columns[k] && stored.values[k] != T{0}) {
      throw InvalidMatrix(fmt::format("{}: a skew-symmetric matrix has a zero diagonal, found {} at {}", name,
                                      stored.values[k], position(stored.rows[k], stored.columns[k])));
    }
  }
  if (lower > 0 && upper > 0) {
    throw InvalidMatrix(
        fmt::format("{}: a {} file holds one triangle, found {} entries of the lower and {} of the upper one", name,
                    to_string(h.symmetry), lower, upper));
  }
  MatrixMarketHeader expanded = h;
  expanded.entries = count + lower + upper;
  FileEntries<T> all = allocate_entries<T>(expanded, budget);
  std::int64_t next = count;
  for (std::int64_t k = 0; k < count; ++k) {
    all.rows[k] = stored.rows[k];
    all.columns[k] = stored.columns[k];
    if (!stored.values.empty()) all.values[k] = stored.values[k];
    if (stored.rows[k] == stored.columns[k]) continue;
    all.rows[next] = stored.columns[k];
    all.columns[next] = stored.rows[k];
    if (!stored.values.empty()) all.values[next] = skew ? -stored.values[k] : stored.values[k];
    ++next;
  }
  all.header.entries = count;
  return all;
}

}  // namespace

template <class T>
FileEntries<T> allocate_entries(const MatrixMarketHeader& header, MemoryBudget& budget) {
  const bool weighted = header.field != MatrixMarketField::pattern;
  const std::uint64_t bytes = 2 * sizeof(index_t) + (weighted ? sizeof(T) : 0);
  budget.reserve(static_cast<std::uint64_t>(header.entries) * bytes, "entries of the matrix");
  return {header, Array<index_t>(header.entries, Init::none), Array<index_t>(header.entries, Init::none),
          Array<T>(weighted ? header.entries : 0, Init::none)};
}

template <class T>
MatrixMarketMatrix<T> assemble_entries(FileEntries<T> entries, const std::string& name, const ReadOptions& options,
                                       MemoryBudget& budget) {
  check_entries(entries, name);
  const auto zeros = static_cast<offset_t>(std::count(entries.values.begin(), entries.values.end(), T{0}));
  const FileEntries<T> all = mirrored(std::move(entries), name, budget);
  const MatrixMarketHeader& h = all.header;
  // The peak of assemble(): offsets, a copy of the entries, and the result.
  const auto count = static_cast<std::uint64_t>(all.rows.size());
  budget.reserve((static_cast<std::uint64_t>(h.rows) + 1) * sizeof(offset_t) +
                     count * (3 * sizeof(index_t) + (all.values.empty() ? 0 : 2 * sizeof(T))),
                 "compressed rows of the matrix");
  const auto storage = h.field == MatrixMarketField::pattern ? ValueStorage::pattern : ValueStorage::weighted;
  Assembly<T> assembly =
      assemble<T>(h.rows, h.cols, all.rows.span(), all.columns.span(), all.values.span(), storage, Duplicates::sum);
  if (assembly.duplicates > 0 && options.duplicates == Duplicates::error) {
    const std::int64_t k = first_repeated(all.rows.span(), all.columns.span()).value_or(0);
    throw InvalidMatrix(
        fmt::format("{}: expected every position once, found {} again", name, position(all.rows[k], all.columns[k])));
  }
  if (assembly.duplicates > 0) check_sums(name, assembly.matrix.view());
  return {std::move(assembly.matrix), h, assembly.duplicates, zeros, std::nullopt};
}

std::optional<std::int64_t> first_repeated(std::span<const index_t> rows, std::span<const index_t> columns) {
  struct Position {
    index_t row;
    index_t column;
    std::int64_t entry;
  };
  std::vector<Position> positions;
  positions.reserve(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k)
    positions.push_back({rows[k], columns[k], static_cast<std::int64_t>(k)});
  std::sort(positions.begin(), positions.end(), [](const Position& a, const Position& b) {
    return std::tie(a.row, a.column, a.entry) < std::tie(b.row, b.column, b.entry);
  });
  std::optional<std::int64_t> first;
  for (std::size_t k = 1; k < positions.size(); ++k) {
    const Position& p = positions[k];
    const bool repeated = p.row == positions[k - 1].row && p.column == positions[k - 1].column;
    if (repeated && (!first || p.entry < *first)) first = p.entry;
  }
  return first;
}

template <class T>
void check_sums(const std::string& name, const CsrView<T>& a) {
  const auto bad = std::find_if(a.values.begin(), a.values.end(), [](T value) { return !std::isfinite(value); });
  if (bad == a.values.end()) return;
  const auto k = bad - a.values.begin();
  const auto row = std::upper_bound(a.row_offsets.begin(), a.row_offsets.end(), k) - a.row_offsets.begin();
  throw InvalidMatrix(fmt::format("{}: the repeated entries at row {}, column {} sum to {}", name, row,
                                  a.columns[static_cast<std::size_t>(k)] + 1, *bad));
}

template FileEntries<float> allocate_entries(const MatrixMarketHeader&, MemoryBudget&);
template FileEntries<double> allocate_entries(const MatrixMarketHeader&, MemoryBudget&);
template MatrixMarketMatrix<float> assemble_entries(FileEntries<float>, const std::string&, const ReadOptions&,
                                                    MemoryBudget&);
template MatrixMarketMatrix<double> assemble_entries(FileEntries<double>, const std::string&, const ReadOptions&,
                                                     MemoryBudget&);
template void check_sums(const std::string&, const CsrView<float>&);
template void check_sums(const std::string&, const CsrView<double>&);

}  // namespace tessera::io
