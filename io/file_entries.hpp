/// \file
/// From the entries of a file to its matrix: where all readers meet but those of Matrix Market and of Tessera's files.
#pragma once

#include "core/memory_budget.hpp"
#include "tessera/array.hpp"
#include "tessera/matrix_market.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace tessera::io {

using tessera::detail::MemoryBudget;

/// Sizes of a matrix are at most this.
inline constexpr std::int64_t max_size = std::numeric_limits<index_t>::max();

/// The entries of a file in its order, 0-based.
template <class T>
struct FileEntries {
  MatrixMarketHeader header;  ///< sizes, field, and the symmetry: other than general, entries are of one triangle
  Array<index_t> rows;
  Array<index_t> columns;
  Array<T> values;  ///< empty for a pattern
};

/// Arrays for `count` entries. \throws OutOfMemory
template <class T>
[[nodiscard]] FileEntries<T> allocate_entries(const MatrixMarketHeader& header, MemoryBudget& budget);

/// Mirrors the entries of a symmetric file, sorts and sums them.
/// \param name of the file, with which messages begin
/// \throws InvalidMatrix for an index outside the matrix, a value or a sum that is not finite, entries in both
/// triangles
///         or a nonzero diagonal where the symmetry forbids it, and repeated positions with Duplicates::error;
///         OutOfMemory
template <class T>
[[nodiscard]] MatrixMarketMatrix<T> assemble_entries(FileEntries<T> entries, const std::string& name,
                                                     const ReadOptions& options, MemoryBudget& budget);

/// Number of the first entry whose position an earlier one holds already.
[[nodiscard]] std::optional<std::int64_t> first_repeated(std::span<const index_t> rows,
                                                         std::span<const index_t> columns);

/// \throws InvalidMatrix for a sum of repeated entries that overflows
template <class T>
void check_sums(const std::string& name, const CsrView<T>& a);

}  // namespace tessera::io
