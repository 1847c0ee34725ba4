// NumPy's arrays (.npy: magic, version, a header that is a Python dictionary in one line, the numbers) and SciPy's
// sparse matrices (.npz: a zip archive of such arrays, one per array of the format). The container is minizip's. (NumPy
// Enhancement Proposal 1; scipy.sparse.save_npz.)
#include "io/matrix_readers.hpp"
#include "io/source.hpp"
#include "io/stored_arrays.hpp"
#include "io/zip_archive.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "\x93NUMPY"sv;

/// An array of a file; its numbers stay where they are.
struct NpyArray {
  bool is_text = false;
  std::string word;  ///< the content of an array of text, which has one element
  PackedNumbers numbers;
  std::vector<std::int64_t> shape;
  bool by_columns = false;  ///< the first index runs fastest
};

/// One file of an archive, or a file of its own.
class NpyParser {
 public:
  /// \param member of the archive, for messages; empty: none
  NpyParser(std::string_view bytes, const std::string& name, std::string_view member)
      : bytes_(bytes), name_(name), member_(member) {}

  [[nodiscard]] NpyArray parse() {
    read_dictionary();
    NpyArray array;
    const std::string type = quoted_after("'descr'");
    array.by_columns = text_after("'fortran_order'").starts_with("True");
    array.shape = shape();
    const std::int64_t count = element_count(array.shape);
    if (type.size() > 2 && (type[1] == 'S' || type[1] == 'U')) {
      array.is_text = true;
      array.word = read_word(type, count);
      return array;
    }
    const std::endian order = type.starts_with('>') ? std::endian::big : std::endian::little;
    ByteReader reader(bytes_, name_, order);
    reader.skip(data_);
    array.numbers = reader.numbers(count, number_type(type), "elements");
    return array;
  }

 private:
  [[noreturn]] void fail(std::size_t byte, const std::string& message) const {
    throw ParseError::at_byte(name_, byte,
                              member_.empty() ? message : fmt::format("of {} in it: {}", member_, message));
  }

