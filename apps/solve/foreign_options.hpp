/// \file
/// Options that have no meaning in some runs, and are refused there.
#pragma once

#include "options.hpp"

#include <span>
#include <string_view>

namespace tessera::cli {

/// One that is refused, but for some values.
struct ForeignOption {
  std::string_view name;
  std::string_view harmless;  ///< "auto|off"
  std::string_view hint;
};

/// \param where what it does not apply to: "--engine petsc"
/// \throws OptionError for the first of them with another value, wherever it was set
void require_no_foreign(const Options& options, std::span<const ForeignOption> foreign, std::string_view where);

}  // namespace tessera::cli
