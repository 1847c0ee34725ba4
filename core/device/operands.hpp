/// \file
/// Operands of products: checks of their sizes and places, and y = α x + β y.
#pragma once

#include "core/cuda/vector_ops.hpp"
#include "core/parallel.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/linear_operator.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <span>

namespace tessera::detail {

template <class T>
[[nodiscard]] bool overlap(std::span<const T> a, std::span<const T> b) {
  if (a.empty() || b.empty()) return false;
  const std::less<const T*> before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

template <class T>
void check_size(const LinearOperator<T>& a, const char* name, std::size_t size, std::int64_t expected) {
  if (static_cast<std::int64_t>(size) == expected) return;
  throw DimensionError(fmt::format("operator is {} x {}: vector {} must have {} elements, has {}", a.rows(), a.cols(),
                                   name, expected, size));
}

template <class T>
void check_operands(const LinearOperator<T>& a, std::span<const T> x, std::span<const T> y) {
  check_size(a, "x", x.size(), a.cols());
  check_size(a, "y", y.size(), a.rows());
  if (overlap(x, y)) throw InvalidArgument("x and y of a product must not overlap");
}

template <class T>
void check_transposed_operands(const LinearOperator<T>& a, std::span<const T> x, std::span<const T> y) {
  check_size(a, "x of the transposed product", x.size(), a.rows());
  check_size(a, "y of the transposed product", y.size(), a.cols());
  if (overlap(x, y)) throw InvalidArgument("x and y of a product must not overlap");
}

/// y = β y; β = 0 overwrites NaN and infinity too.
template <class T>
void scale(const Device& device, T beta, std::span<T> y) {
  if (beta == T{1}) return;
  if (!device.is_host()) return cuda::scale(device, beta, y);
  host::parallel_for(device, static_cast<std::int64_t>(y.size()), [=](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      y[i] = beta == T{0} ? T{0} : beta * y[i];
    }
  });
}

/// y = α x + β y; the old y is not read when β = 0.
template <class T>
void combine(const Device& device, T alpha, std::span<const T> x, T beta, std::span<T> y) {
  if (!device.is_host()) return cuda::combine(device, alpha, x, beta, y);
  host::parallel_for(device, static_cast<std::int64_t>(y.size()), [=](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      y[i] = beta == T{0} ? alpha * x[i] : alpha * x[i] + beta * y[i];
    }
  });
}

/// y = α A x + β y by product(x, y), which overwrites y with A x; scratch space only when β ≠ 0.
template <class T, class Product>
void apply_overwriting(const Device& device, const Product& product, T alpha, std::span<const T> x, T beta,
                       std::span<T> y) {
  if (beta == T{0}) {
    product(x, y);
    return scale(device, alpha, y);
  }
  Array<T> overwritten(static_cast<std::int64_t>(y.size()), Init::none, device);
  product(x, overwritten.span());
  combine<T>(device, alpha, overwritten.span(), beta, y);
}

}  // namespace tessera::detail
