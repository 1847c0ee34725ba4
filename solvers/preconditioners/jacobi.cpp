#include "core/parallel.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera {

namespace {

/// a_ii, or nothing when it is not stored.
template <class T>
std::optional<T> diagonal_entry(const CsrView<T>& a, std::int64_t row) {
  const auto i = static_cast<std::size_t>(row);
  const auto begin = a.columns.begin() + a.row_offsets[i];
  const auto end = a.columns.begin() + a.row_offsets[i + 1];
  const auto position = std::lower_bound(begin, end, static_cast<index_t>(row));
  if (position == end || *position != row) return std::nullopt;
  return a.value(position - a.columns.begin());
}

template <class T>
bool is_invertible(std::optional<T> entry) {
  return entry && std::isfinite(*entry) && *entry != T{0} && std::isfinite(T{1} / *entry);
}

struct FirstRow {
  std::int64_t row = -1;  ///< -1: none
  FirstRow& operator+=(const FirstRow& other) noexcept {
    if (row < 0) row = other.row;
    return *this;
  }
};

template <class T>
void require_invertible_diagonal(const CsrView<T>& a, const Device& device) {
  const auto bad = host::parallel_sum<FirstRow>(device, a.rows, [&](host::Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if (!is_invertible(diagonal_entry(a, i))) return FirstRow{i};
    }
    return FirstRow{};
  });
  if (bad.row < 0) return;
  const std::optional<T> entry = diagonal_entry(a, bad.row);
  throw InvalidMatrix(
      entry ? fmt::format("Jacobi needs a finite inverse of every diagonal entry: row {} (counted from 0) holds {}",
                          bad.row, *entry)
            : fmt::format("Jacobi needs a full diagonal: row {} (counted from 0) has no diagonal entry", bad.row));
}

template <class T>
void require_square(const CsrView<T>& a) {
  if (!a.is_square()) throw DimensionError(fmt::format("Jacobi needs a square matrix, got {} x {}", a.rows, a.cols));
}

}  // namespace

template <class T>
JacobiPreconditioner<T>::JacobiPreconditioner(const CsrView<T>& matrix, const Device& device)
    : inverse_diagonal_((require_square(matrix), matrix.rows), Init::none, device) {
  refresh(matrix);
}

template <class T>
void JacobiPreconditioner<T>::refresh(const CsrView<T>& matrix) {
  require_square(matrix);
  if (matrix.rows != rows()) {
    throw DimensionError(fmt::format("Jacobi was made for {0} x {0}, got {1} x {1}", rows(), matrix.rows));
  }
  require_invertible_diagonal(matrix, device());
  host::parallel_for(device(), matrix.rows, [&](host::Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) inverse_diagonal_[i] = T{1} / *diagonal_entry(matrix, i);
  });
}

template <class T>
void JacobiPreconditioner<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  host::parallel_for(device(), rows(), [=, d = inverse_diagonal_.span()](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      const T product = alpha * (d[i] * x[i]);
      y[i] = beta == T{0} ? product : product + beta * y[i];
    }
  });
}

template class JacobiPreconditioner<float>;
template class JacobiPreconditioner<double>;

}  // namespace tessera
