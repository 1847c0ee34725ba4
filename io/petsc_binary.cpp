// PETSc's binary files: big-endian objects one after the other, each with a number that names its class. A matrix is
// its class, rows, columns, nonzeros, the lengths of the rows, the columns and the values; a dense one has -1 nonzeros
// and its values by rows. (PETSc manual, MatLoad() and VecLoad().) Indices have the 32 or 64 bits of the PETSc that
// wrote them.
#include "tessera/petsc_file.hpp"

#include "io/atomic_file.hpp"
#include "io/byte_reader.hpp"
#include "io/matrix_readers.hpp"
#include "io/stored_arrays.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

namespace tessera {

namespace {

using namespace std::string_view_literals;
using detail::MemoryBudget;
using io::ByteReader;
using io::FileBytes;
using io::NumberType;
using io::PackedNumbers;

constexpr std::int64_t matrix_class = 1211216;
constexpr std::int64_t vector_class = 1211214;
constexpr std::int64_t dense = -1;  ///< in place of a number of nonzeros

[[nodiscard]] NumberType index_type(std::string_view bytes) {
  return bytes.starts_with("\0\0\0\0"sv) ? NumberType::int64 : NumberType::int32;
}

/// A matrix of a file, its arrays in place.
struct PetscMatrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool is_dense = false;
  PackedNumbers lengths;
  PackedNumbers columns;
  PackedNumbers values;
};

[[nodiscard]] PackedNumbers take_values(ByteReader& reader, std::int64_t count, NumberType type) {
  return reader.numbers(count, type, "values; of 4 bytes only where another object follows");
}

/// Behind its class.
[[nodiscard]] PetscMatrix take_matrix(ByteReader& reader, NumberType index, NumberType value) {
  PetscMatrix a;
  a.rows = reader.size(index, "rows", io::max_size);
  a.cols = reader.size(index, "columns", io::max_size);
  const std::uint64_t at = reader.position();
  const std::int64_t nonzeros = reader.integer(index, "nonzeros");
  a.is_dense = nonzeros == dense;
  if (!a.is_dense) {
    if (nonzeros < 0) reader.fail_at(at, fmt::format("expected the number of nonzeros, found {}", nonzeros));
    a.lengths = reader.numbers(a.rows, index, "lengths of rows");
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const auto length = a.lengths.get<std::int64_t>(i);
      if (length < 0 || length > nonzeros - sum) {
        reader.fail_at(at, fmt::format("{} nonzeros, but the length of row {} is {}, after {} in the rows before it",
                                       nonzeros, i + 1, length, sum));
      }
      sum += length;
    }
    if (sum != nonzeros) reader.fail_at(at, fmt::format("{} nonzeros, but the rows have {}", nonzeros, sum));
    a.columns = reader.numbers(nonzeros, index, "columns");
  }
  a.values = take_values(reader, a.is_dense ? a.rows * a.cols : nonzeros, value);
  return a;
}

/// The class of the next object; nothing at the end of the file.
[[nodiscard]] std::optional<std::int64_t> take_class(ByteReader& reader, NumberType index) {
  if (reader.left() == 0) return std::nullopt;
  const std::uint64_t at = reader.position();
  const std::int64_t found = reader.integer(index, "the class of an object");
  if (found == matrix_class || found == vector_class) return found;
  reader.fail_at(at, fmt::format("expected a PETSc matrix ({}) or vector ({}) of real numbers, found class {}",
                                 matrix_class, vector_class, found));
}

/// The first matrix or the first vector of the file; the others are stepped over.
struct PetscObjects {
  std::optional<PetscMatrix> matrix;
  std::optional<PackedNumbers> vector;
  bool tells_values = false;  ///< a class stands where values end
};

/// \param value type of all values of the file
[[nodiscard]] PetscObjects take_objects(const FileBytes& file, NumberType value) {
  ByteReader reader(file.bytes, file.name, std::endian::big);
  const NumberType index = index_type(file.bytes);
  PetscObjects found;
  bool had_values = false;
  while (const auto object = take_class(reader, index)) {
    found.tells_values = found.tells_values || had_values;
    if (*object == matrix_class) {
      const PetscMatrix a = take_matrix(reader, index, value);
      had_values = !a.values.empty();
      if (!found.matrix) found.matrix = a;
    } else {
      const std::int64_t size = reader.size(index, "elements", std::numeric_limits<std::int64_t>::max());
      const PackedNumbers values = take_values(reader, size, value);
      had_values = !values.empty();
      if (!found.vector) found.vector = values;
    }
  }
  return found;
}

/// No header tells the precision: values are doubles, or floats where a class behind some of them says so. What is left
/// of the file does not: doubles that lost their second half are as long.
[[nodiscard]] PetscObjects find_objects(const FileBytes& file) {
  try {
    return take_objects(file, NumberType::float64);
  } catch (const ParseError&) {
    try {
      PetscObjects floats = take_objects(file, NumberType::float32);
      if (floats.tells_values) return floats;
    } catch (const ParseError&) {  // the refusal as doubles says more
    }
    throw;
  }
}

template <class T>
[[nodiscard]] io::FileEntries<T> sparse_entries(const PetscMatrix& a, const MatrixMarketHeader& header,
                                                MemoryBudget& budget) {
  io::FileEntries<T> out = io::allocate_entries<T>(header, budget);
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (const std::int64_t end = k + a.lengths.get<std::int64_t>(i); k < end; ++k) {
      const auto column = a.columns.get<std::int64_t>(k);
      out.rows[k] = static_cast<index_t>(i);
      out.columns[k] = static_cast<index_t>(std::clamp<std::int64_t>(column, -1, io::max_size));
      out.values[k] = a.values.get<T>(k);
    }
  }
  return out;
}

