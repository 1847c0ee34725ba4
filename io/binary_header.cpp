#include "io/binary_header.hpp"

#include "core/checked.hpp"
#include "tessera/error.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tessera {

std::string_view to_string(BinaryValues values) {
  switch (values) {
    case BinaryValues::pattern:
      return "pattern";
    case BinaryValues::fp32:
      return "fp32";
    case BinaryValues::fp64:
      return "fp64";
  }
  return "unknown";
}

namespace io {

namespace {

constexpr std::int64_t max_index = std::numeric_limits<index_t>::max();
constexpr std::int64_t max_count = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(const InputFile& file, std::uint64_t byte, const std::string& message) {
  throw ParseError::at_byte(file.name(), byte, message);
}

/// Reads as much of the header as the file has; refuses files of other formats.
BinaryHeader load_header(const InputFile& file) {
  std::array<char, sizeof(BinaryHeader)> bytes{};
  const InputFile::Got got = file.read_at(0, bytes.data(), bytes.size());
  if (got.error != 0) file.fail(got.error);
  const std::size_t known = std::min(got.bytes, binary_magic.size());
  if (known == 0 || std::memcmp(bytes.data(), binary_magic.data(), known) != 0) {
    refuse(file, 0, known == 0 ? "expected a binary matrix, found an empty file" : "this is not a binary matrix file");
  }
  BinaryHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  constexpr std::size_t end_of_version = offsetof(BinaryHeader, header_bytes);
  if (got.bytes >= end_of_version && (header.version < 1 || header.version > binary_tiles_version)) {
    refuse(file, offsetof(BinaryHeader, version),
           fmt::format("expected format version 1, {} or {}, found {}{}", binary_csr_version, binary_tiles_version,
                       header.version, header.version > binary_tiles_version ? ": written by a newer Tessera" : ""));
  }
  if (got.bytes < sizeof(header)) {
    refuse(file, got.bytes, fmt::format("expected a header of {} bytes, found the end of the file", sizeof(header)));
  }
  return header;
}

struct Bounds {
  std::size_t byte;
  const char* name;
  std::int64_t value;
  std::int64_t largest;
};

void check_ranges(const InputFile& file, const BinaryHeader& h) {
  const Bounds all[] = {
      {offsetof(BinaryHeader, header_bytes), "header bytes", h.header_bytes, sizeof(BinaryHeader)},
      {offsetof(BinaryHeader, rows), "rows", h.rows, max_index},
      {offsetof(BinaryHeader, cols), "columns", h.cols, max_index},
      {offsetof(BinaryHeader, nnz), "nonzeros", h.nnz, max_count},
      {offsetof(BinaryHeader, values), "type of values", h.values, 2},
      {offsetof(BinaryHeader, flags), "flags", h.flags, flag_has_source | flag_source_settled},
      {offsetof(BinaryHeader, format), "format of the text", h.format, 1},
      {offsetof(BinaryHeader, field), "field of the text", h.field, 2},
      {offsetof(BinaryHeader, symmetry), "symmetry of the text", h.symmetry, 2},
      {offsetof(BinaryHeader, layout), "layout", h.layout, 1},
      {offsetof(BinaryHeader, entries), "entries of the text", h.entries, max_count},
      {offsetof(BinaryHeader, duplicates), "merged entries", h.duplicates, max_count},
      {offsetof(BinaryHeader, explicit_zeros), "explicit zeros", h.explicit_zeros, max_count},
      {offsetof(BinaryHeader, tiles), "tiles", h.tiles, holds_tiles(h) ? max_count : 0},
  };
  for (const Bounds& field : all) {
    if (field.value >= 0 && field.value <= field.largest) continue;
    refuse(file, field.byte,
           fmt::format("{}: expected a number in 0 ... {}, found {}", field.name, field.largest, field.value));
  }
  if (h.header_bytes != sizeof(BinaryHeader)) {
    refuse(file, offsetof(BinaryHeader, header_bytes),
           fmt::format("expected a header of {} bytes, found {}", sizeof(BinaryHeader), h.header_bytes));
  }
  if (h.reserved != 0) refuse(file, offsetof(BinaryHeader, reserved), "expected reserved bytes to be 0");
}

/// Tiles have a version of their own.
void check_version(const InputFile& file, const BinaryHeader& h) {
  const bool of_tiles = h.version == binary_tiles_version;
  if (holds_tiles(h) == of_tiles) return;
  refuse(file, offsetof(BinaryHeader, layout),
         fmt::format("layout: expected {} in version {}, found {}", of_tiles ? 1 : 0, h.version, h.layout));
}

/// As many nonzeros as bitmaps can have bits.
void check_tiles(const InputFile& file, const BinaryHeader& h) {
  if (!holds_tiles(h)) {
    if (h.bitmaps.offset == 0 && h.bitmaps.bytes == 0 && h.bitmaps.checksum == 0) return;
    refuse(file, offsetof(BinaryHeader, bitmaps), "expected no section of bitmaps in a file without tiles");
  }
  constexpr std::int64_t places = std::int64_t{tile_size} * tile_size;
  if (h.nnz < h.tiles || (h.nnz > 0 && (h.nnz - 1) / places >= h.tiles)) {
    refuse(file, offsetof(BinaryHeader, nnz),
           fmt::format("nonzeros: expected 1 ... {} for each of {} tiles, found {}", places, h.tiles, h.nnz));
  }
}

/// The offsets of the sections follow from the sizes; the file must agree.
void check_layout(const InputFile& file, const BinaryHeader& header) {
  BinaryHeader expected = header;
  try {
    lay_out_sections(expected);
  } catch (const InvalidArgument& overflow) {
    refuse(file, offsetof(BinaryHeader, nnz), overflow.what());
  }
  for (std::size_t k = 0; k < section_count(header); ++k) {
    const BinarySection& found = section_of(header, k);
    const BinarySection& right = section_of(expected, k);
    if (found.offset == right.offset && found.bytes == right.bytes) continue;
    const bool last = k == header.sections.size();
    refuse(file, last ? offsetof(BinaryHeader, bitmaps) : offsetof(BinaryHeader, sections) + k * sizeof(BinarySection),
           fmt::format("expected section {} of {} bytes at byte {}, found {} bytes at byte {}", k, right.bytes,
                       right.offset, found.bytes, found.offset));
  }
  if (header.file_bytes != expected.file_bytes) {
    refuse(
        file, offsetof(BinaryHeader, file_bytes),
        fmt::format("expected a file of {} bytes for these sizes, found {}", expected.file_bytes, header.file_bytes));
  }
  const std::uint64_t size = file.stamp().size_bytes;
  if (size < header.file_bytes) {
    refuse(file, size, fmt::format("expected {} bytes, found the end of the file: it is cut off", header.file_bytes));
  }
  if (size > header.file_bytes) {
    refuse(file, header.file_bytes,
           fmt::format("expected the end of the file, found {} more bytes", size - header.file_bytes));
  }
}

std::uint64_t aligned(std::uint64_t offset) {
  return checked_add<std::uint64_t>(offset, section_alignment - 1, "size of the file") / section_alignment *
         section_alignment;
}

std::uint64_t bytes_per_value(std::uint32_t values) {
  switch (static_cast<BinaryValues>(values)) {
    case BinaryValues::pattern:
      return 0;
    case BinaryValues::fp32:
      return sizeof(float);
    case BinaryValues::fp64:
      return sizeof(double);
  }
  return 0;
}

}  // namespace

void lay_out_sections(BinaryHeader& header) {
  const auto nnz = static_cast<std::uint64_t>(header.nnz);
  const auto rows = static_cast<std::uint64_t>(header.rows);
  const bool tiles = holds_tiles(header);
  const auto columns = tiles ? static_cast<std::uint64_t>(header.tiles) : nnz;
  const std::array<std::uint64_t, 4> bytes{
      ((tiles ? (rows + tile_size - 1) / tile_size : rows) + 1) * sizeof(offset_t),
      checked_multiply<std::uint64_t>(columns, sizeof(index_t), "bytes of the columns"),
      checked_multiply<std::uint64_t>(nnz, bytes_per_value(header.values), "bytes of the values"),
      checked_multiply<std::uint64_t>(tiles ? columns : 0, sizeof(std::uint64_t), "bytes of the bitmaps")};
  std::uint64_t end = sizeof(BinaryHeader);
  for (std::size_t k = 0; k < section_count(header); ++k) {
    BinarySection& section = section_of(header, k);
    section.offset = aligned(end);
    section.bytes = bytes[k];
    end = checked_add<std::uint64_t>(section.offset, bytes[k], "size of the file");
  }
  header.file_bytes = end;
}

std::uint64_t header_checksum(const BinaryHeader& header) noexcept {
  std::array<char, sizeof(BinaryHeader)> bytes{};
  std::memcpy(bytes.data(), &header, sizeof(header));
  return chunk_checksum(checksum_of(header), bytes.data(), offsetof(BinaryHeader, checksum));
}

BinaryHeader read_binary_header(const InputFile& file) {
  if (!file.stamp().regular) {
    throw IoError(fmt::format("cannot read \"{}\": a binary matrix has to be a regular file", file.name()));
  }
  const BinaryHeader header = load_header(file);
  if (header_checksum(header) != header.checksum) {
    refuse(file, offsetof(BinaryHeader, checksum), "the checksum of the header is wrong: the file is damaged");
  }
  check_version(file, header);
  check_ranges(file, header);
  check_tiles(file, header);
  check_layout(file, header);
  return header;
}

BinaryMatrixInfo info_of(const BinaryHeader& h) {
  BinaryMatrixInfo info;
  info.header = {static_cast<MatrixMarketFormat>(h.format),
                 static_cast<MatrixMarketField>(h.field),
                 static_cast<MatrixMarketSymmetry>(h.symmetry),
                 h.rows,
                 h.cols,
                 h.entries};
  info.nnz = h.nnz;
  info.layout = static_cast<BinaryLayout>(h.layout);
  info.tiles = h.tiles;
  info.values = static_cast<BinaryValues>(h.values);
  info.duplicates = h.duplicates;
  info.explicit_zeros = h.explicit_zeros;
  if ((h.flags & flag_has_source) != 0) {
    info.source = {h.source_bytes, h.source_modified_ns, h.source_changed_ns,
                   h.source_inode, h.source_hash,        (h.flags & flag_source_settled) != 0};
  }
  return info;
}

}  // namespace io

}  // namespace tessera
