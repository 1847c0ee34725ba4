/// Options of incomplete factors: their ranges and names.
#include "solvers/factors/preparation.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tessera {

std::string_view to_string(FactorKind kind) {
  switch (kind) {
    case FactorKind::ilu0:
      return "ilu0";
    case FactorKind::iluk:
      return "iluk";
    case FactorKind::ilut:
      return "ilut";
    case FactorKind::ilutp:
      return "ilutp";
    case FactorKind::ic0:
      return "ic0";
    case FactorKind::ict:
      return "ict";
  }
  return "unknown";
}

std::string_view to_string(FactorScaling scaling) {
  switch (scaling) {
    case FactorScaling::automatic:
      return "auto";
    case FactorScaling::none:
      return "none";
    case FactorScaling::ruiz:
      return "ruiz";
    case FactorScaling::symmetric:
      return "symmetric";
  }
  return "unknown";
}

std::string_view to_string(FactorMatching matching) {
  switch (matching) {
    case FactorMatching::automatic:
      return "auto";
    case FactorMatching::none:
      return "none";
    case FactorMatching::scale:
      return "scale";
    case FactorMatching::permute:
      return "permute";
  }
  return "unknown";
}

std::string_view to_string(TriangularSolve solve) {
  switch (solve) {
    case TriangularSolve::automatic:
      return "auto";
    case TriangularSolve::levels:
      return "levels";
    case TriangularSolve::sync_free:
      return "sync-free";
  }
  return "unknown";
}

namespace detail {

namespace {

template <class Number>
void require(bool condition, const char* name, Number value, const char* range) {
  if (condition) return;
  throw InvalidArgument(fmt::format("IncompleteFactorOptions::{} must be {}, got {}", name, range, value));
}

}  // namespace

void check_factor_options(const IncompleteFactorOptions& options) {
  require(options.level >= 0, "level", options.level, "at least 0");
  require(options.drop_tolerance >= 0.0 && std::isfinite(options.drop_tolerance), "drop_tolerance",
          options.drop_tolerance, "finite and at least 0");
  require(options.max_row_entries >= 1, "max_row_entries", options.max_row_entries, "at least 1");
  require(options.pivot_tolerance >= 0.0 && options.pivot_tolerance <= 1.0, "pivot_tolerance", options.pivot_tolerance,
          "in [0, 1]");
  require(options.blocks >= 1, "blocks", options.blocks, "at least 1");
  require(options.smallest_shift > 0.0 && std::isfinite(options.smallest_shift), "smallest_shift",
          options.smallest_shift, "finite and above 0");
  require(options.largest_shift >= 0.0 && std::isfinite(options.largest_shift), "largest_shift", options.largest_shift,
          "finite and at least 0");
  require(options.fill_limit > 0.0, "fill_limit", options.fill_limit, "above 0");
  require(options.time_limit_seconds >= 0.0, "time_limit_seconds", options.time_limit_seconds, "at least 0");
  const bool matches = options.matching == FactorMatching::scale || options.matching == FactorMatching::permute;
  if (matches && (options.kind == FactorKind::ic0 || options.kind == FactorKind::ict)) {
    throw InvalidArgument(
        fmt::format("IncompleteFactorOptions::matching is {}, but {} needs a matrix that stays symmetric: auto or none",
                    to_string(options.matching), to_string(options.kind)));
  }
}

}  // namespace detail

}  // namespace tessera
