/// \file
/// Compressed sparse rows (CSR): the matrix format of the public interface.
#pragma once

#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <memory>
#include <span>
#include <utility>

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

namespace detail {
/// What matrices of one structure share.
struct CsrStructure {
  Array<offset_t> row_offsets;
  Array<index_t> columns;
};
/// \throws InvalidMatrix, InvalidArgument as Csr::with_values()
void check_values(offset_t nnz, const Device& device, std::int64_t values, const Device& values_device);
}  // namespace detail

/// A matrix that owns its arrays. Immutable, so that plans can share it, and matrices can share a structure: the
/// offsets and columns (with_values). A matrix that was moved from is the 0 x 0 matrix.
template <class T>
class Csr {
 public:
  /// The 0 x 0 matrix.
  Csr();
  Csr(Csr&& other) noexcept;
  Csr& operator=(Csr&& other) noexcept;
  Csr(const Csr&) = delete;
  Csr& operator=(const Csr&) = delete;
  ~Csr() = default;

  /// Takes over the arrays, all of one device, where a full check runs.
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

  /// The matrix with the offsets and columns of this one, which both share, and other values. O(1).
  /// \param values nnz entries on the device of this matrix
  /// \throws InvalidMatrix for another number of values; InvalidArgument for another device
  template <class U>
  [[nodiscard]] Csr<U> with_values(Array<U> values) const;

  /// The matrix with the values of this one rounded to U; offsets and columns are shared. A pattern stays a pattern.
  /// O(nnz). \throws OutOfMemory, CudaError
  template <class U>
  [[nodiscard]] Csr<U> with_value_type() const;

  /// The structure of this matrix as a pattern, which shares offsets and columns. O(1).
  [[nodiscard]] Csr structure() const;

  /// Device of the arrays.
  [[nodiscard]] const Device& device() const noexcept { return row_offsets().device(); }
  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] index_t cols() const noexcept { return cols_; }
  [[nodiscard]] offset_t nnz() const noexcept { return columns().size(); }
  [[nodiscard]] bool is_pattern() const noexcept { return storage_ == ValueStorage::pattern; }
  [[nodiscard]] const Array<offset_t>& row_offsets() const noexcept { return structure_->row_offsets; }
  [[nodiscard]] const Array<index_t>& columns() const noexcept { return structure_->columns; }
  [[nodiscard]] const Array<T>& values() const noexcept { return values_; }
  /// Of all arrays; a shared structure counts in every matrix that shares it.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return row_offsets().bytes() + columns().bytes() + values_.bytes();
  }
  /// Whether the matrices share their offsets and columns.
  template <class U>
  [[nodiscard]] bool shares_structure_with(const Csr<U>& other) const noexcept {
    return structure_ == other.structure_;
  }
  [[nodiscard]] CsrView<T> view() const noexcept {
    return {rows_, cols_, storage_, row_offsets().span(), columns().span(), values_.span()};
  }

 private:
  template <class U>
  friend class Csr;

  Csr(std::int64_t rows, std::int64_t cols, ValueStorage storage, Array<offset_t> row_offsets, Array<index_t> columns,
      Array<T> values, Check check);
  Csr(index_t rows, index_t cols, ValueStorage storage, std::shared_ptr<const detail::CsrStructure> structure,
      Array<T> values) noexcept
      : rows_(rows), cols_(cols), storage_(storage), structure_(std::move(structure)), values_(std::move(values)) {}

  index_t rows_ = 0;
  index_t cols_ = 0;
  ValueStorage storage_ = ValueStorage::weighted;
  std::shared_ptr<const detail::CsrStructure> structure_;  ///< never null
  Array<T> values_;
};

template <class T>
template <class U>
Csr<U> Csr<T>::with_values(Array<U> values) const {
  detail::check_values(nnz(), device(), values.size(), values.device());
  return Csr<U>(rows_, cols_, ValueStorage::weighted, structure_, std::move(values));
}

extern template class Csr<float>;
extern template class Csr<double>;
extern template Csr<float> Csr<float>::with_value_type<float>() const;
extern template Csr<double> Csr<float>::with_value_type<double>() const;
extern template Csr<float> Csr<double>::with_value_type<float>() const;
extern template Csr<double> Csr<double>::with_value_type<double>() const;
extern template void validate<float>(const CsrView<float>&);
extern template void validate<double>(const CsrView<double>&);

}  // namespace tessera
