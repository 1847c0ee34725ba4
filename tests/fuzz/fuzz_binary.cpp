// Binary matrix files. Random bytes never have a right checksum, so the first byte says what is repaired before
// reading: 0 nothing, 1 the checksums, 2 also the offsets of the sections, 3 also everything else that has few right
// values.
#include "io/binary_header.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <cstdint>

namespace tessera::fuzzing {
namespace {

using io::BinaryHeader;

/// Whether the section lies in the file.
bool is_inside(const io::BinarySection& section, std::size_t size) {
  return section.offset <= size && section.bytes <= size - section.offset;
}

void put_right(std::string& bytes, int how_much) {
  if (how_much == 0 || bytes.size() < sizeof(BinaryHeader)) return;
  BinaryHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (how_much == 3) {
    const BinaryHeader right;
    header.magic = right.magic;
    header.version = 1 + header.version % io::binary_tiles_version;
    const bool tiles = header.version == io::binary_tiles_version;
    header.layout = tiles ? 1 : 0;
    header.tiles = tiles ? header.tiles & 0x3ff : 0;
    if (!tiles) header.bitmaps = right.bitmaps;
    header.header_bytes = right.header_bytes;
    header.reserved = 0;
    // Numbers of random bytes are hardly ever small.
    header.rows &= 0xff;
    header.cols &= 0xff;
    header.nnz &= 0x3ff;
    header.values %= 3;
  }
  const auto is_small = [](std::int64_t size) { return size >= 0 && size < 1 << 20; };
  if (how_much >= 2 && is_small(header.rows) && is_small(header.nnz) && is_small(header.tiles)) {
    io::lay_out_sections(header);
    if (how_much == 3) bytes.resize(header.file_bytes);
  }
  for (std::size_t k = 0; k < io::section_count(header); ++k) {
    io::BinarySection& section = io::section_of(header, k);
    if (!is_inside(section, bytes.size())) continue;
    section.checksum =
        io::checksum(io::checksum_of(header), bytes.data() + section.offset, section.bytes, Device::host(1));
  }
  header.checksum = io::header_checksum(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
}

template <class T>
std::optional<MatrixMarketMatrix<T>> read_as(const std::filesystem::path& path) {
  auto matrix = accepted(path.string(), [&] { return read_binary<T>(path, limited()); });
  if (matrix) validate(matrix->matrix.view());
  return matrix;
}

void read(int how_much, std::string bytes) {
  put_right(bytes, how_much);
  static const Scratch scratch(".in.tsb");
  scratch.hold(bytes);
  const auto in_double = read_as<double>(scratch.path());
  const auto in_float = read_as<float>(scratch.path());
  require(in_double.has_value() || !in_float.has_value(), "what is refused in double is refused in float");
  const auto info = accepted(scratch.path().string(), [&] { return read_binary_info(scratch.path()); });
  require(info.has_value() || !in_double.has_value(), "a matrix has a sound header");
  if (in_double) require_round_trips(*in_double);
}

}  // namespace

void fuzz_binary(std::string_view bytes) {
  if (bytes.empty()) return;
  read(static_cast<unsigned char>(bytes[0]) % 4, std::string(bytes.substr(1)));
}

}  // namespace tessera::fuzzing
