// Spy plot of a matrix as an image of densities, and a table of its row lengths.
#include "report/figures.hpp"
#include "report/html.hpp"

#include "tessera/statistics.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace tessera::cli::report {

namespace {

using Bytes = std::vector<unsigned char>;

void put_word(std::uint32_t word, Bytes& bytes) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<unsigned char>(word >> shift & 0xFFU));
}

/// Length, type, data and checksum (PNG specification, section 5).
void put_chunk(std::string_view type, const Bytes& data, Bytes& png) {
  put_word(static_cast<std::uint32_t>(data.size()), png);
  const std::size_t begin = png.size();
  png.insert(png.end(), type.begin(), type.end());
  png.insert(png.end(), data.begin(), data.end());
  put_word(static_cast<std::uint32_t>(crc32(0, png.data() + begin, static_cast<uInt>(png.size() - begin))), png);
}

/// A PNG of dark ink, `opacity` row by row: what is between the dots shows the page, light or dark.
[[nodiscard]] Bytes png_of(int width, int height, const Bytes& opacity) {
  constexpr unsigned char ink = 0x1F;
  Bytes header;
  put_word(static_cast<std::uint32_t>(width), header);
  put_word(static_cast<std::uint32_t>(height), header);
  // 8 bits, grey with alpha; deflated, filters by line, not interlaced.
  const Bytes format{8, 4, 0, 0, 0};
  header.insert(header.end(), format.begin(), format.end());
  Bytes lines;
  for (int r = 0; r < height; ++r) {
    lines.push_back(0);  // no filter
    for (int c = 0; c < width; ++c) {
      lines.push_back(ink);
      lines.push_back(
          opacity[static_cast<std::size_t>(r) * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)]);
    }
  }
  uLongf size = compressBound(static_cast<uLong>(lines.size()));
  Bytes packed(size);
  compress2(packed.data(), &size, lines.data(), static_cast<uLong>(lines.size()), Z_BEST_COMPRESSION);
  packed.resize(size);
  Bytes png{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  put_chunk("IHDR", header, png);
  put_chunk("IDAT", packed, png);
  put_chunk("IEND", {}, png);
  return png;
}

[[nodiscard]] std::string base64(const Bytes& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8U | (i + k < bytes.size() ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : digits[group >> (18U - 6U * k) & 0x3FU];
    }
  }
  return text;
}

[[nodiscard]] std::optional<std::int64_t> count_in(const Json& value, std::int64_t most) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto count = value.get<std::int64_t>();
  return count < 0 || count > most ? std::nullopt : std::optional(count);
}

/// The grid of a document where it is one; nothing where its rows or numbers do not fit together.
[[nodiscard]] std::optional<SpyGrid> grid_of(const Json& matrix, const Json* json) {
  constexpr std::int64_t most_cells = 1024;
  constexpr std::int64_t most_entries = std::int64_t{1} << 53;
  if (json == nullptr) return std::nullopt;
  const auto size = [](const Json& object, const char* key, std::int64_t most) {
    const Json* value = find(object, key);
    return value == nullptr ? std::nullopt : count_in(*value, most);
  };
  const auto matrix_rows = size(matrix, "rows", std::numeric_limits<index_t>::max());
  const auto matrix_cols = size(matrix, "cols", std::numeric_limits<index_t>::max());
  const auto rows = size(*json, "rows", most_cells);
  const auto cols = size(*json, "cols", most_cells);
  const Json& counts = array_at(*json, "counts");
  if (!matrix_rows || !matrix_cols || !rows || !cols || counts.size() != static_cast<std::size_t>(*rows))
    return std::nullopt;
  SpyGrid grid{static_cast<index_t>(*matrix_rows),
               static_cast<index_t>(*matrix_cols),
               static_cast<int>(*rows),
               static_cast<int>(*cols),
               {}};
  for (const Json& row : counts) {
    if (!row.is_array() || row.size() != static_cast<std::size_t>(*cols)) return std::nullopt;
    for (const Json& cell : row) {
      const auto count = count_in(cell, most_entries);
      if (!count) return std::nullopt;
      grid.counts.push_back(*count);
    }
  }
  return grid;
}

/// By the logarithm of the density: the emptiest cell with entries is still seen.
[[nodiscard]] Bytes opacity_of(const SpyGrid& grid) {
  constexpr double faintest = 0.3;
  constexpr double opaque = 255.0;
  double low = 1.0;
  double high = 0.0;
  for (int r = 0; r < grid.rows; ++r) {
    for (int c = 0; c < grid.cols; ++c) {
      const double density = grid.density(r, c);
      if (!(density > 0.0)) continue;
      low = std::min(low, density);
      high = std::max(high, density);
    }
  }
  Bytes opacity;
  for (int r = 0; r < grid.rows; ++r) {
    for (int c = 0; c < grid.cols; ++c) {
      const double density = grid.density(r, c);
      const double share = high > low && density > 0.0 ? std::log(density / low) / std::log(high / low) : 1.0;
      const double shown = density > 0.0 ? faintest + (1.0 - faintest) * share : 0.0;
      opacity.push_back(static_cast<unsigned char>(opaque * shown));
    }
  }
  return opacity;
}

