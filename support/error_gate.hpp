/// \file
/// Accuracy of the solution of a run: its backward error, and what is claimed of its forward error.
#pragma once

#include "support/system.hpp"

#include "tessera/accuracy.hpp"
#include "tessera/csr.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace tessera::support {

struct Accuracy {
  BackwardError backward;
  /// Not converged, but x is exact for entries of A and b that differ by little more than rounding: the tolerance
  /// cannot be reached in this precision.
  bool backward_stable = false;
  std::optional<ErrorEstimate> estimate;  ///< where the gate was on and the solve ended well
  double ms = 0.0;                        ///< of all this
};

/// A solve that has ended, with its operators. b and x lie on the host.
template <class T>
struct SolvedSystem {
  SystemOperators<T> operators;
  CsrView<T> matrix;  ///< A, on the device of the operators
  const MatrixStatistics& facts;
  Method method = Method::bicgstab;
  std::span<const T> b;
  std::span<T> x;
  SolverOptions options;                 ///< of the solve; the observer is asked whether to stop
  std::uint64_t memory_limit_bytes = 0;  ///< of factors for corrections; 0: none
};

/// The backward error of x whatever the gate. The forward error where the solve converged or stagnated and the gate is
/// not off; ErrorGate::repair corrects x and brings true_residual and status of the report up to date.
/// \throws what estimate_error() throws; OutOfMemory, CudaError
template <class T>
[[nodiscard]] Accuracy assess_accuracy(const SolvedSystem<T>& solved, ErrorGate gate, SolveReport& report);

}  // namespace tessera::support