/// A number in big-endian order.
template <class U>
void append(std::string& text, U value) {
  using Bits = std::conditional_t<sizeof(U) == 8, std::uint64_t, std::uint32_t>;
  const auto bits = std::bit_cast<Bits>(value);
  for (int shift = 8 * (static_cast<int>(sizeof(U)) - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(static_cast<unsigned char>(bits >> shift));
  }
}

/// Writes in pieces, so that no second copy of a matrix is in memory.
class PetscWriter {
 public:
  PetscWriter(const std::filesystem::path& path, bool wide) : file_(path), wide_(wide) {}

  void index(std::int64_t value) {
    wide_ ? append(text_, value) : append(text_, static_cast<std::int32_t>(value));
    flush_if_full();
  }
  void value(double number) {
    append(text_, number);
    flush_if_full();
  }
  void commit() {
    file_.write(text_);
    file_.commit();
  }

 private:
  void flush_if_full() {
    constexpr std::size_t piece = std::size_t{1} << 18;
    if (text_.size() < piece) return;
    file_.write(text_);
    text_.clear();
  }

  io::AtomicFile file_;
  std::string text_;
  bool wide_;
};

void check_name(const std::filesystem::path& path) {
  if (path.extension() != ".gz") return;
  throw InvalidArgument(
      fmt::format("cannot write \"{}\": PETSc's files are not compressed, choose another name", path.string()));
}

template <class T>
void check_finite(std::span<const T> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  throw InvalidMatrix(fmt::format("value {} is {}, which is not written", bad - values.begin(), *bad));
}

[[nodiscard]] bool is_wide(PetscIndices indices, std::int64_t largest) {
  const bool fits = largest <= std::numeric_limits<std::int32_t>::max();
  if (indices == PetscIndices::bits32 && !fits) {
    throw InvalidArgument(fmt::format("PETSc file: {} does not fit indices of 32 bits", largest));
  }
  return indices == PetscIndices::bits64 || !fits;
}

}  // namespace

namespace io {

bool is_petsc(std::string_view bytes) noexcept {
  const auto begins = [&](std::string_view object) {
    return bytes.starts_with(object) || (bytes.starts_with("\0\0\0\0"sv) && bytes.substr(4).starts_with(object));
  };
  return begins("\0\x12\x7b\x50"sv) || begins("\0\x12\x7b\x4e"sv);
}

template <class T>
MatrixMarketMatrix<T> read_petsc_matrix(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget) {
  const PetscObjects found = find_objects(file);
  if (!found.matrix) throw ParseError::at_byte(file.name, 0, "expected a PETSc matrix, found a vector alone");
  const PetscMatrix& a = *found.matrix;
  MatrixMarketHeader header;
  header.rows = a.rows;
  header.cols = a.cols;
  header.entries = a.values.size();
  if (a.is_dense) {
    return assemble_entries(dense_entries<T>({a.values, a.rows, a.cols}, budget), file.name, options, budget);
  }
  return assemble_entries(sparse_entries<T>(a, header, budget), file.name, options, budget);
}

template <class T>
MultiVector<T> read_petsc_columns(const FileBytes& file, MemoryBudget& budget) {
  const PetscObjects found = find_objects(file);
  if (!found.vector) throw ParseError::at_byte(file.name, 0, "expected a PETSc vector, found none");
  return dense_columns<T>({*found.vector, found.vector->size(), 1, true}, file.name, budget);
}

template MatrixMarketMatrix<float> read_petsc_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<double> read_petsc_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MultiVector<float> read_petsc_columns(const FileBytes&, MemoryBudget&);
template MultiVector<double> read_petsc_columns(const FileBytes&, MemoryBudget&);

}  // namespace io

template <class T>
void write_petsc(const std::filesystem::path& path, const CsrView<T>& matrix, PetscIndices indices) {
  check_name(path);
  check_finite(matrix.values);
  PetscWriter out(path, is_wide(indices, matrix.nnz()));
  out.index(matrix_class);
  out.index(matrix.rows);
  out.index(matrix.cols);
  out.index(matrix.nnz());
  for (std::size_t i = 0; i < static_cast<std::size_t>(matrix.rows); ++i) {
    out.index(matrix.row_offsets[i + 1] - matrix.row_offsets[i]);
  }
  for (const index_t column : matrix.columns) out.index(column);
  for (offset_t k = 0; k < matrix.nnz(); ++k) out.value(static_cast<double>(matrix.value(k)));
  out.commit();
}

template <class T>
void write_petsc_vector(const std::filesystem::path& path, std::span<const T> vector, PetscIndices indices) {
  check_name(path);
  check_finite(vector);
  PetscWriter out(path, is_wide(indices, static_cast<std::int64_t>(vector.size())));
  out.index(vector_class);
  out.index(static_cast<std::int64_t>(vector.size()));
  for (const T value : vector) out.value(static_cast<double>(value));
  out.commit();
}

template void write_petsc(const std::filesystem::path&, const CsrView<float>&, PetscIndices);
template void write_petsc(const std::filesystem::path&, const CsrView<double>&, PetscIndices);
template void write_petsc_vector(const std::filesystem::path&, std::span<const float>, PetscIndices);
template void write_petsc_vector(const std::filesystem::path&, std::span<const double>, PetscIndices);

}  // namespace tessera
