/// \file
/// Powers of a matrix by left-to-right binary powering (Knuth, The Art of Computer Programming 2, 4.6.3), whatever its
/// format.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::detail {

/// \throws DimensionError for a rectangular matrix, InvalidArgument for a negative k
template <class Matrix>
void check_power(const Matrix& a, int k) {
  if (a.rows() != a.cols()) {
    throw DimensionError(fmt::format("powers need a square matrix, A is {} x {}", a.rows(), a.cols()));
  }
  if (k < 0) throw InvalidArgument(fmt::format("the power of a matrix must be at least 0, got {}", k));
}

template <class T>
[[nodiscard]] Csr<T> identity(std::int64_t n, bool is_pattern) {
  Array<offset_t> offsets(n + 1, Init::none);
  Array<index_t> columns(n, Init::none);
  Array<T> values(is_pattern ? 0 : n, Init::none);
  for (std::int64_t i = 0; i < n; ++i) {
    offsets[i] = i;
    columns[i] = static_cast<index_t>(i);
  }
  offsets[n] = n;
  if (is_pattern) return Csr<T>::pattern(n, n, std::move(offsets), std::move(columns), Check::trusted);
  for (T& value : values) value = T{1};
  return Csr<T>(n, n, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

/// Options of a product beside which `held` bytes are kept. \throws OutOfMemory when they are all that is allowed
[[nodiscard]] inline SpgemmOptions beside(SpgemmOptions options, std::uint64_t held) {
  if (options.memory_limit_bytes == 0) return options;
  if (held >= options.memory_limit_bytes) {
    throw OutOfMemory(held, options.memory_limit_bytes, "power of a sparse matrix");
  }
  options.memory_limit_bytes -= held;
  return options;
}

/// A^k for k >= 2: a square for every further bit of k, then a product with A where the bit is 1.
/// \tparam Product SpgemmResult or TileProduct \param reports gets those of the products
template <class Product, class Matrix>
[[nodiscard]] Matrix power_of(const Matrix& a, int k, const SpgemmOptions& options,
                              std::vector<SpgemmReport>& reports) {
  // The power so far is a factor and stays until the product is there.
  const auto multiply = [&](const Matrix& left, const Matrix& right, std::uint64_t held) {
    Product product = spgemm(left, right, beside(options, held));
    reports.push_back(std::move(product.report));
    return std::move(product.matrix);
  };
  const auto exponent = static_cast<unsigned>(k);
  Matrix power = multiply(a, a, 0);
  for (int bit = static_cast<int>(std::bit_width(exponent)) - 2;; --bit) {
    if ((exponent >> bit & 1U) != 0) power = multiply(power, a, power.bytes());
    if (bit == 0) return power;
    power = multiply(power, power, power.bytes());
  }
}

}  // namespace tessera::detail
