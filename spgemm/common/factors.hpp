/// \file
/// The factors A and B as the accumulators of both backends read them.
#pragma once

#include "tessera/csr.hpp"

#include <cstddef>
#include <optional>
#include <type_traits>

namespace tessera::detail {

/// Type of values where only positions count.
struct NoValue {};

template <class V>
inline constexpr bool has_values = !std::is_same_v<V, NoValue>;

/// Bytes of a value of C.
template <class V>
inline constexpr std::size_t value_bytes = has_values<V> ? sizeof(V) : 0;

/// Contiguous columns of a row of B.
struct ContiguousColumns {
  index_t first = 0;
  index_t length = 0;
};

/// The arrays of A and B. \tparam V float, double or NoValue
template <class V>
struct Factors {
  const offset_t* a_offsets = nullptr;
  const index_t* a_columns = nullptr;
  const V* a_values = nullptr;  ///< null for a pattern: ones
  const offset_t* b_offsets = nullptr;
  const index_t* b_columns = nullptr;
  const V* b_values = nullptr;  ///< null for a pattern: ones

  /// Calls body(column, a_ik b_kj) for the products of entry `k` of A, columns ascending; `NoValue` for the product
  /// where there are none.
  template <class Body>
  void for_each_product(offset_t k, Body&& body) const {
    const index_t row = a_columns[k];
    const offset_t begin = b_offsets[row];
    const offset_t end = b_offsets[row + 1];
    if constexpr (has_values<V>) {
      const V factor = a_values == nullptr ? V{1} : a_values[k];
      if (b_values != nullptr) {
        for (offset_t l = begin; l < end; ++l) body(b_columns[l], factor * b_values[l]);
      } else {
        for (offset_t l = begin; l < end; ++l) body(b_columns[l], factor);
      }
    } else {
      for (offset_t l = begin; l < end; ++l) body(b_columns[l], NoValue{});
    }
  }

  /// The columns of the row of B of entry `k` if they are contiguous; else length 0.
  [[nodiscard]] ContiguousColumns contiguous_columns(offset_t k) const noexcept {
    const index_t row = a_columns[k];
    const offset_t begin = b_offsets[row];
    const offset_t end = b_offsets[row + 1];
    if (begin == end || b_columns[end - 1] - b_columns[begin] + 1 != end - begin) return {};
    return {b_columns[begin], static_cast<index_t>(end - begin)};
  }

  /// Adds the products of entry `k`, whose columns are contiguous, to the values at `target`.
  void add_contiguous(offset_t k, V* target) const noexcept {
    const offset_t begin = b_offsets[a_columns[k]];
    const offset_t length = b_offsets[a_columns[k] + 1] - begin;
    const V factor = a_values == nullptr ? V{1} : a_values[k];
    if (b_values == nullptr) {
      for (offset_t l = 0; l < length; ++l) target[l] += factor;
      return;
    }
    const V* source = b_values + begin;
    for (offset_t l = 0; l < length; ++l) target[l] += factor * source[l];
  }
};

/// \tparam V T or NoValue
template <class V, class T>
[[nodiscard]] Factors<V> factors_of(const CsrView<T>& a, const CsrView<T>& b) noexcept {
  Factors<V> result{a.row_offsets.data(), a.columns.data(), nullptr, b.row_offsets.data(), b.columns.data(), nullptr};
  if constexpr (has_values<V>) {
    result.a_values = a.is_pattern() ? nullptr : a.values.data();
    result.b_values = b.is_pattern() ? nullptr : b.values.data();
  }
  return result;
}

/// The user's matrix, which must outlive this, or a copy of it on the device.
template <class T>
class LocalFactor {
 public:
  LocalFactor(const Csr<T>& matrix, const Device& device) : matrix_(&matrix) {
    if (!(matrix.device() == device)) copy_.emplace(matrix.to(device));
  }
  [[nodiscard]] CsrView<T> view() const noexcept { return copy_ ? copy_->view() : matrix_->view(); }

 private:
  const Csr<T>* matrix_;
  std::optional<Csr<T>> copy_;
};

/// A row of C before it is computed.
struct RowTask {
  offset_t begin = 0;        ///< first entry of A's row
  offset_t end = 0;          ///< one past its last
  index_t first_column = 0;  ///< of C's row
  index_t width = 0;         ///< columns from the first to the last of C's row
  offset_t products = 0;
  offset_t limit = 0;  ///< entries that C's row may have

  [[nodiscard]] offset_t a_row_nnz() const noexcept { return end - begin; }
};

/// Returned by an accumulator for a row with more entries than its limit.
inline constexpr offset_t row_overflow = -1;

}  // namespace tessera::detail

namespace tessera::host {
using detail::ContiguousColumns;
using detail::Factors;
using detail::factors_of;
using detail::has_values;
using detail::NoValue;
using detail::row_overflow;
using detail::RowTask;
using detail::value_bytes;
}  // namespace tessera::host

namespace tessera::cuda {
using detail::Factors;
using detail::factors_of;
using detail::has_values;
using detail::NoValue;
using detail::value_bytes;
}  // namespace tessera::cuda
