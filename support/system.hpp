/// \file
/// A system A x = b: which method it gets and why, and its solution on the device of A.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::support {

enum class Method { automatic, cg, bicgstab, richardson };

struct MethodChoice {
  Method method = Method::bicgstab;  ///< never automatic
  std::string reason;                ///< empty when the user chose
};

[[nodiscard]] MethodChoice choose_method(Method wanted, const MatrixStatistics& matrix);

/// A and M of a system, on one device.
template <class T>
struct SystemOperators {
  const LinearOperator<T>& A;
  const LinearOperator<T>& M;
};

/// Solves with b and x on the host: copies them to the device of A and M and copies x back; the report says how long
/// that took.
/// \param method not automatic
/// \throws what the method throws; the caller's x is then unchanged
template <class T>
[[nodiscard]] SolveReport solve_from_host(Method method, const SystemOperators<T>& system, std::span<const T> b,
                                          std::span<T> x, const SolverOptions& options);

/// n elements uniform in [-1, 1), the same on every machine.
template <class T>
[[nodiscard]] std::vector<T> random_vector(std::int64_t n, std::uint64_t seed);

/// The matrix on a device: itself, or a copy. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::shared_ptr<const Csr<T>> device_copy(const std::shared_ptr<const Csr<T>>& matrix,
                                                        const Device& device) {
  return device.is_host() ? matrix : std::make_shared<const Csr<T>>(matrix->to(device));
}

[[nodiscard]] std::string to_string(Method method);

}  // namespace tessera::support
