/// \file
/// Compressed sparse rows (CSR): the matrix format of the public interface.
#pragma once

#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera {

/// Whether a matrix stores a value per nonzero. In a pattern matrix every nonzero is 1 and no values array exists.
enum class ValueStorage { weighted, pattern };

/// A non-owning view of a matrix. Row i holds the nonzeros row_offsets[i] ... row_offsets[i+1]-1, columns
/// ascending and distinct, all indices 0-based. `values` is empty exactly for pattern matrices.
template <class T>
struct CsrView {
  index_t rows = 0;
  index_t cols = 0;
  ValueStorage storage = ValueStorage::weighted;
  std::span<const offset_t> row_offsets;  ///< rows + 1 entries, the first 0, the last nnz
  std::span<const index_t> columns;       ///< nnz entries
  std::span<const T> values;              ///< nnz entries, or none for a pattern matrix

  [[nodiscard]] offset_t nnz() const noexcept { return static_cast<offset_t>(columns.size()); }
  [[nodiscard]] bool is_pattern() const noexcept { return storage == ValueStorage::pattern; }
  [[nodiscard]] bool is_square() const noexcept { return rows == cols; }
  /// Value of nonzero number k; 1 in a pattern matrix.
  [[nodiscard]] T value(offset_t k) const noexcept { return is_pattern() ? T{1} : values[static_cast<std::size_t>(k)]; }
};

/// Checks every invariant of a CsrView, O(rows + nnz), parallel over rows.
/// \throws InvalidMatrix naming the first offending row and entry
template <class T>
void validate(const CsrView<T>& matrix);

/// Whether a constructor verifies the invariants. `trusted`: the caller guarantees them, as generators and transposes
/// do.
enum class Check { full, trusted };

/// A matrix that owns its arrays. Immutable, so that plans can share it.
template <class T>
class Csr {
 public:
  /// The 0 x 0 matrix.
  Csr();

  /// Takes over the arrays, all of one device; arrays of a GPU are copied to the host for a full check.
  /// \param values nnz entries
  /// \throws InvalidMatrix when the arrays break an invariant of CsrView or a size exceeds 2^31 - 1
  Csr(std::int64_t rows, std::int64_t cols, Array<offset_t> row_offsets, Array<index_t> columns, Array<T> values,
      Check check = Check::full);

  /// Pattern matrix: every nonzero is 1, no values are stored. Throws as the constructor.
  [[nodiscard]] static Csr pattern(std::int64_t rows, std::int64_t cols, Array<offset_t> row_offsets,
                                   Array<index_t> columns, Check check = Check::full);

  /// Copies a view of a matrix on the host.
  [[nodiscard]] static Csr copy_of(const CsrView<T>& matrix);

  /// A copy on `target` (which may be the same device). \throws OutOfMemory, CudaError
  [[nodiscard]] Csr to(const Device& target) const;

  /// Device of the arrays.
  [[nodiscard]] const Device& device() const noexcept { return row_offsets_.device(); }
  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] index_t cols() const noexcept { return cols_; }
  [[nodiscard]] offset_t nnz() const noexcept { return columns_.size(); }
  [[nodiscard]] bool is_pattern() const noexcept { return storage_ == ValueStorage::pattern; }
  [[nodiscard]] const Array<offset_t>& row_offsets() const noexcept { return row_offsets_; }
  [[nodiscard]] const Array<index_t>& columns() const noexcept { return columns_; }
  [[nodiscard]] const Array<T>& values() const noexcept { return values_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return row_offsets_.bytes() + columns_.bytes() + values_.bytes();
  }
  [[nodiscard]] CsrView<T> view() const noexcept {
    return {rows_, cols_, storage_, row_offsets_.span(), columns_.span(), values_.span()};
  }

 private:
  Csr(std::int64_t rows, std::int64_t cols, ValueStorage storage, Array<offset_t> row_offsets, Array<index_t> columns,
      Array<T> values, Check check);

  index_t rows_ = 0;
  index_t cols_ = 0;
  ValueStorage storage_ = ValueStorage::weighted;
  Array<offset_t> row_offsets_;
  Array<index_t> columns_;
  Array<T> values_;
};

extern template class Csr<float>;
extern template class Csr<double>;
extern template void validate<float>(const CsrView<float>&);
extern template void validate<double>(const CsrView<double>&);

}  // namespace tessera
