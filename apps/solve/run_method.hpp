/// \file
/// Which method and preconditioner a system gets, and why.
#pragma once

#include "settings.hpp"

#include "tessera/linear_operator.hpp"
#include "tessera/solvers.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tessera::cli {

struct MethodChoice {
  Method method = Method::bicgstab;  ///< never automatic
  std::string reason;                ///< empty when the user chose
};

[[nodiscard]] MethodChoice choose_method(Method wanted, const MatrixStatistics& matrix);

struct PrecondChoice {
  Precond precond = Precond::none;  ///< never automatic
  std::string reason;
};

[[nodiscard]] PrecondChoice choose_precond(Precond wanted, const MatrixStatistics& matrix);

template <class T>
struct PreparedPrecond {
  std::unique_ptr<LinearOperator<T>> inverse;
  PrecondChoice choice;
  std::uint64_t bytes = 0;
};

/// Chooses and builds. \param matrix lies on `device`. `automatic` gives up Jacobi where the inverse of an entry is not
/// finite. \throws InvalidMatrix naming the problem where a preconditioner that the user chose cannot be built
template <class T>
[[nodiscard]] PreparedPrecond<T> prepare_precond(Precond wanted, const MatrixStatistics& facts,
                                                 const CsrView<T>& matrix, const Device& device,
                                                 const std::string& problem);

/// A and M of a system, on one device.
template <class T>
struct SystemOperators {
  const LinearOperator<T>& A;
  const LinearOperator<T>& M;
};

/// Solves with b and x on the host, wherever A and M are: takes them there and brings x back, and says in the report
/// how long that took. \param method not automatic
/// \throws what the method throws; x on a GPU is then lost, and the caller's stays as it was
template <class T>
[[nodiscard]] SolveReport solve_where_it_lies(Method method, const SystemOperators<T>& system, std::span<const T> b,
                                              std::span<T> x, const SolverOptions& options);

[[nodiscard]] std::string to_string(Method method);
[[nodiscard]] std::string to_string(Precond precond);

}  // namespace tessera::cli
