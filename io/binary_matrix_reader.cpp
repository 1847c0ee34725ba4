#include "core/bitmap_tile.hpp"
#include "core/memory_budget.hpp"
#include "core/parallel.hpp"
#include "core/tiles_to_csr.hpp"
#include "io/binary_header.hpp"
#include "io/finite.hpp"
#include "io/input_file.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

namespace {

using detail::MemoryBudget;
using io::BinaryHeader;
using io::BinarySection;
using io::InputFile;

[[nodiscard]] const char* section_name(const BinaryHeader& header, std::size_t k) {
  constexpr std::array<const char*, 4> of_rows{"row offsets", "columns", "values", ""};
  constexpr std::array<const char*, 4> of_tiles{"tile row offsets", "tile columns", "values", "bitmaps"};
  return io::holds_tiles(header) ? of_tiles[k] : of_rows[k];
}

/// Reads a section piece by piece; the checksum of a piece is computed while it is in the cache.
template <class T>
Array<T> read_section(const InputFile& file, const BinaryHeader& header, std::size_t which, const Device& device) {
  const BinarySection& section = io::section_of(header, which);
  const io::Checksum function = io::checksum_of(header);
  Array<T> data(static_cast<std::int64_t>(section.bytes / sizeof(T)), Init::none);
  char* const bytes = reinterpret_cast<char*>(data.data());
  std::vector<std::uint64_t> sums(io::checksum_chunks(section.bytes));
  std::vector<InputFile::Got> got(sums.size());
  const auto begin_of = [](std::size_t c) { return std::uint64_t{c} * io::checksum_chunk_bytes; };
  const auto size_of = [&](std::size_t c) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(io::checksum_chunk_bytes, section.bytes - begin_of(c)));
  };
  host::parallel_tasks(device, static_cast<std::int64_t>(sums.size()), [&](std::int64_t number) {
    const auto c = static_cast<std::size_t>(number);
    got[c] = file.read_at(section.offset + begin_of(c), bytes + begin_of(c), size_of(c));
    if (got[c].bytes == size_of(c)) sums[c] = io::chunk_checksum(function, bytes + begin_of(c), size_of(c));
  });
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (got[c].bytes == size_of(c)) continue;
    if (got[c].error != 0) file.fail(got[c].error);
    throw ParseError::at_byte(file.name(), section.offset + begin_of(c) + got[c].bytes,
                              "the file ended while it was read");
  }
  if (io::join_checksums(function, sums, section.bytes) != section.checksum) {
    throw ParseError::at_byte(file.name(), section.offset,
                              fmt::format("the checksum of the {} ({} bytes) is wrong: the file is damaged",
                                          section_name(header, which), section.bytes));
  }
  return data;
}

/// The bytes between sections must be zero; no checksum covers them.
void check_padding(const InputFile& file, const BinaryHeader& header) {
  std::uint64_t end = sizeof(BinaryHeader);
  for (std::size_t k = 0; k < io::section_count(header); ++k) {
    const BinarySection& section = io::section_of(header, k);
    std::array<char, io::section_alignment> padding{};
    const auto bytes = static_cast<std::size_t>(section.offset - end);
    const InputFile::Got got = file.read_at(end, padding.data(), bytes);
    if (got.error != 0) file.fail(got.error);
    const auto bad = std::find_if(padding.begin(), padding.end(), [](char c) { return c != 0; });
    if (bad != padding.end()) {
      throw ParseError::at_byte(file.name(), end + static_cast<std::uint64_t>(bad - padding.begin()),
                                "expected zeros between the sections");
    }
    end = section.offset + section.bytes;
  }
}

[[noreturn]] void refuse_value(const InputFile& file, const BinaryHeader& header, std::int64_t k, double value,
                               const char* reason) {
  const BinarySection& section = header.sections[2];
  const std::uint64_t bytes_per_value = section.bytes / static_cast<std::uint64_t>(header.nnz);
  throw InvalidMatrix(fmt::format("{}: byte {}: nonzero {} is {}, {}", file.name(),
                                  section.offset + static_cast<std::uint64_t>(k) * bytes_per_value, k, value, reason));
}

