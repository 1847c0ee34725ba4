/// \file
/// Conversion from and to sparse matrices and vectors of Eigen. Header-only, needs Eigen 3.4; the library does not
/// depend on Eigen, so this header is not part of tessera.hpp.
///
/// Sharing of arrays. Both sides store compressed rows; ours have 64-bit offsets and 32-bit columns. Of a row-major
/// Eigen matrix the values are always shared, the columns where its StorageIndex has 32 bits, the offsets where it
/// has 64. The rest is converted: for Eigen's default (int) that is 8 bytes per row. A column-major matrix is, array by
/// array, the row-major form of its transpose. A matrix that is not compressed shares nothing.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/statistics.hpp"

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera {

namespace detail {

/// Whether arrays of an Eigen matrix are used in place, and their owner then.
struct EigenSource {
  bool shared = false;
  std::shared_ptr<const void> owner;
};

/// The elements as an array of `To`, in place where allowed and the types agree.
template <class To, class From>
[[nodiscard]] Array<To> array_from_eigen(const From* data, std::int64_t size, const EigenSource& source) {
  if constexpr (sizeof(To) == sizeof(From) && std::is_integral_v<To> == std::is_integral_v<From>) {
    // The arrays go into a Csr, which gives read access only.
    if (source.shared) {
      return Array<To>::adopt({reinterpret_cast<To*>(const_cast<From*>(data)), static_cast<std::size_t>(size)},
                              source.owner);
    }
  }
  Array<To> result(size, Init::none);
  for (std::int64_t k = 0; k < size; ++k) {
    if constexpr (std::is_integral_v<To>) {
      if (!std::in_range<To>(data[k])) throw InvalidMatrix("Eigen matrix: index " + std::to_string(data[k]));
    }
    result[k] = static_cast<To>(data[k]);
  }
  return result;
}

inline void require_eigen_size(Eigen::Index size, const char* name) {
  if (size <= std::numeric_limits<index_t>::max()) return;
  throw InvalidMatrix("Eigen matrix with " + std::to_string(size) + ' ' + name + ": at most " +
                      std::to_string(std::numeric_limits<index_t>::max()) + " can be indexed");
}

/// Rows of a row-major matrix, columns of a column-major one, taken as rows.
template <class Derived>
[[nodiscard]] Csr<typename Derived::Scalar> outer_as_rows(const Eigen::SparseCompressedBase<Derived>& matrix,
                                                          const EigenSource& source) {
  using T = typename Derived::Scalar;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "Tessera computes in float and double");
  const Derived& a = matrix.derived();
  require_eigen_size(a.rows(), "rows");
  require_eigen_size(a.cols(), "columns");
  const auto* offsets = a.outerIndexPtr();
  const std::int64_t rows = a.outerSize();
  if (a.isCompressed() && rows > 0) {
    const auto nnz = static_cast<std::int64_t>(offsets[rows]);
    return Csr<T>(rows, a.innerSize(), array_from_eigen<offset_t>(offsets, rows + 1, source),
                  array_from_eigen<index_t>(a.innerIndexPtr(), nnz, source),
                  array_from_eigen<T>(a.valuePtr(), nnz, source));
  }
  // Gaps between the rows are left out.
  Array<offset_t> packed(rows + 1);
  const auto* lengths = a.innerNonZeroPtr();
  for (std::int64_t i = 0; i < rows; ++i) packed[i + 1] = packed[i] + static_cast<offset_t>(lengths[i]);
  Array<index_t> columns(packed[rows], Init::none);
  Array<T> values(packed[rows], Init::none);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto first = static_cast<std::int64_t>(offsets[i]);
    for (offset_t k = packed[i]; k < packed[i + 1]; ++k) {
      columns[k] = static_cast<index_t>(a.innerIndexPtr()[first + k - packed[i]]);  // Eigen's own: below the size
      values[k] = a.valuePtr()[first + k - packed[i]];
    }
  }
  return Csr<T>(rows, a.innerSize(), std::move(packed), std::move(columns), std::move(values));
}

template <class Derived>
[[nodiscard]] Csr<typename Derived::Scalar> from_eigen(const Eigen::SparseCompressedBase<Derived>& a,
                                                       const EigenSource& source) {
  if constexpr (Derived::IsRowMajor) {
    return outer_as_rows(a, source);
  } else {
    // Read in place, written to new memory.
    return transpose(outer_as_rows(a, {.shared = true, .owner = nullptr}).view());
  }
}

template <class Derived>
[[nodiscard]] Csr<typename Derived::Scalar> transposed_from_eigen(const Eigen::SparseCompressedBase<Derived>& a,
                                                                  const EigenSource& source) {
  if constexpr (Derived::IsRowMajor) {
    return transpose(outer_as_rows(a, {.shared = true, .owner = nullptr}).view());
  } else {
    return outer_as_rows(a, source);
  }
}

}  // namespace detail

/// Copies an Eigen matrix of any storage order and index type: a SparseMatrix, Map or Ref, compressed or not. Explicit
/// zeros stay entries.
/// \throws InvalidMatrix when the columns of a row (rows of a column, if column-major) do not ascend without
///         duplicates, which Eigen itself does not promise of mapped memory, or when a size exceeds 2^31 - 1;
///         OutOfMemory
/// Complexity: O(rows + nnz); a column-major matrix is transposed in parallel.
template <class Derived>
[[nodiscard]] Csr<typename Derived::Scalar> from_eigen(const Eigen::SparseCompressedBase<Derived>& a) {
  return detail::from_eigen(a, {});
}

