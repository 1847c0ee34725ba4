#include "core/parallel.hpp"
#include "io/atomic_file.hpp"
#include "io/binary_header.hpp"
#include "io/finite.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <type_traits>

namespace tessera {

namespace {

using io::BinaryHeader;

template <class U>
std::string_view bytes_of(std::span<const U> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size_bytes()};
}

/// \param a in rows or in tiles
template <class T, class View>
BinaryHeader describe(const View& a, offset_t nnz, const MatrixMarketHeader& text) {
  BinaryHeader header;
  header.rows = a.rows;
  header.cols = a.cols;
  header.nnz = nnz;
  const auto weighted = std::is_same_v<T, float> ? BinaryValues::fp32 : BinaryValues::fp64;
  header.values = static_cast<std::uint32_t>(a.is_pattern() ? BinaryValues::pattern : weighted);
  header.format = static_cast<std::uint32_t>(text.format);
  header.field = static_cast<std::uint32_t>(text.field);
  header.symmetry = static_cast<std::uint32_t>(text.symmetry);
  header.entries = text.entries;
  return header;
}

template <class View>
void check_writable(const std::filesystem::path& path, const View& a, const MatrixMarketHeader& text) {
  if (path.extension() == ".gz") {
    throw InvalidArgument(
        fmt::format("cannot write \"{}\": binary matrix files are not compressed, choose another name", path.string()));
  }
  if (text.rows != a.rows || text.cols != a.cols) {
    throw InvalidArgument(
        fmt::format("header of a {} x {} matrix for a matrix of {} x {}", text.rows, text.cols, a.rows, a.cols));
  }
  const offset_t bad = io::first_not_finite(a.values, Device{});
  if (bad < static_cast<offset_t>(a.values.size())) {
    throw InvalidMatrix(fmt::format("nonzero {} is {}, which a binary matrix file cannot hold", bad,
                                    a.values[static_cast<std::size_t>(bad)]));
  }
}

/// \param sections in the order of section_of()
void write_file(const std::filesystem::path& path, BinaryHeader header, std::span<const std::string_view> sections,
                const std::optional<io::FileStamp>& stamp = std::nullopt) {
  io::lay_out_sections(header);
  for (std::size_t k = 0; k < sections.size(); ++k) {
    io::section_of(header, k).checksum =
        io::checksum(io::checksum_of(header), sections[k].data(), sections[k].size(), Device{});
  }
  header.checksum = io::header_checksum(header);
  io::AtomicFile file(path, stamp);
  file.write({reinterpret_cast<const char*>(&header), sizeof(header)});
  std::uint64_t written = sizeof(header);
  for (std::size_t k = 0; k < sections.size(); ++k) {
    constexpr std::string_view padding(
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        64);
    const io::BinarySection& section = io::section_of(header, k);
    file.write(padding.substr(0, section.offset - written));
    file.write(sections[k]);
    written = section.offset + section.bytes;
  }
  file.commit();
}

template <class T>
void write_rows(const std::filesystem::path& path, const CsrView<T>& a, const BinaryHeader& header,
                const std::optional<io::FileStamp>& stamp = std::nullopt) {
  const std::array<std::string_view, 3> sections{bytes_of(a.row_offsets), bytes_of(a.columns), bytes_of(a.values)};
  write_file(path, header, sections, stamp);
}

template <class T>
void write_tiles(const std::filesystem::path& path, const TileView<T>& a, BinaryHeader header) {
  header.version = io::binary_tiles_version;
  header.layout = static_cast<std::uint32_t>(BinaryLayout::tiles);
  header.tiles = a.tiles();
  const std::array<std::string_view, 4> sections{bytes_of(a.tile_row_offsets), bytes_of(a.tile_columns),
                                                 bytes_of(a.values), bytes_of(a.bitmaps)};
  write_file(path, header, sections);
}

/// The header of a text file that holds the matrix as it is. \param a in rows or in tiles
template <class View>
MatrixMarketHeader general_header(const View& a, offset_t nnz) {
  MatrixMarketHeader text;
  text.field = a.is_pattern() ? MatrixMarketField::pattern : MatrixMarketField::real;
  text.rows = a.rows;
  text.cols = a.cols;
  text.entries = nnz;
  return text;
}

template <class T>
void write_matrix(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix,
                  const std::optional<BinarySource>& source, const std::optional<io::FileStamp>& stamp) {
  const CsrView<T> a = matrix.matrix.view();
  check_writable(path, a, matrix.header);
  BinaryHeader header = describe<T>(a, a.nnz(), matrix.header);
  header.duplicates = matrix.duplicates;
  header.explicit_zeros = matrix.explicit_zeros;
  if (source) {
    header.flags = io::flag_has_source | (source->settled ? io::flag_source_settled : 0U);
    header.source_bytes = source->size_bytes;
    header.source_modified_ns = source->modified_ns;
    header.source_changed_ns = source->changed_ns;
    header.source_inode = source->inode;
    header.source_hash = source->content_hash;
  }
  write_rows(path, a, header, stamp);
}

}  // namespace

template <class T>
void write_binary(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix,
                  const std::optional<BinarySource>& source) {
  write_matrix(path, matrix, source, std::nullopt);
}

template <class T>
void io::write_cache(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix, const BinarySource& source,
                     const FileStamp& stamp) {
  write_matrix<T>(path, matrix, source, stamp);
}

template void io::write_cache(const std::filesystem::path&, const MatrixMarketMatrix<float>&, const BinarySource&,
                              const FileStamp&);
template void io::write_cache(const std::filesystem::path&, const MatrixMarketMatrix<double>&, const BinarySource&,
                              const FileStamp&);

template <class T>
void write_binary(const std::filesystem::path& path, const CsrView<T>& matrix) {
  const MatrixMarketHeader text = general_header(matrix, matrix.nnz());
  check_writable(path, matrix, text);
  write_rows(path, matrix, describe<T>(matrix, matrix.nnz(), text));
}

template <class T>
void write_binary_tiles(const std::filesystem::path& path, const TileView<T>& tiles,
                        const MatrixMarketMatrix<T>& matrix) {
  check_writable(path, tiles, matrix.header);
  BinaryHeader header = describe<T>(tiles, tiles.nnz, matrix.header);
  header.duplicates = matrix.duplicates;
  header.explicit_zeros = matrix.explicit_zeros;
  write_tiles(path, tiles, header);
}

template <class T>
void write_binary_tiles(const std::filesystem::path& path, const TileView<T>& tiles) {
  const MatrixMarketHeader text = general_header(tiles, tiles.nnz);
  check_writable(path, tiles, text);
  write_tiles(path, tiles, describe<T>(tiles, tiles.nnz, text));
}

template void write_binary(const std::filesystem::path&, const MatrixMarketMatrix<float>&,
                           const std::optional<BinarySource>&);
template void write_binary(const std::filesystem::path&, const MatrixMarketMatrix<double>&,
                           const std::optional<BinarySource>&);
template void write_binary(const std::filesystem::path&, const CsrView<float>&);
template void write_binary(const std::filesystem::path&, const CsrView<double>&);
template void write_binary_tiles(const std::filesystem::path&, const TileView<float>&,
                                 const MatrixMarketMatrix<float>&);
template void write_binary_tiles(const std::filesystem::path&, const TileView<double>&,
                                 const MatrixMarketMatrix<double>&);
template void write_binary_tiles(const std::filesystem::path&, const TileView<float>&);
template void write_binary_tiles(const std::filesystem::path&, const TileView<double>&);

}  // namespace tessera
