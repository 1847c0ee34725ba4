#include "tessera/report.hpp"

namespace tessera {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::max_iterations:
      return "max_iterations";
    case Status::time_limit:
      return "time_limit";
    case Status::breakdown:
      return "breakdown";
    case Status::diverged:
      return "diverged";
    case Status::stagnated:
      return "stagnated";
    case Status::not_finite:
      return "not_finite";
    case Status::interrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string_view to_string(Breakdown breakdown) {
  switch (breakdown) {
    case Breakdown::none:
      return "none";
    case Breakdown::rho:
      return "rho";
    case Breakdown::alpha:
      return "alpha";
    case Breakdown::omega:
      return "omega";
    case Breakdown::indefinite:
      return "indefinite";
    case Breakdown::preconditioner:
      return "preconditioner";
    case Breakdown::not_finite:
      return "not_finite";
  }
  return "unknown";
}

}  // namespace tessera
