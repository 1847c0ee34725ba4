#include "tessera/matrix_file_info.hpp"

#include "core/memory_budget.hpp"
#include "io/input_file.hpp"
#include "io/matrix_market_header.hpp"
#include "io/matrix_path.hpp"
#include "io/source.hpp"
#include "tessera/binary_matrix.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera {

namespace {

[[nodiscard]] MatrixFileInfo binary_info(const std::filesystem::path& path, std::uint64_t file_bytes) {
  const BinaryMatrixInfo binary = read_binary_info(path);
  const auto tiles = static_cast<std::uint64_t>(binary.tiles);
  return {binary.header, file_bytes,
          true,          binary.values == BinaryValues::pattern,
          binary.nnz,    binary.layout == BinaryLayout::tiles ? file_bytes + (tiles + 1) * sizeof(offset_t) : 0};
}

[[nodiscard]] std::string first_bytes(const io::InputFile& file) {
  constexpr std::size_t most = std::size_t{1} << 20;
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const std::size_t got = file.read(text.data() + size, most - size);
    if (got == 0) break;
    size += got;
  }
  text.resize(size);
  return text;
}

/// Whether the line of sizes is in the text, wholly; a file that does not begin as it should is for the parser.
[[nodiscard]] bool holds_sizes(const io::Document& start, bool is_whole) {
  if (is_whole || !io::has_banner(start)) return true;
  const char* banner_end = io::line_end(start.begin(), start.end());
  const char* sizes = io::next_data_line(banner_end, start.end(), io::Comments::percent);
  return io::line_end(sizes, start.end()) != start.end();
}

}  // namespace

std::uint64_t MatrixFileInfo::reading_bytes(std::size_t element, Duplicates duplicates) const {
  const std::size_t value = is_pattern ? 0 : element;
  const auto entries = static_cast<std::uint64_t>(most_nnz);
  const std::uint64_t matrix = detail::csr_bytes(header.rows, most_nnz, value);
  // The reader asks for the bytes of the file, header and padding included.
  if (is_binary) return tile_bytes > 0 ? matrix + tile_bytes : std::max(matrix, file_bytes);
  // Coordinates beside the text; then beside the copy that is sorted and the result, the text released. The text of an
  // array file, and of one whose duplicates may have to be named, stays till the end.
  const std::uint64_t coordinates = entries * (2 * sizeof(index_t) + value);
  const std::uint64_t assembly =
      (static_cast<std::uint64_t>(header.rows) + 1) * sizeof(offset_t) + entries * (3 * sizeof(index_t) + 2 * element);
  const std::uint64_t text = file_bytes + 1;  // the byte that finds the end
  if (header.format == MatrixMarketFormat::array) {
    return text + static_cast<std::uint64_t>(most_nnz) * element + coordinates + assembly;
  }
  if (duplicates == Duplicates::error) return text + coordinates + assembly;
  return coordinates + std::max(text, assembly);
}

std::optional<MatrixFileInfo> read_matrix_file_info(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!io::split_matrix_path(path).variable.empty()) return std::nullopt;
  // A pipe can be read only once.
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) return std::nullopt;
  const io::InputFile file(path);
  const std::uint64_t file_bytes = file.stamp().size_bytes;
  if (is_binary_matrix(path)) return binary_info(path, file_bytes);
  const std::string text = first_bytes(file);
  if (io::is_compressed(text)) return std::nullopt;
  const io::Document start{text, path.string()};
  if (io::format_of(text, start.name) != "matrix-market") return std::nullopt;
  if (!holds_sizes(start, text.size() == file_bytes)) return std::nullopt;
  MatrixFileInfo info;
  info.header = io::parse_header(start).header;
  info.file_bytes = file_bytes;
  info.is_pattern = info.header.field == MatrixMarketField::pattern;
  // Whatever the header claims: an entry takes a line with two numbers, of an array file with one.
  const std::uint64_t least_line = info.header.format == MatrixMarketFormat::array ? 2 : 4;
  const auto most_lines = static_cast<std::int64_t>(file_bytes / least_line) + 1;
  const bool mirrored = info.header.symmetry != MatrixMarketSymmetry::general;
  info.most_nnz = std::min(info.header.entries, most_lines) * (mirrored ? 2 : 1);
  return info;
}

}  // namespace tessera
