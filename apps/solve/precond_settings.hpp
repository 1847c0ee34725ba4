/// \file
/// Preconditioners as the command line names them: --precond, --precond-opt and --block, understood and checked.
#pragma once

#include "settings.hpp"

#include "support/precond.hpp"
#include "tessera/amg.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// One key of --precond-opt.
struct AmgKey {
  std::string_view name;
  std::string_view value;     ///< what it takes, for help and messages
  std::string_view fallback;  ///< default, as the user would type it; empty when there is none
  std::string_view help;
};

/// In the order of AmgOptions.
[[nodiscard]] std::span<const AmgKey> amg_keys();
/// "strength", "coarsest-rows", ...
[[nodiscard]] std::vector<std::string_view> amg_key_names();

/// What --precond, --precond-opt and --block say.
/// \throws UsageError for a key that is unknown (naming the nearest), given twice or out of range, and where they are
///         typed for another preconditioner than amg
[[nodiscard]] PrecondSettings precond_settings(const Options& options);

/// The same with the preconditioners of --preconds, in their order; --precond stands for one.
[[nodiscard]] std::vector<PrecondSettings> precond_list(const Options& options);

/// With the vectors of coordinates and near-nullspace. \param rows of the matrix
/// \throws what the reader throws; DimensionError naming file and sizes
[[nodiscard]] support::PrecondRequest precond_request(const PrecondSettings& settings, const ProblemSettings& problem,
                                                      std::int64_t rows, const MachineSettings& machine);

}  // namespace tessera::cli
