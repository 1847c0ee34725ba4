/// \file
/// Which method and preconditioner a system gets, and why.
#pragma once

#include "settings.hpp"

#include "tessera/linear_operator.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <memory>
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

/// Chooses and builds. `automatic` gives up Jacobi where the inverse of an entry is not finite.
/// \throws InvalidMatrix naming the problem where a preconditioner that the user chose cannot be built
template <class T>
[[nodiscard]] PreparedPrecond<T> prepare_precond(Precond wanted, const MatrixStatistics& facts,
                                                 const CsrView<T>& matrix, const Device& device,
                                                 const std::string& problem);

[[nodiscard]] std::string to_string(Method method);
[[nodiscard]] std::string to_string(Precond precond);

}  // namespace tessera::cli