/// Values stored as `Stored`, converted to T.
template <class Stored, class T>
Array<T> read_values_as(const InputFile& file, const BinaryHeader& header, const Device& device) {
  Array<Stored> stored = read_section<Stored>(file, header, 2, device);
  std::int64_t bad = io::first_not_finite<Stored>(std::as_const(stored).span(), device);
  if (bad < stored.size()) {
    refuse_value(file, header, bad, static_cast<double>(stored[bad]), "which a binary matrix file cannot hold");
  }
  if constexpr (std::is_same_v<Stored, T>) {
    return stored;
  } else {
    Array<T> values(stored.size(), Init::none);
    host::parallel_for(device, stored.size(), [&](host::Range range) {
      for (std::int64_t k = range.begin; k < range.end; ++k) values[k] = static_cast<T>(stored[k]);
    });
    bad = io::first_not_finite<T>(std::as_const(values).span(), device);
    if (bad < values.size()) {
      refuse_value(file, header, bad, static_cast<double>(stored[bad]), "which does not fit single precision");
    }
    return values;
  }
}

template <class T>
Array<T> read_values(const InputFile& file, const BinaryHeader& header, const Device& device) {
  switch (static_cast<BinaryValues>(header.values)) {
    case BinaryValues::pattern:
      // Nothing to read, but its checksum is verified.
      return read_section<T>(file, header, 2, device);
    case BinaryValues::fp32:
      return read_values_as<float, T>(file, header, device);
    case BinaryValues::fp64:
      return read_values_as<double, T>(file, header, device);
  }
  return {};
}

template <class T>
void reserve(const BinaryHeader& header, MemoryBudget& budget) {
  budget.reserve(header.file_bytes, "matrix of the file");
  if (io::holds_tiles(header)) {
    budget.reserve((static_cast<std::uint64_t>(header.tiles) + 1) * sizeof(offset_t), "value offsets of the tiles");
    const bool weighted = static_cast<BinaryValues>(header.values) != BinaryValues::pattern;
    budget.reserve(detail::csr_bytes(static_cast<index_t>(header.rows), header.nnz, weighted ? sizeof(T) : 0),
                   "matrix in rows");
  }
  constexpr auto same = std::is_same_v<T, float> ? BinaryValues::fp32 : BinaryValues::fp64;
  const auto stored = static_cast<BinaryValues>(header.values);
  if (stored == same || stored == BinaryValues::pattern) return;
  budget.reserve(static_cast<std::uint64_t>(header.nnz) * sizeof(T), "values in the other precision");
}

template <class T>
Csr<T> make_matrix(const InputFile& file, const BinaryHeader& header, Array<offset_t> offsets, Array<index_t> columns,
                   Array<T> values) {
  try {
    if (static_cast<BinaryValues>(header.values) == BinaryValues::pattern) {
      return Csr<T>::pattern(header.rows, header.cols, std::move(offsets), std::move(columns));
    }
    return Csr<T>(header.rows, header.cols, std::move(offsets), std::move(columns), std::move(values));
  } catch (const InvalidMatrix& invalid) {
    throw InvalidMatrix(fmt::format("{}: {} (row offsets from byte {}, columns from byte {})", file.name(),
                                    invalid.what(), header.sections[0].offset, header.sections[1].offset));
  }
}

/// Where the values of every tile begin. \throws InvalidMatrix when the bitmaps have not as many bits as the matrix
/// nonzeros
Array<offset_t> value_offsets_of(const InputFile& file, const BinaryHeader& header,
                                 const Array<std::uint64_t>& bitmaps) {
  Array<offset_t> offsets(bitmaps.size() + 1, Init::none);
  offset_t sum = 0;
  for (std::int64_t t = 0; t < bitmaps.size(); ++t) {
    offsets[t] = sum;
    sum += detail::count_bits(bitmaps[t]);
  }
  offsets[bitmaps.size()] = sum;
  if (sum == header.nnz) return offsets;
  throw InvalidMatrix(fmt::format("{}: the bitmaps from byte {} have {} bits, expected one for each of {} nonzeros",
                                  file.name(), header.bitmaps.offset, sum, header.nnz));
}

