#include "run_method.hpp"

#include <fmt/format.h>

namespace tessera::cli {

MethodChoice choose_method(Method wanted, const MatrixStatistics& matrix) {
  if (wanted != Method::automatic) return {wanted, {}};
  if (matrix.symmetry != Symmetry::numerical) return {Method::bicgstab, "not numerically symmetric"};
  const index_t unfit = matrix.diagonal_missing + matrix.diagonal_zero + matrix.diagonal_negative;
  if (unfit > 0) {
    return {Method::bicgstab, fmt::format("symmetric, but {} of {} diagonal entries not positive", unfit, matrix.rows)};
  }
  return {Method::cg, "numerically symmetric, positive diagonal"};
}

PrecondChoice choose_precond(Precond wanted, const MatrixStatistics& matrix) {
  if (wanted != Precond::automatic) return {wanted, {}};
  if (matrix.full_diagonal()) return {Precond::jacobi, "full diagonal"};
  return {Precond::none,
          fmt::format("{} diagonal entries missing, {} zero", matrix.diagonal_missing, matrix.diagonal_zero)};
}

std::string to_string(Method method) {
  switch (method) {
    case Method::automatic:
      return "auto";
    case Method::cg:
      return "cg";
    case Method::bicgstab:
      return "bicgstab";
  }
  return "auto";
}

std::string to_string(Precond precond) {
  switch (precond) {
    case Precond::automatic:
      return "auto";
    case Precond::none:
      return "none";
    case Precond::jacobi:
      return "jacobi";
  }
  return "auto";
}

}  // namespace tessera::cli
