/// \file
/// A system A x = b: which method it gets and why, and its solution on the device of A.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::support {

/// How a system is solved: by an iterative method, by direct factors, or as the ladder chooses.
class Method {
 public:
  using enum IterativeMethod;
  enum Other : std::uint8_t { automatic, direct };

  constexpr Method(IterativeMethod method) noexcept : iterative_(method) {}  // NOLINT(google-explicit-constructor)
  constexpr Method(Other other) noexcept : other_(other) {}                  // NOLINT(google-explicit-constructor)

  /// Nothing for automatic and direct.
  [[nodiscard]] constexpr std::optional<IterativeMethod> iterative() const noexcept { return iterative_; }
  [[nodiscard]] constexpr Other other() const noexcept { return other_; }
  friend constexpr bool operator==(const Method&, const Method&) = default;

 private:
  std::optional<IterativeMethod> iterative_;
  Other other_ = automatic;
};

/// "auto", the iterative methods, "direct".
[[nodiscard]] std::span<const Method> methods();

struct MethodChoice {
  Method method = Method::bicgstab;  ///< never automatic
  std::string reason;                ///< empty when the user chose
};

[[nodiscard]] MethodChoice choose_method(Method wanted, const MatrixStatistics& matrix);

/// A and M of a system, on one device.
template <class T>
struct SystemOperators {
  const FusedOperator<T>& A;
  const FusedOperator<T>& M;
};

/// Options of Richardson iteration with exact factors as M: at most 10 steps of refinement, and an end as soon as three
/// of them did not lower the residual.
[[nodiscard]] SolverOptions refinement_options(SolverOptions options);

/// tessera::vectors_of() of any method.
[[nodiscard]] std::uint64_t vectors_of(Method method, std::int64_t n, const SolverOptions& options, bool simple);

/// Solves with b and x where A and M lie. Method::direct is Richardson iteration with refinement_options(); M is A⁻¹.
/// \param method not automatic
/// \throws what the method throws
template <class T>
[[nodiscard]] SolveReport run_method(Method method, const SystemOperators<T>& system, std::span<const T> b,
                                     std::span<T> x, const SolverOptions& options);

/// The same with b and x on the host: copies them to the device of A and M and copies x back; the report says how long
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
