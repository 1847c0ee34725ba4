// AMGX's binary systems (its writer "binary"): the text "%%NVAMGBinary\n", nine little-endian words of 32 bits (matrix,
// right-hand side and solution present, format, separate diagonal, block columns, block rows, rows, nonzeros), then the
// arrays: row offsets and columns of 32 bits, values, diagonal, right-hand side and solution in double precision. Sizes
// count blocks. (AMGX Reference, appendix on binary formats; its readers of systems.)
#include "io/matrix_readers.hpp"
#include "io/stored_arrays.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>

namespace tessera::io {

namespace {

constexpr std::string_view magic = "%%NVAMGBinary\n";

struct AmgxSystem {
  std::int64_t rows = 0;  ///< of blocks, like nonzeros
  std::int64_t nonzeros = 0;
  std::int64_t block_rows = 1;
  std::int64_t block_cols = 1;
  PackedNumbers offsets;
  PackedNumbers columns;
  PackedNumbers values;
  PackedNumbers diagonal;  ///< apart from the other blocks, one per row; perhaps none
  PackedNumbers rhs;       ///< perhaps none
};

[[nodiscard]] AmgxSystem parse(const FileBytes& file) {
  ByteReader reader(file.bytes, file.name, std::endian::little);
  reader.skip(magic.size());
  const auto flag = [&](const char* what) { return reader.size(NumberType::uint32, what, 1) != 0; };
  const bool has_matrix = flag("the flag of a matrix");
  const bool has_rhs = flag("the flag of a right-hand side");
  static_cast<void>(flag("the flag of a solution"));
  const std::uint64_t format_at = reader.position();
  const std::int64_t format = reader.integer(NumberType::uint32, "the format");
  if (!has_matrix || format != 0) {
    reader.fail_at(format_at, fmt::format("expected a real matrix in compressed rows (format 0), found {}",
                                          has_matrix ? fmt::format("format {}", format) : "none"));
  }
  const bool has_diagonal = flag("the flag of a separate diagonal");
  constexpr std::int64_t largest_block = 1 << 15;
  AmgxSystem system;
  const std::uint64_t blocks_at = reader.position();
  system.block_cols = reader.size(NumberType::uint32, "block columns", largest_block);
  system.block_rows = reader.size(NumberType::uint32, "block rows", largest_block);
  if (system.block_rows == 0 || system.block_cols == 0) reader.fail_at(blocks_at, "expected blocks of 1 x 1 or more");
  const std::uint64_t rows_at = reader.position();
  system.rows = reader.size(NumberType::uint32, "rows", max_size);
  if (system.rows > max_size / std::max(system.block_rows, system.block_cols)) {
    reader.fail_at(rows_at, fmt::format("{} rows of {} x {} blocks are more than {} rows", system.rows,
                                        system.block_rows, system.block_cols, max_size));
  }
  system.nonzeros = reader.size(NumberType::uint32, "nonzeros", max_size);
  const std::int64_t block = system.block_rows * system.block_cols;
  system.offsets = reader.numbers(system.rows + 1, NumberType::int32, "row offsets");
  system.columns = reader.numbers(system.nonzeros, NumberType::int32, "columns");
  system.values = reader.numbers(system.nonzeros * block, NumberType::float64, "values");
  if (has_diagonal) system.diagonal = reader.numbers(system.rows * block, NumberType::float64, "diagonal");
  if (has_rhs) system.rhs = reader.numbers(system.rows * system.block_rows, NumberType::float64, "right-hand side");
  return system;
}

/// The entries with those of a separate diagonal behind them.
template <class T>
[[nodiscard]] FileEntries<T> with_diagonal(FileEntries<T> off_diagonal, const AmgxSystem& system,
                                           MemoryBudget& budget) {
  if (system.diagonal.empty()) return off_diagonal;
  const std::int64_t block = system.block_rows * system.block_cols;
  const std::int64_t stored = off_diagonal.header.entries;
  MatrixMarketHeader header = off_diagonal.header;
  header.entries += system.diagonal.size();
  FileEntries<T> all = allocate_entries<T>(header, budget);
  std::copy(off_diagonal.rows.begin(), off_diagonal.rows.end(), all.rows.begin());
  std::copy(off_diagonal.columns.begin(), off_diagonal.columns.end(), all.columns.begin());
  std::copy(off_diagonal.values.begin(), off_diagonal.values.end(), all.values.begin());
  for (std::int64_t k = 0; k < system.diagonal.size(); ++k) {
    const std::int64_t e = k % block;
    all.rows[stored + k] = static_cast<index_t>(k / block * system.block_rows + e / system.block_cols);
    all.columns[stored + k] = static_cast<index_t>(k / block * system.block_cols + e % system.block_cols);
    all.values[stored + k] = system.diagonal.get<T>(k);
  }
  return all;
}

}  // namespace

bool is_amgx(std::string_view bytes) noexcept { return bytes.starts_with(magic); }

template <class T>
MatrixMarketMatrix<T> read_amgx_matrix(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget) {
  const AmgxSystem system = parse(file);
  MatrixMarketHeader header;
  header.rows = system.rows * system.block_rows;
  header.cols = system.rows * system.block_cols;
  CompressedArrays arrays{system.offsets, system.columns, system.values};
  arrays.block_rows = system.block_rows;
  arrays.block_cols = system.block_cols;
  return assemble_entries(with_diagonal(expand<T>(header, arrays, file.name, budget), system, budget), file.name,
                          options, budget);
}

template <class T>
MultiVector<T> read_amgx_columns(const FileBytes& file, MemoryBudget& budget) {
  const AmgxSystem system = parse(file);
  if (system.rhs.empty() && system.rows > 0) {
    throw ParseError::at_byte(file.name, magic.size() + sizeof(std::uint32_t),
                              "expected a right-hand side, found a matrix alone");
  }
  return dense_columns<T>({system.rhs, system.rhs.size(), 1, true}, file.name, budget);
}

template MatrixMarketMatrix<float> read_amgx_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<double> read_amgx_matrix(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MultiVector<float> read_amgx_columns(const FileBytes&, MemoryBudget&);
template MultiVector<double> read_amgx_columns(const FileBytes&, MemoryBudget&);

}  // namespace tessera::io
