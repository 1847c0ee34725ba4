/// \file
/// Symmetric half of a matrix of row patterns: its values by diagonals. Diagonal D >= 0 holds a(i, i + D) at place i;
/// a(i, i - D) is read at place i - D of the same diagonal. So each entry of a list stands at one offset from its row.
/// A half is taken where it holds every entry of all rows on lists, bit by bit; nothing else is asked of the matrix.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tessera::detail {

/// Where the entries of lists stand in the half.
struct HalfOffsets {
  std::vector<index_t> diagonals;  ///< the distinct |column - row| of all lists, ascending
  index_t leading = 0;             ///< places of a diagonal
  /// In the order of RowPatterns::table: what is added to a row for the place of its entry; 0 where that holds a length
  /// or stands for a row without entries.
  std::vector<index_t> places;
  /// lists + 1 times the diagonals: the entry of the list on it, or -1.
  std::vector<std::int16_t> upper;

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(diagonals.size()) * std::int64_t{leading};
  }
};

/// \param table of RowPatterns \param most_places beyond which the half does not pay \returns none where it has too
/// many diagonals or places
[[nodiscard]] std::optional<HalfOffsets> half_offsets(std::span<const index_t> table, int width, index_t rows,
                                                      double most_places);

}  // namespace tessera::detail

namespace tessera::cuda {

/// The same on a GPU.
struct SymmetricHalf {
  int diagonals = 0;
  index_t leading = 0;
  Array<index_t> offsets;  ///< of the diagonals
  Array<index_t> places;
  Array<std::int16_t> upper;
  /// Exceptions times the diagonals: the entry of the row on it, or -1. Their neighbours read it.
  Array<index_t> upper_of_exceptions;

  [[nodiscard]] std::int64_t size() const noexcept { return std::int64_t{diagonals} * leading; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return offsets.bytes() + places.bytes() + upper.bytes() + upper_of_exceptions.bytes();
  }
};

/// Where a sample of rows is symmetric. Waits. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::optional<SymmetricHalf> find_symmetric_half(const Device& device, const SlicedRows& rows,
                                                               const CsrView<T>& a);

/// Values by diagonals, rounded where To is narrower; 0 in places that no row has. O(rows of the half); neither waits
/// nor allocates. \param from in the order of CSR
template <class From, class To>
void fill_symmetric_half(const Device& device, const SlicedRows& rows, const SymmetricHalf& half,
                         std::span<const From> from, std::span<To> to);

/// Whether the half holds every entry of all rows on lists, bit by bit. Waits. \param from rounded first
template <class From, class To>
[[nodiscard]] bool symmetric_half_holds(const Device& device, const SlicedRows& rows, const SymmetricHalf& half,
                                        std::span<const From> from, std::span<const To> values);

}  // namespace tessera::cuda