  void read_dictionary() {
    constexpr std::size_t version = 6;
    constexpr std::size_t fixed = 8;
    if (!bytes_.starts_with(magic) || bytes_.size() < fixed) fail(0, "expected a NumPy array (\\x93NUMPY)");
    const auto byte = [&](std::size_t k) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes_[k])); };
    const std::size_t length_bytes = byte(version) == 1 ? 2 : 4;
    if (byte(version) < 1 || byte(version) > 3)
      fail(version, fmt::format("format version {} is not known", byte(version)));
    if (bytes_.size() < fixed + length_bytes) fail(bytes_.size(), "the header is cut off");
    std::size_t length = 0;
    for (std::size_t k = length_bytes; k-- > 0;) length = 256 * length + byte(fixed + k);
    begin_ = fixed + length_bytes;
    if (length > bytes_.size() - begin_) fail(bytes_.size(), "the header is cut off");
    dictionary_ = bytes_.substr(begin_, length);
    data_ = begin_ + length;
  }

  /// What follows a key and its colon.
  [[nodiscard]] std::string_view text_after(std::string_view key) const {
    const std::size_t at = dictionary_.find(key);
    std::size_t p = at == std::string_view::npos ? at : dictionary_.find_first_not_of(' ', at + key.size());
    if (p != std::string_view::npos && dictionary_[p] == ':') {
      p = dictionary_.find_first_not_of(' ', p + 1);
      if (p != std::string_view::npos) return dictionary_.substr(p);
    }
    fail(begin_, fmt::format("expected {} in the header, found {}", key, io::quoted(dictionary_)));
  }

  [[nodiscard]] std::string quoted_after(std::string_view key) const {
    const std::string_view text = text_after(key);
    const std::size_t end = text.find('\'', 1);
    if (!text.starts_with('\'') || end == std::string_view::npos) {
      fail(begin_, fmt::format("arrays of type {} are not read: expected one number per element", io::quoted(text)));
    }
    return std::string(text.substr(1, end - 1));
  }

  [[nodiscard]] std::vector<std::int64_t> shape() const {
    std::string_view text = text_after("'shape'");
    const std::size_t end = text.find(')');
    if (!text.starts_with('(') || end == std::string_view::npos) fail(begin_, "expected a shape in the header");
    text = text.substr(1, end - 1);
    std::vector<std::int64_t> sizes;
    while (true) {
      text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
      if (text.empty()) return sizes;
      std::int64_t size = 0;
      const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (error != std::errc{} || size < 0)
        fail(begin_, fmt::format("expected sizes in the shape, found {}", io::quoted(text)));
      sizes.push_back(size);
      text.remove_prefix(static_cast<std::size_t>(last - text.data()));
    }
  }

  /// As in NumPy, products of the sizes must fit beside a size of zero, too.
  [[nodiscard]] std::int64_t element_count(const std::vector<std::int64_t>& shape) const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
      if (__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count)) {
        fail(begin_, "the sizes of the shape overflow");
      }
    }
    return std::find(shape.begin(), shape.end(), 0) == shape.end() ? count : 0;
  }

  /// Of "<f8": the byte order, the kind and the bytes.
  [[nodiscard]] NumberType number_type(const std::string& type) const {
    using Named = std::pair<std::string_view, NumberType>;
    constexpr std::array<Named, 11> known{{{"b1", NumberType::boolean},
                                           {"i1", NumberType::int8},
                                           {"u1", NumberType::uint8},
                                           {"i2", NumberType::int16},
                                           {"u2", NumberType::uint16},
                                           {"i4", NumberType::int32},
                                           {"u4", NumberType::uint32},
                                           {"i8", NumberType::int64},
                                           {"u8", NumberType::uint64},
                                           {"f4", NumberType::float32},
                                           {"f8", NumberType::float64}}};
    const std::string_view kind = std::string_view(type).substr(std::min<std::size_t>(1, type.size()));
    const auto* const found =
        std::find_if(known.begin(), known.end(), [&](const Named& named) { return named.first == kind; });
    if (found != known.end()) return found->second;
    fail(begin_, fmt::format("elements of type {} are not read: expected real or whole numbers of up to 8 bytes{}",
                             io::quoted(type), kind.starts_with('c') ? "; complex matrices are not supported" : ""));
  }

  /// ASCII in bytes or in words of 32 bits.
  [[nodiscard]] std::string read_word(const std::string& type, std::int64_t count) const {
    std::size_t width = 0;
    std::from_chars(type.data() + 2, type.data() + type.size(), width);
    const std::size_t bytes = type[1] == 'U' ? 4 : 1;
    if (count != 1 || width > (bytes_.size() - data_) / bytes) fail(data_, "expected one word of text");
    std::string word;
    for (std::size_t k = 0; k < width; ++k) {
      const char c = bytes_[data_ + k * bytes + (type[0] == '>' ? bytes - 1 : 0)];
      if (c != '\0') word += c;
    }
    return word;
  }

  std::string_view bytes_;
  const std::string& name_;
  std::string_view member_;
  std::string_view dictionary_;
  std::size_t begin_ = 0;  ///< of the dictionary
  std::size_t data_ = 0;
};

/// A vector, or a matrix.
[[nodiscard]] DenseArray as_dense(const NpyArray& array, const std::string& name) {
  if (array.is_text) throw ParseError::at_byte(name, 0, "expected numbers, found text");
  switch (array.shape.size()) {
    case 1:
      return {array.numbers, array.shape[0], 1, true};
    case 2:
      return {array.numbers, array.shape[0], array.shape[1], array.by_columns};
    default:
      break;
  }
  throw ParseError::at_byte(name, 0,
                            fmt::format("expected an array of one or two dimensions, found {}", array.shape.size()));
}

/// The arrays of a sparse matrix, inflated.
class SparseArchive {
 public:
  SparseArchive(const FileBytes& file, MemoryBudget& budget)
      : file_(file), zip_(file.bytes, file.name), budget_(budget) {}

  [[nodiscard]] std::optional<NpyArray> find(const std::string& array) {
    std::optional<ByteBuffer> bytes = zip_.read(array + ".npy", budget_);
    if (!bytes) return std::nullopt;
    inflated_.push_back(std::move(*bytes));
    return NpyParser(inflated_.back().view(), file_.name, array + ".npy").parse();
  }

  [[nodiscard]] NpyArray get(const std::string& array) {
    std::optional<NpyArray> found = find(array);
    if (found) return std::move(*found);
    throw InvalidMatrix(fmt::format("{}: expected the array {} of a sparse matrix (scipy.sparse.save_npz), found {}",
                                    file_.name, array, zip_.names()));
  }

