#include "io/coordinate_entries.hpp"
#include "io/matrix_market_header.hpp"
#include "io/source.hpp"
#include "io/value_lines.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {

namespace {

using io::Document;
using io::MemoryBudget;
using io::ParsedHeader;

/// Peak of assemble(): offsets, a copy of the entries, and the result. Checked here so that two large
/// sizes in a header with few entries end in an OutOfMemory that says so.
template <class T>
void reserve_assembly(const MatrixMarketHeader& header, offset_t entries, MemoryBudget& budget) {
  const auto row_bytes = (static_cast<std::uint64_t>(header.rows) + 1) * sizeof(offset_t);
  const auto entry_bytes = static_cast<std::uint64_t>(entries) * (3 * sizeof(index_t) + 2 * sizeof(T));
  budget.reserve(row_bytes + entry_bytes, "compressed rows of the matrix");
}

/// Every value of the file is finite, but the sum of repeated ones need not be.
template <class T>
void check_sums(const Document& document, const CsrView<T>& a) {
  const auto bad = std::find_if(a.values.begin(), a.values.end(), [](T value) { return !std::isfinite(value); });
  if (bad == a.values.end()) return;
  const auto k = bad - a.values.begin();
  const auto row = std::upper_bound(a.row_offsets.begin(), a.row_offsets.end(), k) - a.row_offsets.begin();
  throw InvalidMatrix(fmt::format("{}: the repeated entries at row {}, column {} sum to {}", document.name, row,
                                  a.columns[static_cast<std::size_t>(k)] + 1, *bad));
}

/// \param release_text called once the text is of no use: its memory then serves the assembly
template <class T, class ReleaseText>
MatrixMarketMatrix<T> read_coordinate(const Document& document, const ParsedHeader& parsed, const ReadOptions& options,
                                      MemoryBudget& budget, ReleaseText&& release_text) {
  const MatrixMarketHeader& header = parsed.header;
  const auto entries = io::read_coordinate_entries<T>(document, parsed, options.device, budget);
  if (options.duplicates != Duplicates::error) release_text();
  reserve_assembly<T>(header, entries.count, budget);
  const auto storage = header.field == MatrixMarketField::pattern ? ValueStorage::pattern : ValueStorage::weighted;
  Assembly<T> assembly = assemble<T>(header.rows, header.cols, entries.row_span(), entries.column_span(),
                                     entries.value_span(), storage, Duplicates::sum);
  if (assembly.duplicates > 0 && options.duplicates == Duplicates::error) io::fail_at_duplicate(document, entries);
  if (assembly.duplicates > 0) check_sums(document, assembly.matrix.view());
  return {std::move(assembly.matrix), header, assembly.duplicates, entries.explicit_zeros};
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
  return {std::move(assembly.matrix), header, 0, 0};
}

template <class T, class ReleaseText>
MatrixMarketMatrix<T> read_document(const Document& document, const ReadOptions& options, MemoryBudget& budget,
                                    ReleaseText&& release_text) {
  const ParsedHeader parsed = io::parse_header(document);
  if (parsed.header.format == MatrixMarketFormat::array) return read_array<T>(document, parsed, options, budget);
  return read_coordinate<T>(document, parsed, options, budget, release_text);
}

}  // namespace

template <class T>
MatrixMarketMatrix<T> read_matrix_market(const std::filesystem::path& path, const ReadOptions& options) {
  MemoryBudget budget(options.memory_limit_bytes);
  io::ByteBuffer text = io::load_text(path, budget, options.device);
  return read_document<T>({text.view(), path.string()}, options, budget, [&text] { text.clear(); });
}

template <class T>
MatrixMarketMatrix<T> parse_matrix_market(std::string_view text, const std::string& name, const ReadOptions& options) {
  MemoryBudget budget(options.memory_limit_bytes);
  return read_document<T>({text, name}, options, budget, [] {});
}

template MatrixMarketMatrix<float> read_matrix_market(const std::filesystem::path&, const ReadOptions&);
template MatrixMarketMatrix<double> read_matrix_market(const std::filesystem::path&, const ReadOptions&);
template MatrixMarketMatrix<float> parse_matrix_market(std::string_view, const std::string&, const ReadOptions&);
template MatrixMarketMatrix<double> parse_matrix_market(std::string_view, const std::string&, const ReadOptions&);

}  // namespace tessera
