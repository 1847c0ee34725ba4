// A binary file read by several processes: each takes its rows, and verifies a share of the checksums.
#include "petsc/engine/matrix_part.hpp"

#include "io/binary_header.hpp"
#include "io/input_file.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::petsc {

namespace {

using io::BinaryHeader;
using io::BinarySection;
using io::InputFile;

constexpr std::array<std::string_view, 3> section_names{"row offsets", "columns", "values"};

/// \throws IoError; ParseError where the file ended
void read_bytes(const InputFile& file, std::uint64_t offset, void* target, std::size_t bytes) {
  const InputFile::Got got = file.read_at(offset, static_cast<char*>(target), bytes);
  if (got.error != 0) file.fail(got.error);
  if (got.bytes < bytes) {
    throw ParseError::at_byte(file.name(), offset + got.bytes, "the file ended while it was read");
  }
}

/// Elements [begin, end) of a section.
template <class T>
[[nodiscard]] std::vector<T> read_elements(const InputFile& file, const BinarySection& section, std::int64_t begin,
                                           std::int64_t end) {
  std::vector<T> elements(static_cast<std::size_t>(end - begin));
  read_bytes(file, section.offset + static_cast<std::uint64_t>(begin) * sizeof(T), elements.data(),
             elements.size() * sizeof(T));
  return elements;
}

/// Each process sums an equal share of the pieces of a section; all of them join the sums of all.
void verify_section(MPI_Comm comm, const InputFile& file, const BinaryHeader& header, std::size_t which) {
  const BinarySection& section = header.sections[which];
  const io::Checksum function = io::checksum_of(header);
  std::vector<std::uint64_t> sums(io::checksum_chunks(section.bytes));
  const RowRange share = rows_of_process(comm, static_cast<std::int64_t>(sums.size()));
  together(comm, [&] {
    std::vector<char> piece(io::checksum_chunk_bytes);
    for (auto c = static_cast<std::uint64_t>(share.begin); c < static_cast<std::uint64_t>(share.end); ++c) {
      const std::uint64_t begin = c * io::checksum_chunk_bytes;
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), section.bytes - begin));
      read_bytes(file, section.offset + begin, piece.data(), bytes);
      sums[c] = io::chunk_checksum(function, piece.data(), bytes);
    }
  });
  // The sums of other processes are 0 here.
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T, MPI_SUM, comm));
  together(comm, [&] {
    if (io::join_checksums(function, sums, section.bytes) == section.checksum) return;
    throw ParseError::at_byte(file.name(), section.offset,
                              fmt::format("the checksum of the {} ({} bytes) is wrong: the file is damaged",
                                          section_names[which], section.bytes));
  });
}

[[nodiscard]] std::vector<double> read_values(const InputFile& file, const BinaryHeader& header, std::int64_t begin,
                                              std::int64_t end) {
  switch (static_cast<BinaryValues>(header.values)) {
    case BinaryValues::pattern:
      break;
    case BinaryValues::fp32: {
      const std::vector<float> single = read_elements<float>(file, header.sections[2], begin, end);
      return {single.begin(), single.end()};
    }
    case BinaryValues::fp64:
      return read_elements<double>(file, header.sections[2], begin, end);
  }
  std::vector<double> ones(static_cast<std::size_t>(end - begin), 1.0);
  return ones;
}

/// \throws InvalidMatrix for what a checksum does not tell: a file that was written wrong
void read_rows(const InputFile& file, const BinaryHeader& header, const RowRange& range, MatrixPart& part) {
  const auto offsets = read_elements<offset_t>(file, header.sections[0], range.begin, range.end + 1);
  if (!std::is_sorted(offsets.begin(), offsets.end()) || offsets.front() < 0 || offsets.back() > header.nnz) {
    throw InvalidMatrix(fmt::format("{}: the offsets of rows {} to {} are not ascending within 0 to {}", file.name(),
                                    range.begin + 1, range.end, header.nnz));
  }
  const auto columns = read_elements<index_t>(file, header.sections[1], offsets.front(), offsets.back());
  const std::vector<double> values = read_values(file, header, offsets.front(), offsets.back());
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const offset_t first = offsets[static_cast<std::size_t>(row - range.begin)] - offsets.front();
    const offset_t last = offsets[static_cast<std::size_t>(row - range.begin) + 1] - offsets.front();
    for (offset_t k = first; k < last; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const bool ascends =
          columns[at] >= 0 && columns[at] < header.cols && (k == first || columns[at] > columns[at - 1]);
      if (!ascends || !std::isfinite(values[at])) {
        throw InvalidMatrix(
            fmt::format("{}: row {}: {}", file.name(), row + 1,
                        ascends ? "a value is NaN or infinity" : "its columns are not ascending within the matrix"));
      }
      part.add(row, columns[at], values[at]);
    }
  }
}

}  // namespace

MatrixPart read_binary_part(MPI_Comm comm, const std::string& path) {
  std::optional<InputFile> file;
  BinaryHeader header;
  together(comm, [&] {
    file.emplace(path);
    header = io::read_binary_header(*file);
    if (io::holds_tiles(header)) throw InvalidArgument(fmt::format("{}: tiles are not read in parts", path));
  });
  for (std::size_t which = 0; which < header.sections.size(); ++which) verify_section(comm, *file, header, which);
  MatrixPart part;
  part.header = io::info_of(header).header;
  part.duplicates = header.duplicates;
  together(comm, [&] { read_rows(*file, header, rows_of_process(comm, header.rows), part); });
  return part;
}

}  // namespace tessera::petsc
