/// \file
/// The arguments of a Krylov method, checked before anything else looks at them.
#pragma once

#include "core/enqueued_product.hpp"
#include "core/fused_adapter.hpp"
#include "solvers/fused/loop.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tessera::detail {

/// Arguments that fit each other. They outlive the solve; b and x are those of the present one.
template <class T>
struct KrylovArguments {
  std::shared_ptr<const FusedOperator<T>> fused_a;  ///< what `a` refers to, and owns where it is an adapter
  std::shared_ptr<const FusedOperator<T>> fused_m;
  const FusedOperator<T>& a;
  const FusedOperator<T>& m;
  std::span<const T> b = {};
  std::span<T> x = {};
  const SolverOptions& options;

  /// \throws DimensionError, InvalidArgument as cg()
  KrylovArguments(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> right_side,
                  std::span<T> guess, const SolverOptions& solver_options);
  /// Without vectors. \throws as above
  KrylovArguments(const LinearOperator<T>& A, const LinearOperator<T>& M, const SolverOptions& solver_options);

  /// Takes vectors that fit. \throws as above
  void take(std::span<const T> right_side, std::span<T> guess);
};

/// \param method its name \throws InvalidArgument where the options ask for M on the left: only gmres() has it there
void require_right_side(const SolverOptions& options, std::string_view method);

/// A solution in a precision above T, of which the x of a method is a correction (mixed_precision.cpp). Residuals are
/// those of b' - A (solution + x), with b' = 2^-exponent b and ‖b'‖₂ in [1, 2).
template <class T>
class Refinement {
 public:
  Refinement() = default;
  Refinement(const Refinement&) = delete;
  Refinement& operator=(const Refinement&) = delete;
  virtual ~Refinement() = default;

  /// r = b' - A (solution + x), rounded to T. \returns ‖r‖₂ before rounding
  virtual double residual(std::span<const T> x, std::span<T> r) = 0;
  /// solution = solution + x, x = 0, for the x of the latest residual().
  virtual void take(std::span<T> x) = 0;

  int exponent = 0;
  double b_norm = 0.0;           ///< ‖b'‖₂
  double reduction = 0.1;        ///< a correction ends when its recurrence has fallen to this fraction
  bool keeps_direction = false;  ///< after a correction was taken; else the method starts anew
};

template <class T>
struct KrylovProblem : KrylovArguments<T> {
  fused::FusedPreconditioner<T> preconditioner;
  Refinement<T>* refinement = nullptr;  ///< null: x is the solution

  explicit KrylovProblem(const KrylovArguments<T>& arguments)
      : KrylovArguments<T>(arguments), preconditioner(arguments.m) {}

  [[nodiscard]] Device device() const { return this->a.device(); }
  /// For the loop.
  [[nodiscard]] int iterations_per_check() const noexcept {
    return preconditioner.is_fused ? fused::short_iterations_per_check : 1;
  }
  /// Whether all products of an iteration can be enqueued.
  [[nodiscard]] bool is_enqueueable() const {
    return EnqueuedProduct<T>::of(this->a) != nullptr &&
           (preconditioner.is_fused || EnqueuedProduct<T>::of(this->m) != nullptr);
  }
};

/// Whether transposed() gives the operator itself: identities, diagonals, preconditioners that say so.
template <class T>
[[nodiscard]] bool is_own_transpose(const FusedOperator<T>& a);

/// What a recorded loop refers to in A and M: other where new values have moved memory, so that the loop has to be
/// recorded anew.
template <class T>
struct RecordedOperands {
  std::uint64_t product_with_a = 0;  ///< EnqueuedProduct::recording_id(); 0 where nothing is recorded
  std::uint64_t product_with_m = 0;
  const T* diagonal_of_m = nullptr;
  bool a_is_symmetric = false;  ///< is_own_transpose(): a refresh() may change it
  bool m_is_symmetric = false;

  [[nodiscard]] static RecordedOperands of(const KrylovArguments<T>& arguments) {
    const auto id = [](const FusedOperator<T>& each) {
      const auto* const product = EnqueuedProduct<T>::of(each);
      return product == nullptr ? std::uint64_t{0} : product->recording_id();
    };
    const auto diagonal = arguments.m.diagonal();
    return {id(arguments.a), id(arguments.m), diagonal ? diagonal->data() : nullptr, is_own_transpose(arguments.a),
            is_own_transpose(arguments.m)};
  }
  friend bool operator==(const RecordedOperands&, const RecordedOperands&) = default;
};

/// Names the first element that is NaN or infinite, for the reason of a report: "b[3] is nan".
template <class T>
[[nodiscard]] std::string first_not_finite(const Device& device, const char* name, std::span<const T> vector);

/// A method with the vectors and the recorded loop of its solves.
template <class T>
class KrylovMethod {
 public:
  KrylovMethod() = default;
  KrylovMethod(const KrylovMethod&) = delete;
  KrylovMethod& operator=(const KrylovMethod&) = delete;
  virtual ~KrylovMethod() = default;

  /// Solves the problem that it was made for, with its present b and x. Allocates and records at the first call alone,
  /// but for a history.
  [[nodiscard]] virtual SolveReport solve() = 0;
};

// The methods of the functions of these names, for a problem that outlives them. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_cg(const KrylovProblem<T>& problem);
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_bicgstab(const KrylovProblem<T>& problem);
/// \throws InvalidArgument for a restart out of range
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_gmres(const KrylovProblem<T>& problem);
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_idr(const KrylovProblem<T>& problem);
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_minres(const KrylovProblem<T>& problem);
/// \throws InvalidArgument for an interval of eigenvalues out of order
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_chebyshev(const KrylovProblem<T>& problem);
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_richardson(const KrylovProblem<T>& problem);

extern template std::string first_not_finite(const Device&, const char*, std::span<const float>);
extern template std::string first_not_finite(const Device&, const char*, std::span<const double>);
extern template struct KrylovArguments<float>;
extern template struct KrylovArguments<double>;

}  // namespace tessera::detail
