#include "io/data_chunks.hpp"
#include "io/foreign_formats.hpp"
#include "io/matrix_market_header.hpp"
#include "io/matrix_path.hpp"
#include "io/matrix_readers.hpp"
#include "io/source.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_file_info.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/multi_vector_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera {

namespace {

using detail::MemoryBudget;
using io::Document;
using io::ParsedHeader;

template <class T>
std::vector<T> to_vector(const Array<T>& values, MemoryBudget& budget) {
  budget.reserve(values.bytes(), "vector");
  return {values.begin(), values.end()};
}

/// Where a header tells the size, this comes before the memory that the size asks for.
void require_size(const std::string& name, std::int64_t found, std::int64_t expected) {
  if (expected == any_size || found == expected) return;
  throw DimensionError(fmt::format("{} has {} elements, expected {}", name, found, expected));
}

/// A coordinate file, or an array file that is not stored in full: read as a matrix, missing entries are 0.
template <class T>
std::vector<T> read_as_matrix(const Document& document, const ParsedHeader& parsed, ReadOptions options,
                              MemoryBudget& budget) {
  const std::int64_t size = parsed.header.cols == 1 ? parsed.header.rows : parsed.header.cols;
  options.memory_limit_bytes = std::max<std::uint64_t>(budget.left(), 1);  // 0 would mean no limit
  const auto file = parse_matrix_market<T>(document.text, document.name, options);
  const CsrView<T> a = file.matrix.view();
  budget.reserve(static_cast<std::uint64_t>(size) * sizeof(T) + file.matrix.bytes(), "vector");
  std::vector<T> vector(static_cast<std::size_t>(size), T{0});
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const index_t j = a.columns[static_cast<std::size_t>(k)];
      vector[static_cast<std::size_t>(std::max(i, j))] = a.value(k);
    }
  }
  return vector;
}

/// One number per line, without a header.
template <class T>
std::vector<T> read_plain(const Document& document, const ReadOptions& options, std::int64_t expected,
                          MemoryBudget& budget) {
  if (const auto foreign = io::foreign_vector_format(document.text)) {
    io::fail_at(document, document.begin(),
                fmt::format("expected a vector (Matrix Market, or one number per line), found {}; hint: {}",
                            foreign->name, foreign->remedy));
  }
  const Array<T> values = io::read_plain_values<T>(document, options.device, budget);
  require_size(document.name, values.size(), expected);
  return to_vector(values, budget);
}

template <class T>
std::vector<T> read_document(const Document& document, const ReadOptions& options, std::int64_t expected,
                             MemoryBudget& budget) {
  if (!io::has_banner(document)) return read_plain<T>(document, options, expected, budget);
  const ParsedHeader parsed = io::parse_header(document);
  const MatrixMarketHeader& h = parsed.header;
  if (h.rows != 1 && h.cols != 1) {
    io::fail_at(document, parsed.size_line,
                fmt::format("expected a vector (one row or one column), found a {} x {} matrix", h.rows, h.cols));
  }
  require_size(document.name, h.cols == 1 ? h.rows : h.cols, expected);
  if (h.format == MatrixMarketFormat::coordinate || h.symmetry != MatrixMarketSymmetry::general) {
    return read_as_matrix<T>(document, parsed, options, budget);
  }
  return to_vector(io::read_array_values<T>(document, parsed, options.device, budget), budget);
}

/// The vectors of a file of another format than text; nothing for text and for what is no such format.
template <class T>
std::optional<MultiVector<T>> read_binary_columns(const io::FileBytes& file, MemoryBudget& budget) {
  if (io::is_npy(file.bytes)) return io::read_npy_columns<T>(file, budget);
  if (io::is_petsc(file.bytes)) return io::read_petsc_columns<T>(file, budget);
  if (io::is_mat(file.bytes)) return io::read_mat_columns<T>(file, budget);
  if (io::is_amgx(file.bytes)) return io::read_amgx_columns<T>(file, budget);
  if (!io::has_banner({file.bytes, file.name}) && io::is_harwell_boeing(file.bytes)) {
    return io::read_harwell_boeing_columns<T>(file, budget);
  }
  return std::nullopt;
}

/// The elements of a file that holds one vector.
template <class T>
std::vector<T> one_vector(MultiVector<T> columns, const std::string& name, std::int64_t expected) {
  if (columns.rows != 1 && columns.columns != 1) {
    throw ParseError::at_byte(name, 0,
                              fmt::format("expected a vector (one row or one column), found a {} x {} matrix",
                                          columns.rows, columns.columns));
  }
  require_size(name, static_cast<std::int64_t>(columns.elements.size()), expected);
  return std::move(columns.elements);
}

