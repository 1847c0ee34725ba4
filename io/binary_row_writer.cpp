/// \file
/// A binary matrix file written rows by rows: its three sections grow in files without a name beside the target, and
/// are joined when the number of entries is known.
#include "io/atomic_file.hpp"
#include "io/binary_header.hpp"
#include "io/finite.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int reason) {
  throw IoError(fmt::format("cannot write the sections of \"{}\" beside it: {}", path.string(),
                            std::generic_category().message(reason)));
}

/// Bytes of a section, and the checksums of their pieces. The file has no name: it goes with its descriptor.
class GrowingSection {
 public:
  explicit GrowingSection(const std::filesystem::path& target) : target_(target) {
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    descriptor_ = ::open(folder.c_str(), O_RDWR | O_CLOEXEC | O_TMPFILE, 0600);
    if (descriptor_ < 0) {  // NFS, FAT, and folders of devices
      const bool is_writable = ::access(folder.c_str(), W_OK) == 0;
      std::string name = (is_writable ? folder : std::filesystem::temp_directory_path()) / ".tessera-XXXXXX";
      descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
      if (descriptor_ < 0) fail(target_, errno);
      ::unlink(name.c_str());
    }
    piece_.reserve(io::checksum_chunk_bytes);
  }
  GrowingSection(const GrowingSection&) = delete;
  GrowingSection& operator=(const GrowingSection&) = delete;
  ~GrowingSection() { ::close(descriptor_); }

