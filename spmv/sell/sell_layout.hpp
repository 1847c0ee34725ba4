/// \file
/// Sliced ELL: how columns and values are kept, and what a sample of a matrix promises.
#pragma once

#include "spmv/common/value_dictionary.hpp"
#include "spmv/sell/sell_tuning.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <string>

namespace tessera::detail {

enum class SellColumns {
  absolute,  ///< 4 bytes
  relative,  ///< column - row in 2 bytes
};

enum class SellValues {
  none,     ///< of a pattern: every value is 1
  coded,    ///< 1 byte, of a ValueDictionary
  rounded,  ///< 4 bytes, of values in double that a float holds exactly
  full,
};

/// How the entries of a matrix are kept.
struct SellLayout {
  SellColumns columns = SellColumns::absolute;
  SellValues values = SellValues::full;

  /// \param value_bytes of a value in full
  [[nodiscard]] double bytes_per_entry(double value_bytes) const noexcept {
    const double of_column = columns == SellColumns::relative ? 2.0 : 4.0;
    switch (values) {
      case SellValues::none:
        return of_column;
      case SellValues::coded:
        return of_column + 1.0;
      case SellValues::rounded:
        return of_column + 4.0;
      case SellValues::full:
        break;
    }
    return of_column + value_bytes;
  }
};

/// "16-bit relative columns, a dictionary of 200 values". \param distinct values of the dictionary, if there is one
[[nodiscard]] std::string describe_layout(const SellLayout& layout, int distinct);

/// How rows lie in slices, and what that adds to them.
struct SellPadding {
  int window_rows = 0;  ///< that are sorted; 0: none are
  double places_per_nonzero = 1.0;
  double among_neighbours = 1.0;  ///< the same without sorting
};

/// What a plan says of itself.
[[nodiscard]] std::string describe_sell(const SellLayout& layout, int distinct, const SellPadding& padding,
                                        std::int64_t long_rows, double bytes_per_nonzero);

/// Rows that slices cannot hold.
struct UnslicedRows {
  index_t limit = 0;  ///< longest_sliced_row()
  std::int64_t count = 0;
  offset_t nonzeros = 0;
  offset_t longest = 0;
};

/// \throws NotSupported where they are too long, or hold too much of the matrix
void require_few_long_rows(const UnslicedRows& rows, offset_t nnz);

/// A sample of the matrix.
struct SellSample {
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  std::int64_t far_rows = 0;         ///< with a column too far from the row's own
  std::int64_t long_rows = 0;        ///< longer than longest_sliced_row() of the mean
  std::int64_t padded_nonzeros = 0;  ///< places of these rows in slices of 32
  std::int64_t sorted_nonzeros = 0;  ///< in the slices of a window of such rows, sorted
  ValueSample values;

  [[nodiscard]] SellLayout layout(bool is_pattern, bool is_double) const noexcept;
  /// Bytes of the matrix that a product would read per nonzero. \param value_bytes of a value in full, or 0
  [[nodiscard]] double bytes_per_nonzero(const SellLayout& layout, double value_bytes) const noexcept;
  /// Whether rows would have to be sorted.
  [[nodiscard]] bool sorts() const noexcept {
    return static_cast<double>(padded_nonzeros) > most_padding_of_sell * static_cast<double>(nonzeros);
  }
  /// Whether `auto` should take it: much fewer bytes than in CSR, by columns in 16 bits, and without long rows.
  [[nodiscard]] bool pays(const SellLayout& layout, double value_bytes) const noexcept;
};

}  // namespace tessera::detail
