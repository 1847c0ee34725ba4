/// \file
/// Diagonal preconditioners, fused into the vector operations of a method: z_i = m(m.load(i), r_i), where M is
/// FusedIdentity or FusedDiagonal.
#pragma once

#include "core/host_device.hpp"
#include "tessera/error.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace tessera::fused {

/// a b, on a GPU never contracted with a following addition. Of two products the compiler may contract either, which
/// may differ from kernel to kernel, and with it the bits.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE T rounded_product(T a, T b) noexcept {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == sizeof(double)) {
    return __dmul_rn(a, b);
  } else {
    return __fmul_rn(a, b);
  }
#else
  return a * b;
#endif
}

template <class T>
struct FusedIdentity {
  struct Loaded {};
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t /*i*/) const noexcept { return {}; }
  TESSERA_HOST_DEVICE T operator()(Loaded /*entry*/, T r) const noexcept { return r; }
};

template <class T>
struct FusedDiagonal {
  using Loaded = T;
  const T* diagonal;
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const noexcept { return diagonal[i]; }
  TESSERA_HOST_DEVICE T operator()(Loaded entry, T r) const noexcept { return rounded_product(entry, r); }
};

/// M as a method applies it: fused into its vector operations, or as a product.
template <class T>
struct FusedPreconditioner {
  std::variant<FusedIdentity<T>, FusedDiagonal<T>> entry;
  bool is_fused = false;  ///< else M has to be applied
  bool is_identity = false;

  /// \throws DimensionError when the diagonal of M does not fit its size
  explicit FusedPreconditioner(const FusedOperator<T>& m) : is_identity(m.is_identity()) {
    is_fused = is_identity;
    const auto diagonal = m.diagonal();
    if (!diagonal || is_identity) return;
    if (static_cast<std::int64_t>(diagonal->size()) != m.rows()) {
      throw DimensionError("the diagonal of an operator with " + std::to_string(m.rows()) + " rows has " +
                           std::to_string(diagonal->size()) + " entries");
    }
    entry = FusedDiagonal<T>{diagonal->data()};
    is_fused = true;
  }

  /// Whether a fused operation counts as an application of M.
  [[nodiscard]] bool counts() const noexcept { return is_fused && !is_identity; }
};

}  // namespace tessera::fused