/// The sums of up to 4 x 4 parts of the grid.
[[nodiscard]] std::string coarse_table(const SpyGrid& grid) {
  const int rows = std::min(grid.rows, 4);
  const int cols = std::min(grid.cols, 4);
  Table table;
  table.headings = {"entries in rows \\ columns"};
  const auto range = [](index_t length, int parts, int part) {
    const std::int64_t begin = std::int64_t{length} * part / parts;
    const std::int64_t end = std::int64_t{length} * (part + 1) / parts;
    return fmt::format("{}–{}", begin + 1, end);
  };
  for (int c = 0; c < cols; ++c) table.headings.push_back("about " + range(grid.matrix_cols, cols, c));
  for (int r = 0; r < rows; ++r) {
    std::vector<std::string> cells{"about " + range(grid.matrix_rows, rows, r)};
    for (int c = 0; c < cols; ++c) {
      offset_t sum = 0;
      for (int i = grid.rows * r / rows; i < grid.rows * (r + 1) / rows; ++i) {
        for (int j = grid.cols * c / cols; j < grid.cols * (c + 1) / cols; ++j) sum += grid.count(i, j);
      }
      cells.push_back(grouped(static_cast<double>(sum)));
    }
    table.rows.push_back(std::move(cells));
  }
  return html(table);
}

}  // namespace

std::string spy_figure(const Json& document, const Json& matrix) {
  const Json* density = find(matrix, "density");
  const auto grid = grid_of(matrix, density != nullptr ? density : find(document, "spy"));
  if (!grid || grid->matrix_rows == 0 || grid->matrix_cols == 0 || grid->counts.empty()) return {};
  constexpr double longest_side = 360.0;
  const double longer = std::max(grid->matrix_rows, grid->matrix_cols);
  constexpr double least_side = 12.0;
  const double width = std::max(longest_side * grid->matrix_cols / longer, least_side);
  const double height = std::max(longest_side * grid->matrix_rows / longer, least_side);
  const std::string image = fmt::format(
      R"(<img class="spy" width="{:.0f}" height="{:.0f}" alt="Density of the entries of a matrix of {} x {} on a )"
      R"(grid of {} x {}" src="data:image/png;base64,{}">)",
      width, height, grid->matrix_rows, grid->matrix_cols, grid->rows, grid->cols,
      base64(png_of(grid->cols, grid->rows, opacity_of(*grid))));
  const double rows_per_cell = static_cast<double>(grid->matrix_rows) / grid->rows;
  const double cols_per_cell = static_cast<double>(grid->matrix_cols) / grid->cols;
  const std::string caption =
      rows_per_cell <= 1.0 && cols_per_cell <= 1.0
          ? "<p>Positions of the entries.</p>"
          : fmt::format(
                "<p>Density of the entries, darker where there are more, by its logarithm. A dot stands for about "
                "{:.3g} × {:.3g} positions.</p>",
                rows_per_cell, cols_per_cell);
  return figure(image, caption, coarse_table(*grid));
}

std::string row_length_table(const Json& matrix) {
  const Json& histogram = array_at(matrix, "log2_row_histogram");
  constexpr std::size_t most_bins = 64;
  double most = 0.0;
  double all = 0.0;
  std::vector<double> counts;
  for (const Json& bin : histogram) {
    counts.push_back(bin.is_number() ? std::max(bin.get<double>(), 0.0) : 0.0);
    most = std::max(most, counts.back());
    all += counts.back();
  }
  if (!(most > 0.0) || !std::isfinite(all) || counts.size() > most_bins) return {};
  Table table;
  table.caption = "Row lengths";
  table.headings = {"entries per row", "", "rows", "share"};
  table.text_columns = 2;
  const auto first = std::find_if(counts.begin(), counts.end(), [](double rows) { return rows > 0.0; });
  for (auto k = static_cast<std::size_t>(first - counts.begin()); k < counts.size(); ++k) {
    const std::uint64_t low = k == 0 ? 0 : std::uint64_t{1} << (k - 1);
    const std::uint64_t high = k == 0 ? 0 : (std::uint64_t{1} << k) - 1;
    table.rows.push_back({low == high ? fmt::format("{}", low) : fmt::format("{}–{}", low, high), bar(counts[k], most),
                          count(counts[k]), fmt::format("{:.1f}\u00A0%", 100.0 * counts[k] / all)});
  }
  return R"(<div class="lengths">)" + html(table) + "</div>";
}

}  // namespace tessera::cli::report
