/// \file
/// Powers of a matrix by products of lower powers (Knuth, The Art of Computer Programming 2, 4.6.3), whatever its
/// format.
#pragma once

#include "core/detail_namespace.hpp"
#include "spgemm/common/association.hpp"
#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
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

/// A^k for k >= 2 by the products of `steps`. Powers are kept as long as a later step needs them.
/// \tparam Product SpgemmResult or TileProduct \param reports gets those of the products
template <class Product, class Matrix>
[[nodiscard]] Matrix form_power(const Matrix& a, const std::vector<PowerProduct>& steps, const SpgemmOptions& options,
                                std::vector<SpgemmReport>& reports) {
  std::map<int, Matrix> powers;
  const auto power = [&](int exponent) -> const Matrix& { return exponent == 1 ? a : powers.at(exponent); };
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    std::uint64_t held = 0;
    for (const auto& [exponent, matrix] : powers) held += matrix.bytes();
    Product product = spgemm(power(step->left), power(step->right), beside(options, held));
    reports.push_back(std::move(product.report));
    powers.emplace(step->exponent(), std::move(product.matrix));
    std::erase_if(powers, [&](const auto& entry) {
      const bool is_needed = std::any_of(step + 1, steps.end(), [&](const PowerProduct& later) {
        return later.left == entry.first || later.right == entry.first;
      });
      return !is_needed && entry.first != steps.back().exponent();
    });
  }
  return std::move(powers.at(steps.back().exponent()));
}

/// The steps of binary powering.
[[nodiscard]] inline std::vector<PowerProduct> binary_steps(int k) {
  return binary_powering(k, [](const PowerProduct& /*step*/) { return 0.0; }).steps;
}

}  // namespace tessera::detail