  /// \throws InvalidMatrix for text, another number of dimensions, or numbers that are not whole where they must be
  void check(const NpyArray& found, const std::string& array, std::size_t dimensions, bool whole) const {
    const bool fits = !found.is_text && (!whole || is_whole(found.numbers.type()));
    if (fits && found.shape.size() == dimensions) return;
    throw InvalidMatrix(fmt::format("{}: expected {} of {} dimension{}, {}numbers, found {}{}", file_.name, array,
                                    dimensions, dimensions == 1 ? "" : "s", whole ? "whole " : "", found.shape.size(),
                                    fits            ? ""
                                    : found.is_text ? ", text"
                                                    : ", not whole"));
  }

  [[nodiscard]] NpyArray array(const std::string& name, std::size_t dimensions, bool whole) {
    NpyArray found = get(name);
    check(found, name, dimensions, whole);
    return found;
  }

  [[nodiscard]] PackedNumbers numbers(const std::string& name, bool whole) { return array(name, 1, whole).numbers; }

 private:
  const FileBytes& file_;
  ZipArchive zip_;
  MemoryBudget& budget_;
  std::vector<ByteBuffer> inflated_;
};

[[nodiscard]] MatrixMarketHeader sizes_of(SparseArchive& archive, const std::string& name) {
  const PackedNumbers shape = archive.numbers("shape", true);
  MatrixMarketHeader header;
  if (shape.size() == 2) {
    header.rows = shape.get<std::int64_t>(0);
    header.cols = shape.get<std::int64_t>(1);
    if (std::min(header.rows, header.cols) >= 0 && std::max(header.rows, header.cols) <= max_size) return header;
  }
  throw InvalidMatrix(fmt::format("{}: expected a matrix of up to {} rows and columns, found a shape of {} sizes{}",
                                  name, max_size, shape.size(),
                                  shape.size() == 2 ? fmt::format(": {} x {}", header.rows, header.cols) : ""));
}

template <class T>
[[nodiscard]] FileEntries<T> compressed(SparseArchive& archive, const std::string& format, MatrixMarketHeader header,
                                        const std::string& name, MemoryBudget& budget) {
  CompressedArrays arrays{archive.numbers("indptr", true), archive.numbers("indices", true), {}};
  arrays.by_columns = format == "csc";
  if (format == "bsr") {
    const NpyArray data = archive.array("data", 3, false);
    if (data.shape[1] < 1 || data.shape[2] < 1 || data.by_columns) {
      throw InvalidMatrix(fmt::format("{}: expected data of blocks, by rows, in the format bsr", name));
    }
    arrays.values = data.numbers;
    arrays.block_rows = data.shape[1];
    arrays.block_cols = data.shape[2];
  } else {
    arrays.values = archive.numbers("data", false);
  }
  return expand<T>(header, arrays, name, budget);
}

template <class T>
[[nodiscard]] FileEntries<T> coordinates(SparseArchive& archive, MatrixMarketHeader header, const std::string& name,
                                         MemoryBudget& budget) {
  const PackedNumbers values = archive.numbers("data", false);
  header.entries = values.size();
  const auto both = archive.find("coords");  // of arrays of SciPy in the future, a row per dimension
  const bool joined = both.has_value();
  if (joined) archive.check(*both, "coords", 2, true);
  if (joined && (both->shape != std::vector<std::int64_t>{2, values.size()} || both->by_columns)) {
    throw InvalidMatrix(fmt::format("{}: expected coords of 2 x {}, by rows, in the format coo", name, values.size()));
  }
  const PackedNumbers rows = joined ? both->numbers : archive.numbers("row", true);
  const PackedNumbers columns = joined ? both->numbers : archive.numbers("col", true);
  const std::int64_t first_column = joined ? values.size() : 0;
  if (!joined && (rows.size() != values.size() || columns.size() != values.size())) {
    throw InvalidMatrix(fmt::format("{}: {} rows, {} columns and {} values of entries", name, rows.size(),
                                    columns.size(), values.size()));
  }
  FileEntries<T> out = allocate_entries<T>(header, budget);
  const auto index = [](std::int64_t k) { return static_cast<index_t>(std::clamp<std::int64_t>(k, -1, max_size)); };
  for (std::int64_t k = 0; k < values.size(); ++k) {
    out.rows[k] = index(rows.get<std::int64_t>(k));
    out.columns[k] = index(columns.get<std::int64_t>(first_column + k));
    out.values[k] = values.get<T>(k);
  }
  return out;
}

