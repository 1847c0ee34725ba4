/// \file
/// Products of two-kernel CG: one iteration of conjugate gradients as two products on a GPU, between which a solver
/// computes the scalars. The first forms the new direction at a row and its neighbours and does not store A p, the
/// second forms A p again: 8 vectors are moved instead of 10. A capability that a kernel may offer:
/// SpmvKernel::make_cg_product().
#pragma once

#include "core/host_device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::detail {

/// Scalars of an iteration, on the device. The solver writes them between the products.
struct CgScalars {
  double alpha = 0.0;            ///< of the latest direction
  double beta = 0.0;             ///< of the next one
  std::int32_t current = 0;      ///< the latest direction is CgVectors::p[current]
  std::int32_t x_is_behind = 0;  ///< x lacks α p
  std::int32_t keep = 0;         ///< x is to be kept when it is next written
  std::int32_t unused = 0;
};

/// Operands on the device, n elements each; none overlaps another.
template <class T>
struct CgVectors {
  T* r = nullptr;
  T* p[2] = {};
  T* x = nullptr;
  T* kept = nullptr;
  const T* diagonal = nullptr;  ///< of M; null: M is the identity
};

/// Sums of a product, or of a part of its rows.
struct CgSums {
  double first = 0.0;
  double second = 0.0;
  double third = 0.0;
  TESSERA_HOST_DEVICE CgSums& operator+=(const CgSums& other) noexcept {
    first += other.first;
    second += other.second;
    third += other.third;
    return *this;
  }
};

/// Both products do nothing once *halted is not 0. They neither wait nor allocate, and launch the same every time, so
/// they may be captured. Not concurrent with themselves.
template <class T>
class CgProduct {
 public:
  CgProduct() = default;
  CgProduct(const CgProduct&) = delete;
  CgProduct& operator=(const CgProduct&) = delete;
  virtual ~CgProduct() = default;

  /// p' = M r + β p to the other of both directions, x = x + α p where x is behind, kept too where that is due; with
  /// q = A p', which is not stored: <p', q>, <q, q> and <p', p'>. \returns the sums in parts, until the next product
  /// \throws CudaError
  virtual std::span<const CgSums> enqueue_direction(const CgVectors<T>& vectors, const CgScalars* scalars,
                                                    const std::int32_t* halted) = 0;

  /// r = r - α A p; <r, r> and <r, M r>.
  virtual std::span<const CgSums> enqueue_residual(const CgVectors<T>& vectors, const CgScalars* scalars,
                                                   const std::int32_t* halted) = 0;
};

}  // namespace tessera::detail
