#include "core/parallel.hpp"
#include "io/atomic_file.hpp"
#include "io/binary_header.hpp"
#include "io/finite.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

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

template <class T>
BinaryHeader describe(const CsrView<T>& a, const MatrixMarketHeader& text) {
  BinaryHeader header;
  header.rows = a.rows;
  header.cols = a.cols;
  header.nnz = a.nnz();
  const auto weighted = std::is_same_v<T, float> ? BinaryValues::fp32 : BinaryValues::fp64;
  header.values = static_cast<std::uint32_t>(a.is_pattern() ? BinaryValues::pattern : weighted);
  header.format = static_cast<std::uint32_t>(text.format);
  header.field = static_cast<std::uint32_t>(text.field);
  header.symmetry = static_cast<std::uint32_t>(text.symmetry);
  header.entries = text.entries;
  io::lay_out_sections(header);
  return header;
}

template <class T>
void check_writable(const std::filesystem::path& path, const CsrView<T>& a, const MatrixMarketHeader& text) {
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

template <class T>
void write_file(const std::filesystem::path& path, const CsrView<T>& a, BinaryHeader header) {
  const std::array<std::string_view, 3> sections{bytes_of(a.row_offsets), bytes_of(a.columns), bytes_of(a.values)};
  for (std::size_t k = 0; k < sections.size(); ++k) {
    header.sections[k].checksum =
        io::checksum(io::checksum_of(header), sections[k].data(), sections[k].size(), Device{});
  }
  header.checksum = io::header_checksum(header);
  io::AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&header), sizeof(header)});
  std::uint64_t written = sizeof(header);
  for (std::size_t k = 0; k < sections.size(); ++k) {
    constexpr std::string_view padding(
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        64);
    file.write(padding.substr(0, header.sections[k].offset - written));
    file.write(sections[k]);
    written = header.sections[k].offset + header.sections[k].bytes;
  }
  file.commit();
}

}  // namespace

template <class T>
void write_binary(const std::filesystem::path& path, const MatrixMarketMatrix<T>& matrix,
                  const std::optional<BinarySource>& source) {
  const CsrView<T> a = matrix.matrix.view();
  check_writable(path, a, matrix.header);
  BinaryHeader header = describe(a, matrix.header);
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
  write_file(path, a, header);
}

template <class T>
void write_binary(const std::filesystem::path& path, const CsrView<T>& matrix) {
  MatrixMarketHeader text;
  text.field = matrix.is_pattern() ? MatrixMarketField::pattern : MatrixMarketField::real;
  text.rows = matrix.rows;
  text.cols = matrix.cols;
  text.entries = matrix.nnz();
  check_writable(path, matrix, text);
  write_file(path, matrix, describe(matrix, text));
}

template void write_binary(const std::filesystem::path&, const MatrixMarketMatrix<float>&,
                           const std::optional<BinarySource>&);
template void write_binary(const std::filesystem::path&, const MatrixMarketMatrix<double>&,
                           const std::optional<BinarySource>&);
template void write_binary(const std::filesystem::path&, const CsrView<float>&);
template void write_binary(const std::filesystem::path&, const CsrView<double>&);

}  // namespace tessera
