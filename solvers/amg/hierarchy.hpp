/// \file
/// The hierarchy of AMG as set-up hands it to the cycle.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <memory>
#include <vector>

namespace tessera::detail {

/// One level. Arrays lie on the device of the hierarchy.
template <class T>
struct AmgLevel {
  std::shared_ptr<const Csr<T>> a;  ///< of the finest level: may refer to the caller's memory, so the cycle copies it
  std::shared_ptr<const Csr<T>> p;  ///< prolongator, rows of A x rows of the next level; null on the coarsest
  std::shared_ptr<const Csr<T>> r;  ///< restriction, Pᵀ
  Array<T> smoother;                ///< m_i of the smoother; 0 for rows that it leaves alone
  double rho = 2.0;                 ///< estimate of ρ(D⁻¹ A), never too small by more than the power method errs
};

/// Levels, the finest first.
template <class T>
struct AmgHierarchy {
  Device device;
  std::vector<AmgLevel<T>> levels;
  /// Inverse of the coarsest A, row-major (a generalised inverse where A is singular). Empty: the coarsest level is
  /// too large, and is smoothed instead.
  Array<T> coarsest_inverse;
};

}  // namespace tessera::detail
