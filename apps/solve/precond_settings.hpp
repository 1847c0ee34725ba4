/// \file
/// Preconditioners as the command line names them: --precond, --precond-opt and --block, understood and checked.
#pragma once

#include "settings.hpp"

#include "support/precond.hpp"

#include <cstdint>
#include <vector>

namespace tessera::cli {

/// What --precond, --precond-opt and --block say.
/// \throws UsageError for a key that is unknown (naming the nearest), given twice or out of range, and where it is
/// typed
///         and belongs to another preconditioner
[[nodiscard]] PrecondSettings precond_settings(const Options& options);

/// The same with the preconditioners of --preconds, in their order; --precond stands for one.
[[nodiscard]] std::vector<PrecondSettings> precond_list(const Options& options);

/// With the vectors of coordinates and near-nullspace. \param rows of the matrix
/// \throws what the reader throws; DimensionError naming file and sizes
[[nodiscard]] support::PrecondRequest precond_request(const PrecondSettings& settings, const ProblemSettings& problem,
                                                      std::int64_t rows, const MachineSettings& machine);

}  // namespace tessera::cli