/// The matrix of a file of tiles.
template <class T>
Csr<T> read_tiles(const InputFile& file, const BinaryHeader& header, const Device& device) {
  auto tile_row_offsets = read_section<offset_t>(file, header, 0, device);
  auto tile_columns = read_section<index_t>(file, header, 1, device);
  auto values = read_values<T>(file, header, device);
  auto bitmaps = read_section<std::uint64_t>(file, header, 3, device);
  auto value_offsets = value_offsets_of(file, header, bitmaps);
  const bool is_pattern = static_cast<BinaryValues>(header.values) == BinaryValues::pattern;
  try {
    const TileMatrix<T> tiles(header.rows, header.cols, is_pattern ? ValueStorage::pattern : ValueStorage::weighted,
                              std::move(tile_row_offsets), std::move(tile_columns), std::move(bitmaps),
                              std::move(value_offsets), std::move(values));
    return host::csr_of(tiles.view(), device);
  } catch (const InvalidMatrix& invalid) {
    throw InvalidMatrix(fmt::format(
        "{}: {} (tile row offsets from byte {}, tile columns from byte {}, bitmaps from "
        "byte {})",
        file.name(), invalid.what(), header.sections[0].offset, header.sections[1].offset, header.bitmaps.offset));
  }
}

/// The matrix of a file of rows.
template <class T>
Csr<T> read_rows(const InputFile& file, const BinaryHeader& header, const Device& device) {
  auto offsets = read_section<offset_t>(file, header, 0, device);
  auto columns = read_section<index_t>(file, header, 1, device);
  auto values = read_values<T>(file, header, device);
  return make_matrix<T>(file, header, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace

template <class T>
MatrixMarketMatrix<T> io::read_binary_sections(const InputFile& file, const BinaryHeader& header,
                                               const ReadOptions& options) {
  check_padding(file, header);
  if (header.duplicates > 0 && options.duplicates == Duplicates::error) {
    throw InvalidMatrix(fmt::format("{}: the text it was made from repeats positions: {} entries were merged",
                                    file.name(), header.duplicates));
  }
  MemoryBudget budget = io::read_budget(options.memory_limit_bytes);
  reserve<T>(header, budget);
  return {
      holds_tiles(header) ? read_tiles<T>(file, header, options.device) : read_rows<T>(file, header, options.device),
      io::info_of(header).header, header.duplicates, header.explicit_zeros};
}

template <class T>
MatrixMarketMatrix<T> read_binary(const std::filesystem::path& path, const ReadOptions& options) {
  const InputFile file(path);
  return io::read_binary_sections<T>(file, io::read_binary_header(file), options);
}

BinaryMatrixInfo read_binary_info(const std::filesystem::path& path) {
  return io::info_of(io::read_binary_header(InputFile(path)));
}

bool is_binary_matrix(const std::filesystem::path& path) {
  const InputFile file(path);
  if (!file.stamp().regular) return false;
  std::array<unsigned char, io::binary_magic.size()> bytes{};
  const InputFile::Got got = file.read_at(0, reinterpret_cast<char*>(bytes.data()), bytes.size());
  if (got.error != 0) file.fail(got.error);
  return bytes == io::binary_magic;
}

template MatrixMarketMatrix<float> io::read_binary_sections(const InputFile&, const BinaryHeader&, const ReadOptions&);
template MatrixMarketMatrix<double> io::read_binary_sections(const InputFile&, const BinaryHeader&, const ReadOptions&);
template MatrixMarketMatrix<float> read_binary(const std::filesystem::path&, const ReadOptions&);
template MatrixMarketMatrix<double> read_binary(const std::filesystem::path&, const ReadOptions&);

}  // namespace tessera
