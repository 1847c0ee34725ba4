/// \file
/// Which method and preconditioner a system gets, and why.
#pragma once

#include "settings.hpp"

#include "tessera/statistics.hpp"

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

[[nodiscard]] std::string to_string(Method method);
[[nodiscard]] std::string to_string(Precond precond);

}  // namespace tessera::cli
