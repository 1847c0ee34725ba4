/// \file
/// The iterative methods by name, and IterativeSolver: a method that keeps its vectors, and what a GPU has recorded,
/// for many solves with one matrix.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

namespace tessera {

/// The methods of tessera/solvers.hpp, by the names of their functions.
enum class IterativeMethod : std::uint8_t { cg, bicgstab, gmres, idr, minres, chebyshev, richardson };

/// Matrices that a method is for.
enum class MatrixClass : std::uint8_t { square, symmetric, positive_definite, rectangular };

/// "square", "symmetric", "symmetric positive definite", "rectangular".
[[nodiscard]] std::string_view to_string(MatrixClass matrix);

/// What is known of a method. An iteration is what SolveReport::iterations counts.
struct MethodInfo {
  IterativeMethod method = IterativeMethod::cg;
  std::string_view name;         ///< "cg"
  std::string_view description;  ///< one line, for help texts
  MatrixClass matrix = MatrixClass::square;
  double products_with_a = 1.0;  ///< per iteration
  double products_with_m = 1.0;  ///< per iteration
  int vectors = 0;               ///< of n elements in a solve, at most: with b, x, and the second output of a product
  double moved = 0.0;  ///< vectors of n elements read or written per iteration, at most, besides those of the products
  bool restarts = false;  ///< keeps SolverOptions::restart directions besides, see vectors_of() and moved_by()
  /// Fields of SolverOptions that not every method uses: "restart".
  std::span<const std::string_view> own_options = {};

  /// Whether `option` is one of `own_options`.
  [[nodiscard]] bool owns(std::string_view option) const;
};

/// The relative tolerance where a user names none: rounding keeps few systems from it.
template <class T>
inline constexpr double default_tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-8;

/// All methods, in the order of help texts.
[[nodiscard]] std::span<const MethodInfo> iterative_methods();
/// \throws InvalidArgument for a value that no method has
[[nodiscard]] const MethodInfo& method_info(IterativeMethod method);
[[nodiscard]] std::string_view to_string(IterativeMethod method);  ///< "cg", "bicgstab", ... \throws as method_info()
/// \throws InvalidArgument naming the methods and, if there is one, the nearest
[[nodiscard]] IterativeMethod parse_iterative_method(std::string_view name);

/// Vectors of n elements in a solve, at most: right-hand side, solution and work vectors. \param n rows; a cycle has no
/// more directions \param simple M is the identity or diagonal, so no preconditioned directions are kept, as with M on
/// the left
[[nodiscard]] std::uint64_t vectors_of(const MethodInfo& method, std::int64_t n, const SolverOptions& options,
                                       bool simple);
/// Vectors of n elements read or written per iteration, in the mean of a cycle, besides those of the products.
[[nodiscard]] double moved_by(const MethodInfo& method, const SolverOptions& options);

/// The function of the method's name. Parameters, result and exceptions as for cg().
template <class T>
SolveReport solve(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                  std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                  const SolverOptions& options = {});

/// A method for A x = b with many right-hand sides, one after the other: time steps, Newton steps. It gives the bits
/// and reports of the function of the method's name, and keeps what that makes anew in every call: its vectors, and on
/// a GPU the CUDA graph of its loop. From the second solve on it allocates nothing on the device and records nothing.
///
/// A and M outlive the solver. They may take new values between solves, by SpmvPlan::update_values() and
/// Preconditioner::refresh(): where these move memory that the graph refers to, the next solve prepares itself anew, as
/// the first one did. On a GPU, where the loop runs as a graph, the solver has one vector more than the function: a
/// copy of x, so that every solve may bring another x. A solve while another one runs, in another thread or around an
/// observer, is refused: InvalidArgument.
template <class T>
class IterativeSolver {
 public:
  /// \param A,M     as for cg(); referred to
  /// \param options copied, for all solves
  /// \throws DimensionError, InvalidArgument as the function does; OutOfMemory, CudaError
  IterativeSolver(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                  const SolverOptions& options = {});
  /// Without preconditioner.
  IterativeSolver(IterativeMethod method, const LinearOperator<T>& A, const SolverOptions& options = {});
  ~IterativeSolver();
  /// A moved-from solver may only be assigned to or destroyed.
  IterativeSolver(IterativeSolver&&) noexcept;
  IterativeSolver& operator=(IterativeSolver&&) noexcept;

  /// \param b right-hand side, n elements, on A's device as x
  /// \param x initial guess on entry, the result on return, as for cg(). A solve of the past may be the guess of the
  ///          next (warm start)
  /// \returns a report \throws as cg(); another solve may follow
  SolveReport solve(std::span<const T> b, std::span<T> x);
  /// Aᵀ x = b with Mᵀ: by the factors or the hierarchy of M as they are. The first call makes what the first solve()
  /// makes, once more: vectors and loops. The report is of b - Aᵀ x.
  /// \throws NotSupported naming the remedy where A or M has no transposed products; otherwise as solve()
  SolveReport solve_transposed(std::span<const T> b, std::span<T> x);

  [[nodiscard]] IterativeMethod method() const noexcept;
  [[nodiscard]] const SolverOptions& options() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class IterativeSolver<float>;
extern template class IterativeSolver<double>;

}  // namespace tessera
