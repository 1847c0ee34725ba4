/// \file
/// Matrices on the arrays of other libraries, in place: SciPy, PETSc and cuSPARSE keep 32-bit row offsets.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera {

/// The memory in which a matrix lies, and who keeps it.
struct AdoptedMemory {
  Device device = {};                           ///< where all arrays lie
  std::shared_ptr<const void> owner = nullptr;  ///< lives as long as the matrix; null: the caller keeps the arrays
  Check check = Check::full;
};

/// A matrix whose columns and values stay where they are: neither copied nor freed, and never written. Offsets of 32
/// bits are widened into an array of the matrix, 8 (rows + 1) bytes, on the device where they lie; those of 64 bits
/// stay in place too. Columns of 64 bits are narrowed into an array of the matrix, 4 nnz bytes, and checked to lie in
/// [0, cols) whatever the check. On a GPU the arrays must be complete in the stream of the device, and what is
/// converted stays until it has been read. \param rows,cols   0 to 2^31 - 1 \param row_offsets rows + 1 entries, the
/// first 0, the last nnz; rows and columns count from 0 \param columns     nnz entries, ascending in each row \param
/// values      nnz entries \param memory      where they lie, and who keeps them \throws InvalidMatrix when the arrays
/// break an invariant of CsrView; InvalidArgument for an array that does not lie
///         on memory.device; OutOfMemory, CudaError
/// Complexity: O(nnz) with a full check, else O(rows).
template <class T>
[[nodiscard]] Csr<T> adopt_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_offsets,
                               std::span<const index_t> columns, std::span<const T> values,
                               const AdoptedMemory& memory = {});
template <class T>
[[nodiscard]] Csr<T> adopt_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                               std::span<const index_t> columns, std::span<const T> values,
                               const AdoptedMemory& memory = {});
template <class T>
[[nodiscard]] Csr<T> adopt_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                               std::span<const std::int64_t> columns, std::span<const T> values,
                               const AdoptedMemory& memory = {});

/// The same for a pattern, whose entries are all 1: no values.
template <class T>
[[nodiscard]] Csr<T> adopt_pattern(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_offsets,
                                   std::span<const index_t> columns, const AdoptedMemory& memory = {});
template <class T>
[[nodiscard]] Csr<T> adopt_pattern(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                                   std::span<const index_t> columns, const AdoptedMemory& memory = {});

template <class T>
[[nodiscard]] Csr<T> adopt_pattern(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                                   std::span<const std::int64_t> columns, const AdoptedMemory& memory = {});

/// The arrays of a matrix for another library: `arrays` stay where they are as long as `owner`, or a matrix that shares
/// the structure, lives. Not to be written: matrices may share a structure.
template <class T>
struct ReleasedCsr {
  CsrView<T> arrays;
  Device device = {};
  std::shared_ptr<const void> owner;
};

/// Gives the arrays of a matrix away, without a copy; the matrix is the 0 x 0 matrix then. O(1). On a GPU the arrays
/// are complete in the stream of their device.
template <class T>
[[nodiscard]] ReleasedCsr<T> release(Csr<T>&& matrix);

}  // namespace tessera