/// Row d of `data` is the diagonal offsets[d], its entry in column j at data[d, j]; zeros are no entries.
template <class T>
[[nodiscard]] FileEntries<T> diagonals(SparseArchive& archive, MatrixMarketHeader header, const std::string& name,
                                       MemoryBudget& budget) {
  const PackedNumbers offsets = archive.numbers("offsets", true);
  const NpyArray data = archive.array("data", 2, false);
  if (data.shape[0] != offsets.size() || data.by_columns) {
    throw InvalidMatrix(
        fmt::format("{}: expected data of {} diagonals, by rows, in the format dia", name, offsets.size()));
  }
  const std::int64_t width = std::min(data.shape[1], header.cols);
  const auto for_each = [&](auto&& visit) {
    for (std::int64_t d = 0; d < offsets.size(); ++d) {
      const std::int64_t offset = std::clamp(offsets.get<std::int64_t>(d), -header.rows, header.cols);
      const std::int64_t end = std::min(width, header.rows + offset);
      for (std::int64_t j = std::max<std::int64_t>(0, offset); j < end; ++j) {
        const T value = data.numbers.get<T>(d * data.shape[1] + j);
        if (value != T{0}) visit(j - offset, j, value);
      }
    }
  };
  for_each([&](std::int64_t, std::int64_t, T) { ++header.entries; });
  FileEntries<T> out = allocate_entries<T>(header, budget);
  std::int64_t next = 0;
  for_each([&](std::int64_t i, std::int64_t j, T value) {
    out.rows[next] = static_cast<index_t>(i);
    out.columns[next] = static_cast<index_t>(j);
    out.values[next] = value;
    ++next;
  });
  return out;
}

}  // namespace

bool is_npz(std::string_view bytes) noexcept {
  return bytes.starts_with("PK\x03\x04"sv) || bytes.starts_with("PK\x05\x06"sv);
}

bool is_npy(std::string_view bytes) noexcept { return bytes.starts_with(magic); }

template <class T>
MatrixMarketMatrix<T> read_npz(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget) {
  SparseArchive archive(file, budget);
  const std::string format = archive.get("format").word;
  const MatrixMarketHeader header = sizes_of(archive, file.name);
  const auto assembled = [&](FileEntries<T> entries) {
    return assemble_entries(std::move(entries), file.name, options, budget);
  };
  if (format == "csr" || format == "csc" || format == "bsr") {
    return assembled(compressed<T>(archive, format, header, file.name, budget));
  }
  if (format == "coo") return assembled(coordinates<T>(archive, header, file.name, budget));
  if (format == "dia") return assembled(diagonals<T>(archive, header, file.name, budget));
  throw InvalidMatrix(
      fmt::format("{}: expected the format csr, csc, bsr, coo or dia, found {}", file.name, io::quoted(format)));
}

template <class T>
MatrixMarketMatrix<T> read_npy_matrix(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget) {
  const NpyArray array = NpyParser(file.bytes, file.name, {}).parse();
  const DenseArray dense = as_dense(array, file.name);
  if (std::max(dense.rows, dense.cols) > max_size) {
    throw InvalidMatrix(fmt::format("{}: a matrix has up to {} rows and columns, found {} x {}", file.name, max_size,
                                    dense.rows, dense.cols));
  }
  return assemble_entries(dense_entries<T>(dense, budget), file.name, options, budget);
}

template <class T>
MultiVector<T> read_npy_columns(const FileBytes& file, MemoryBudget& budget) {
  const NpyArray array = NpyParser(file.bytes, file.name, {}).parse();
  return dense_columns<T>(as_dense(array, file.name), file.name, budget);
}

template MatrixMarketMatrix<float> read_npz(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<double> read_npz(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<float> read_npy_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<double> read_npy_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MultiVector<float> read_npy_columns(const FileBytes&, MemoryBudget&);
template MultiVector<double> read_npy_columns(const FileBytes&, MemoryBudget&);

}  // namespace tessera::io