template <class T>
MultiVector<T> with_rows(MultiVector<T> columns, const std::string& name, std::int64_t rows) {
  if (columns.columns == 1 || (columns.rows == 1 && rows != 1)) {
    return {one_vector(std::move(columns), name, rows), rows, 1};
  }
  if (columns.rows != rows) {
    throw DimensionError(
        fmt::format("{} has {} rows and {} columns, expected {} rows", name, columns.rows, columns.columns, rows));
  }
  if (columns.columns == 0) throw ParseError::at_byte(name, 0, "expected vectors, found no column");
  return columns;
}

/// A coordinate file, or an array file that is not stored in full: read as a matrix, missing entries are 0.
template <class T>
std::vector<T> read_columns(const Document& document, const ParsedHeader& parsed, ReadOptions options,
                            MemoryBudget& budget) {
  const MatrixMarketHeader& h = parsed.header;
  options.memory_limit_bytes = std::max<std::uint64_t>(budget.left(), 1);  // 0 would mean no limit
  const auto file = parse_matrix_market<T>(document.text, document.name, options);
  const CsrView<T> a = file.matrix.view();
  const auto elements = static_cast<std::uint64_t>(h.rows) * static_cast<std::uint64_t>(h.cols);
  budget.reserve(elements * sizeof(T) + file.matrix.bytes(), "vectors");
  std::vector<T> columns(elements, T{0});
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const auto column = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      columns[column * static_cast<std::size_t>(h.rows) + row] = a.value(k);
    }
  }
  return columns;
}

/// Whether a header tells of one vector: its one row is not a row of several columns.
bool is_one_vector(const MatrixMarketHeader& header, std::int64_t rows) {
  return header.cols == 1 || (header.rows == 1 && rows != 1);
}

}  // namespace

template <class T>
MultiVector<T> read_multi_vector(const std::filesystem::path& path, std::int64_t rows, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  const io::MatrixPath named = io::split_matrix_path(path);
  const io::ByteBuffer text = io::load_text(named.file, budget, options.device);
  const Document document{text.view(), path.string()};
  if (auto columns = read_binary_columns<T>({text.view(), document.name, named.variable}, budget)) {
    return with_rows(std::move(*columns), document.name, rows);
  }
  if (!io::has_banner(document)) return {read_plain<T>(document, options, rows, budget), rows, 1};
  const ParsedHeader parsed = io::parse_header(document);
  const MatrixMarketHeader& h = parsed.header;
  if (is_one_vector(h, rows)) return {read_document<T>(document, options, rows, budget), rows, 1};
  if (h.rows != rows) {
    throw DimensionError(
        fmt::format("{} has {} rows and {} columns, expected {} rows", path.string(), h.rows, h.cols, rows));
  }
  if (h.cols == 0) io::fail_at(document, parsed.size_line, "expected vectors, found no column");
  const bool is_full = h.format == MatrixMarketFormat::array && h.symmetry == MatrixMarketSymmetry::general;
  if (!is_full) return {read_columns<T>(document, parsed, options, budget), h.rows, h.cols};
  return {to_vector(io::read_array_values<T>(document, parsed, options.device, budget), budget), h.rows, h.cols};
}

std::optional<std::int64_t> columns_of_file(const std::filesystem::path& path, std::int64_t rows) {
  if (path.extension() == ".txt") return 1;
  std::optional<MatrixFileInfo> info;
  try {
    info = read_matrix_file_info(path);
  } catch (const ParseError&) {
    return std::nullopt;
  }
  if (!info) return std::nullopt;
  return is_one_vector(info->header, rows) ? 1 : std::int64_t{info->header.cols};
}

template <class T>
std::vector<T> read_vector(const std::filesystem::path& path, const ReadOptions& options, std::int64_t expected) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  const io::MatrixPath named = io::split_matrix_path(path);
  const io::ByteBuffer text = io::load_text(named.file, budget, options.device);
  if (auto columns = read_binary_columns<T>({text.view(), path.string(), named.variable}, budget)) {
    return one_vector(std::move(*columns), path.string(), expected);
  }
  return read_document<T>({text.view(), path.string()}, options, expected, budget);
}

template <class T>
std::vector<T> parse_vector(std::string_view text, const std::string& name, const ReadOptions& options,
                            std::int64_t expected) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  if (auto columns = read_binary_columns<T>({text, name}, budget))
    return one_vector(std::move(*columns), name, expected);
  return read_document<T>({text, name}, options, expected, budget);
}

template std::vector<float> read_vector(const std::filesystem::path&, const ReadOptions&, std::int64_t);
template std::vector<double> read_vector(const std::filesystem::path&, const ReadOptions&, std::int64_t);
template std::vector<float> parse_vector(std::string_view, const std::string&, const ReadOptions&, std::int64_t);
template std::vector<double> parse_vector(std::string_view, const std::string&, const ReadOptions&, std::int64_t);

template MultiVector<float> read_multi_vector(const std::filesystem::path&, std::int64_t, const ReadOptions&);
template MultiVector<double> read_multi_vector(const std::filesystem::path&, std::int64_t, const ReadOptions&);

}  // namespace tessera