  void append(std::string_view bytes) {
    bytes_ += bytes.size();
    while (!bytes.empty()) {
      const std::size_t taken = std::min(bytes.size(), io::checksum_chunk_bytes - piece_.size());
      piece_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (piece_.size() == io::checksum_chunk_bytes) flush();
    }
  }
  /// The last piece. Nothing is appended after it.
  void close() {
    if (!piece_.empty()) flush();
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t checksum() const noexcept {
    return io::join_checksums(io::Checksum::xxh3, checksums_, bytes_);
  }
  void copy_to(io::AtomicFile& file) {
    piece_.resize(io::checksum_chunk_bytes);
    for (std::uint64_t at = 0; at < bytes_;) {
      const ssize_t got = ::pread(descriptor_, piece_.data(), piece_.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail(target_, got < 0 ? errno : EIO);
      file.write(std::string_view(piece_.data(), static_cast<std::size_t>(got)));
      at += static_cast<std::uint64_t>(got);
    }
  }

 private:
  void flush() {
    checksums_.push_back(io::chunk_checksum(io::Checksum::xxh3, piece_.data(), piece_.size()));
    for (std::string_view rest = piece_; !rest.empty();) {
      const ssize_t put = ::write(descriptor_, rest.data(), rest.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail(target_, errno);
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    piece_.clear();
  }

  std::filesystem::path target_;
  int descriptor_ = -1;
  std::string piece_;
  std::vector<std::uint64_t> checksums_;
  std::uint64_t bytes_ = 0;
};

template <class U>
[[nodiscard]] std::string_view bytes_of(std::span<const U> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size_bytes()};
}

}  // namespace

template <class T>
struct BinaryMatrixWriter<T>::Impl {
  Impl(const std::filesystem::path& path, std::int64_t rows, std::int64_t cols, ValueStorage storage)
      : file(path), offsets(path), columns(path), values(path) {
    header.rows = rows;
    header.cols = cols;
    const auto weighted = std::is_same_v<T, float> ? BinaryValues::fp32 : BinaryValues::fp64;
    const bool is_pattern = storage == ValueStorage::pattern;
    header.values = static_cast<std::uint32_t>(is_pattern ? BinaryValues::pattern : weighted);
    header.format = static_cast<std::uint32_t>(MatrixMarketFormat::coordinate);
    header.field = static_cast<std::uint32_t>(is_pattern ? MatrixMarketField::pattern : MatrixMarketField::real);
    header.symmetry = static_cast<std::uint32_t>(MatrixMarketSymmetry::general);
    offsets.append({reinterpret_cast<const char*>(&header.nnz), sizeof(offset_t)});
  }

  io::AtomicFile file;
  io::BinaryHeader header;
  GrowingSection offsets;
  GrowingSection columns;
  GrowingSection values;
  std::int64_t rows_written = 0;
  bool finished = false;
};

template <class T>
BinaryMatrixWriter<T>::BinaryMatrixWriter(const std::filesystem::path& path, std::int64_t rows, std::int64_t cols,
                                          ValueStorage storage) {
  constexpr std::int64_t most = std::numeric_limits<index_t>::max();
  if (rows < 0 || cols < 0 || rows > most || cols > most) {
    throw InvalidArgument(
        fmt::format("a matrix of {} x {} has no binary file: 0 ... {} rows and columns are known", rows, cols, most));
  }
  if (path.extension() == ".gz") {
    throw InvalidArgument(
        fmt::format("cannot write \"{}\": binary matrix files are not compressed, choose another name", path.string()));
  }
  impl_ = std::make_unique<Impl>(path, rows, cols, storage);
}

template <class T>
BinaryMatrixWriter<T>::~BinaryMatrixWriter() = default;
template <class T>
BinaryMatrixWriter<T>::BinaryMatrixWriter(BinaryMatrixWriter&&) noexcept = default;
template <class T>
BinaryMatrixWriter<T>& BinaryMatrixWriter<T>::operator=(BinaryMatrixWriter&&) noexcept = default;

template <class T>
void BinaryMatrixWriter<T>::append(const CsrView<T>& rows) {
  io::BinaryHeader& header = impl_->header;
  const bool is_pattern = header.values == static_cast<std::uint32_t>(BinaryValues::pattern);
  if (impl_->finished || rows.cols != header.cols || rows.rows > header.rows - impl_->rows_written ||
      rows.is_pattern() != is_pattern) {
    throw InvalidArgument(fmt::format("rows {} ... of a {} x {} {}matrix file cannot be {} rows of {} columns{}{}",
                                      impl_->rows_written + 1, header.rows, header.cols, is_pattern ? "pattern " : "",
                                      rows.rows, rows.cols, rows.is_pattern() ? " without values" : "",
                                      impl_->finished ? ": the file is finished" : ""));
  }
  const offset_t bad = io::first_not_finite(rows.values, Device{});
  if (bad < static_cast<offset_t>(rows.values.size())) {
    throw InvalidMatrix(fmt::format("nonzero {} is {}, which a binary matrix file cannot hold", header.nnz + bad,
                                    rows.values[static_cast<std::size_t>(bad)]));
  }
  constexpr std::size_t part_rows = 4096;
  std::array<offset_t, part_rows> shifted{};
  const auto count = static_cast<std::size_t>(rows.rows);
  for (std::size_t begin = 0; begin < count; begin += part_rows) {
    const std::size_t size = std::min(part_rows, count - begin);
    for (std::size_t i = 0; i < size; ++i) shifted[i] = header.nnz + rows.row_offsets[begin + i + 1];
    impl_->offsets.append(bytes_of(std::span<const offset_t>(shifted.data(), size)));
  }
  impl_->columns.append(bytes_of(rows.columns));
  impl_->values.append(bytes_of(rows.values));
  header.nnz += rows.nnz();
  impl_->rows_written += rows.rows;
}

template <class T>
void BinaryMatrixWriter<T>::finish() {
  io::BinaryHeader& header = impl_->header;
  if (impl_->finished || impl_->rows_written != header.rows) {
    throw InvalidArgument(fmt::format("a binary matrix file of {} rows cannot be finished {}", header.rows,
                                      impl_->finished ? "twice" : fmt::format("after {}", impl_->rows_written)));
  }
  impl_->finished = true;
  header.entries = header.nnz;
  io::lay_out_sections(header);
  const std::array<GrowingSection*, 3> sections{&impl_->offsets, &impl_->columns, &impl_->values};
  for (std::size_t k = 0; k < sections.size(); ++k) {
    sections[k]->close();
    header.sections[k].checksum = sections[k]->checksum();
  }
  header.checksum = io::header_checksum(header);
  impl_->file.write({reinterpret_cast<const char*>(&header), sizeof(header)});
  std::uint64_t written = sizeof(header);
  for (std::size_t k = 0; k < sections.size(); ++k) {
    impl_->file.write(std::string(header.sections[k].offset - written, '\0'));
    sections[k]->copy_to(impl_->file);
    written = header.sections[k].offset + header.sections[k].bytes;
  }
  impl_->file.commit();
}

template <class T>
offset_t BinaryMatrixWriter<T>::nnz() const noexcept {
  return impl_->header.nnz;
}

template class BinaryMatrixWriter<float>;
template class BinaryMatrixWriter<double>;

}  // namespace tessera
