/// Options of AMG: their ranges and names.
#include "solvers/amg/coarsest.hpp"
#include "solvers/amg/setup.hpp"
#include "tessera/amg.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {

std::string_view to_string(AmgCycle cycle) {
  switch (cycle) {
    case AmgCycle::v:
      return "v";
    case AmgCycle::w:
      return "w";
    case AmgCycle::k:
      return "k";
  }
  return "v";
}

std::string_view to_string(AmgSmoother smoother) {
  switch (smoother) {
    case AmgSmoother::jacobi:
      return "jacobi";
    case AmgSmoother::l1_jacobi:
      return "l1-jacobi";
    case AmgSmoother::spai0:
      return "spai0";
    case AmgSmoother::chebyshev:
      return "chebyshev";
  }
  return "jacobi";
}

std::string_view to_string(AmgPrecision precision) { return precision == AmgPrecision::single ? "single" : "full"; }

namespace detail {

namespace {

void require(bool condition, const char* name, double value, const char* range) {
  if (!condition) throw InvalidArgument(fmt::format("AmgOptions::{} must be {}, got {}", name, range, value));
}

void require_elements(const char* name, std::size_t size, std::int64_t rows, const char* what) {
  if (size == 0 || (rows > 0 && size % static_cast<std::size_t>(rows) == 0)) return;
  throw DimensionError(
      fmt::format("AmgOptions::{} has {} elements, which is no multiple of the {} {}", name, size, rows, what));
}

void require_finite(const char* name, const std::vector<double>& numbers) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [](double each) { return !std::isfinite(each); });
  require(found == numbers.end(), name, found == numbers.end() ? 0.0 : *found, "finite");
}

}  // namespace

void check_amg_options(const AmgOptions& options, index_t rows) {
  require(options.strength_threshold >= 0.0 && options.strength_threshold <= 1.0, "strength_threshold",
          options.strength_threshold, "in [0, 1]");
  require(options.coarsest_rows >= 1 && options.coarsest_rows <= most_inverted_rows, "coarsest_rows",
          options.coarsest_rows, "in [1, 1000]");
  require(options.max_levels >= 1, "max_levels", options.max_levels, "at least 1");
  require(options.block_size >= 0 && options.block_size <= 16, "block_size", options.block_size, "in [0, 16]");
  require(options.prolongator_damping >= 0.0 && options.prolongator_damping < 2.0, "prolongator_damping",
          options.prolongator_damping, "in [0, 2)");
  require(options.power_steps >= 0 && options.power_steps <= 1000, "power_steps", options.power_steps, "in [0, 1000]");
  require(options.smoother_damping > 0.0 && options.smoother_damping < 2.0, "smoother_damping",
          options.smoother_damping, "in (0, 2)");
  require(options.chebyshev_degree >= 1 && options.chebyshev_degree <= 8, "chebyshev_degree", options.chebyshev_degree,
          "in [1, 8]");
  require(options.chebyshev_ratio > 1.0 && std::isfinite(options.chebyshev_ratio), "chebyshev_ratio",
          options.chebyshev_ratio, "finite and > 1");
  require(options.sweeps >= 1 && options.sweeps <= 8, "sweeps", options.sweeps, "in [1, 8]");
  if (options.block_size > 0 && rows % options.block_size != 0) {
    throw DimensionError(
        fmt::format("AmgOptions::block_size is {}, which does not divide the {} rows", options.block_size, rows));
  }
  require_elements("near_nullspace", options.near_nullspace.size(), rows, "rows");
  require_finite("near_nullspace", options.near_nullspace);
  require_finite("coordinates", options.coordinates);
  if (!options.near_nullspace.empty() && rows > 0) {
    const std::size_t vectors = options.near_nullspace.size() / static_cast<std::size_t>(rows);
    require(vectors <= 32, "near_nullspace", static_cast<double>(vectors), "at most 32 vectors");
  }
  if (options.coordinates.empty()) return;
  require(options.block_size == 0 || options.block_size == 2 || options.block_size == 3, "block_size",
          options.block_size, "2 or 3 where coordinates are given");
  if (options.coordinates.size() != static_cast<std::size_t>(rows)) {
    throw DimensionError(fmt::format("AmgOptions::coordinates has {} numbers; {} nodes need {}",
                                     options.coordinates.size(), rows / std::max(options.block_size, 1), rows));
  }
  if (!options.near_nullspace.empty()) {
    throw InvalidArgument("AmgOptions has both near_nullspace and coordinates: one of them is enough");
  }
}

}  // namespace detail

}  // namespace tessera
