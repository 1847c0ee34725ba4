/// \file
/// Bytes of a value of a matrix in a plan.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <type_traits>

namespace tessera::detail {

/// Bytes that a value takes in the plan; 0 for a pattern.
template <class T>
[[nodiscard]] double value_bytes_of(const CsrView<T>& a, const SpmvOptions& options) {
  const bool as_float = options.fp32_values || std::is_same_v<T, float>;
  return a.is_pattern() ? 0.0 : as_float ? sizeof(float) : sizeof(T);
}

}  // namespace tessera::detail