/// Takes over an Eigen matrix: arrays are shared where possible (see above), and the result owns the matrix. A matrix
/// that is not compressed is compressed first. Throws as the copying from_eigen(); `a` is empty afterwards in any case.
template <class T, int Options, class StorageIndex>
[[nodiscard]] Csr<T> from_eigen(Eigen::SparseMatrix<T, Options, StorageIndex>&& a) {
  const auto owner = std::make_shared<Eigen::SparseMatrix<T, Options, StorageIndex>>();
  owner->swap(a);  // Eigen 3.4 has no move constructor: it would copy
  owner->makeCompressed();
  return detail::from_eigen(*owner, {.shared = true, .owner = owner});
}

/// A view of an Eigen matrix, which shares arrays where possible. The caller keeps `a` alive and unchanged while the
/// result, or a plan made from it, is in use. Throws as from_eigen().
template <class Derived>
[[nodiscard]] Csr<typename Derived::Scalar> borrow_eigen(const Eigen::SparseCompressedBase<Derived>& a) {
  return detail::from_eigen(a, {.shared = true, .owner = nullptr});
}

/// The same for Aᵀ: shares a column-major matrix, transposes a row-major one.
template <class Derived>
[[nodiscard]] Csr<typename Derived::Scalar> borrow_eigen_transposed(const Eigen::SparseCompressedBase<Derived>& a) {
  return detail::transposed_from_eigen(a, {.shared = true, .owner = nullptr});
}

/// A row-major Eigen matrix with the same entries; entries of a pattern matrix become ones.
/// \tparam StorageIndex Eigen's index type; std::int64_t for more than 2^31 - 1 nonzeros
/// \throws InvalidArgument when the nonzeros cannot be counted in a StorageIndex
template <class StorageIndex = int, class T>
[[nodiscard]] Eigen::SparseMatrix<T, Eigen::RowMajor, StorageIndex> to_eigen(const CsrView<T>& a) {
  if (!std::in_range<StorageIndex>(a.nnz()) || !std::in_range<StorageIndex>(a.cols)) {
    throw InvalidArgument("to_eigen: " + std::to_string(a.nnz()) + " nonzeros in " + std::to_string(a.cols) +
                          " columns do not fit an index of " + std::to_string(8 * sizeof(StorageIndex)) + " bits");
  }
  Eigen::SparseMatrix<T, Eigen::RowMajor, StorageIndex> result(a.rows, a.cols);
  result.resizeNonZeros(a.nnz());
  for (std::size_t i = 0; i < a.row_offsets.size(); ++i) {
    result.outerIndexPtr()[i] = static_cast<StorageIndex>(a.row_offsets[i]);
  }
  for (std::size_t k = 0; k < a.columns.size(); ++k) {
    result.innerIndexPtr()[k] = static_cast<StorageIndex>(a.columns[k]);
    result.valuePtr()[k] = a.value(static_cast<offset_t>(k));
  }
  return result;
}

/// A view of a Tessera matrix for Eigen: columns and values in place, offsets narrowed to int once (and the ones of a
/// pattern matrix written out). The viewed matrix must outlive it. Use `*map` in Eigen's expressions.
template <class T>
class EigenMap {
 public:
  using Matrix = Eigen::SparseMatrix<T, Eigen::RowMajor, index_t>;

  /// \throws InvalidArgument for more than 2^31 - 1 nonzeros (to_eigen<std::int64_t>() copies those); OutOfMemory
  explicit EigenMap(const CsrView<T>& a)
      : offsets_(narrowed(a)),
        ones_(a.is_pattern() ? a.nnz() : 0, Init::none),
        map_(a.rows, a.cols, a.nnz(), offsets_.data(), a.columns.data(),
             a.is_pattern() ? ones_.data() : a.values.data()) {
    for (T& value : ones_) value = T{1};
  }

  [[nodiscard]] const Eigen::Map<const Matrix>& operator*() const noexcept { return map_; }
  [[nodiscard]] const Eigen::Map<const Matrix>* operator->() const noexcept { return &map_; }

 private:
  static Array<index_t> narrowed(const CsrView<T>& a) {
    if (!std::in_range<index_t>(a.nnz())) {
      throw InvalidArgument("eigen_map: " + std::to_string(a.nnz()) + " nonzeros do not fit an index of 32 bits");
    }
    return detail::array_from_eigen<index_t>(a.row_offsets.data(), static_cast<std::int64_t>(a.row_offsets.size()), {});
  }

  Array<index_t> offsets_;
  Array<T> ones_;
  Eigen::Map<const Matrix> map_;
};

template <class T>
[[nodiscard]] EigenMap<T> eigen_map(const CsrView<T>& a) {
  return EigenMap<T>(a);
}

/// The elements of a dense Eigen vector, as LinearOperator and the solvers take them. Blocks with a stride and
/// expressions without memory of their own do not compile.
template <class Derived>
[[nodiscard]] auto as_span(Eigen::PlainObjectBase<Derived>& v) {
  static_assert(Derived::IsVectorAtCompileTime, "as_span takes a vector");
  return std::span<typename Derived::Scalar>(v.data(), static_cast<std::size_t>(v.size()));
}

template <class Derived>
[[nodiscard]] auto as_span(const Eigen::PlainObjectBase<Derived>& v) {
  static_assert(Derived::IsVectorAtCompileTime, "as_span takes a vector");
  return std::span<const typename Derived::Scalar>(v.data(), static_cast<std::size_t>(v.size()));
}

/// A span as a column vector of Eigen, in place.
template <class T>
[[nodiscard]] auto as_eigen(std::span<T> v) {
  using Element = std::remove_const_t<T>;
  using Vector = Eigen::Matrix<Element, Eigen::Dynamic, 1>;
  using Mapped = std::conditional_t<std::is_const_v<T>, const Vector, Vector>;
  return Eigen::Map<Mapped>(v.data(), static_cast<Eigen::Index>(v.size()));
}

}  // namespace tessera
