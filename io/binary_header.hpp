/// \file
/// The first 256 bytes of a binary matrix file. All numbers are little-endian.
#pragma once

#include "io/checksum.hpp"
#include "io/input_file.hpp"
#include "tessera/binary_matrix.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::io {

static_assert(std::endian::native == std::endian::little, "the structs below are written as they lie in memory");

inline constexpr std::array<unsigned char, 8> binary_magic{0x89, 'T', 'S', 'B', '\r', '\n', 0x1a, '\n'};
/// Of files that hold compressed sparse rows. Version 1 differs in its checksums alone; it is still read.
inline constexpr std::uint32_t binary_csr_version = 2;
/// Of files that hold bitmap tiles.
inline constexpr std::uint32_t binary_tiles_version = 3;
inline constexpr std::uint64_t section_alignment = 64;

/// Position of an array of the matrix.
struct BinarySection {
  std::uint64_t offset = 0;  ///< from the start of the file, a multiple of 64
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

struct BinaryHeader {
  std::array<unsigned char, 8> magic = binary_magic;
  std::uint32_t version = binary_csr_version;
  std::uint32_t header_bytes = 256;
  std::uint64_t file_bytes = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::uint32_t values = 0;  ///< BinaryValues
  std::uint32_t flags = 0;
  std::uint32_t format = 0;    ///< MatrixMarketFormat of the text
  std::uint32_t field = 0;     ///< MatrixMarketField
  std::uint32_t symmetry = 0;  ///< MatrixMarketSymmetry
  std::uint32_t layout = 0;    ///< BinaryLayout
  std::int64_t entries = 0;    ///< data lines of the text
  std::int64_t duplicates = 0;
  std::int64_t explicit_zeros = 0;
  std::uint64_t source_bytes = 0;
  std::int64_t source_modified_ns = 0;
  std::uint64_t source_hash = 0;
  /// Row offsets, columns, values; of tiles: tile row offsets, tile columns, values.
  std::array<BinarySection, 3> sections;
  std::int64_t source_changed_ns = 0;
  std::uint64_t source_inode = 0;
  BinarySection bitmaps;  ///< of tiles
  std::int64_t tiles = 0;
  std::uint64_t reserved = 0;
  std::uint64_t checksum = 0;  ///< of all bytes before it
};

static_assert(sizeof(BinaryHeader) == 256 && offsetof(BinaryHeader, checksum) == 248);

enum BinaryFlag : std::uint32_t { flag_has_source = 1, flag_source_settled = 2 };

[[nodiscard]] constexpr bool holds_tiles(const BinaryHeader& header) noexcept {
  return header.layout == static_cast<std::uint32_t>(BinaryLayout::tiles);
}

/// Sections of the file, in their order.
[[nodiscard]] constexpr std::size_t section_count(const BinaryHeader& header) noexcept {
  return header.sections.size() + (holds_tiles(header) ? 1 : 0);
}

/// Section k.
[[nodiscard]] constexpr const BinarySection& section_of(const BinaryHeader& header, std::size_t k) noexcept {
  return k < header.sections.size() ? header.sections[k] : header.bitmaps;
}
[[nodiscard]] constexpr BinarySection& section_of(BinaryHeader& header, std::size_t k) noexcept {
  return k < header.sections.size() ? header.sections[k] : header.bitmaps;
}

/// Sizes and offsets of all sections for a matrix of these sizes. \throws InvalidArgument when they exceed 64 bits
void lay_out_sections(BinaryHeader& header);

/// The function of all checksums of a file with this header.
[[nodiscard]] constexpr Checksum checksum_of(const BinaryHeader& header) noexcept {
  return header.version == 1 ? Checksum::lanes : Checksum::xxh3;
}

/// Checksum of the header.
[[nodiscard]] std::uint64_t header_checksum(const BinaryHeader& header) noexcept;

/// Reads the header and checks everything but the sections, the size of the file included.
/// \throws IoError, ParseError
[[nodiscard]] BinaryHeader read_binary_header(const InputFile& file);

[[nodiscard]] BinaryMatrixInfo info_of(const BinaryHeader& header);

/// write_binary() for those alone who may read the text file. \param stamp of the text file
template <class T>
void write_cache(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix, const BinarySource& source,
                 const FileStamp& stamp);

/// Reads the rest of a file whose header has been checked. \throws IoError, ParseError, InvalidMatrix, OutOfMemory
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> read_binary_sections(const InputFile& file, const BinaryHeader& header,
                                                         const ReadOptions& options);

extern template MatrixMarketMatrix<float> read_binary_sections(const InputFile&, const BinaryHeader&,
                                                               const ReadOptions&);
extern template MatrixMarketMatrix<double> read_binary_sections(const InputFile&, const BinaryHeader&,
                                                                const ReadOptions&);

}  // namespace tessera::io
