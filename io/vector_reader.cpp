#include "io/data_chunks.hpp"
#include "io/matrix_market_header.hpp"
#include "io/source.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>

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

template <class T>
std::vector<T> read_document(const Document& document, const ReadOptions& options, MemoryBudget& budget) {
  if (!io::has_banner(document)) return to_vector(io::read_plain_values<T>(document, options.device, budget), budget);
  const ParsedHeader parsed = io::parse_header(document);
  const MatrixMarketHeader& h = parsed.header;
  if (h.rows != 1 && h.cols != 1) {
    io::fail_at(document, parsed.size_line,
                fmt::format("expected a vector (one row or one column), found a {} x {} matrix", h.rows, h.cols));
  }
  if (h.format == MatrixMarketFormat::coordinate || h.symmetry != MatrixMarketSymmetry::general) {
    return read_as_matrix<T>(document, parsed, options, budget);
  }
  return to_vector(io::read_array_values<T>(document, parsed, options.device, budget), budget);
}

}  // namespace

template <class T>
std::vector<T> read_vector(const std::filesystem::path& path, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  const io::ByteBuffer text = io::load_text(path, budget, options.device);
  return read_document<T>({text.view(), path.string()}, options, budget);
}

template <class T>
std::vector<T> parse_vector(std::string_view text, const std::string& name, const ReadOptions& options) {
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  return read_document<T>({text, name}, options, budget);
}

template std::vector<float> read_vector(const std::filesystem::path&, const ReadOptions&);
template std::vector<double> read_vector(const std::filesystem::path&, const ReadOptions&);
template std::vector<float> parse_vector(std::string_view, const std::string&, const ReadOptions&);
template std::vector<double> parse_vector(std::string_view, const std::string&, const ReadOptions&);

}  // namespace tessera
