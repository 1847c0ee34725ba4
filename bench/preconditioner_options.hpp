/// \file
/// Words of the command line as options of preconditioners.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/polynomial.hpp"

#include <optional>
#include <span>
#include <string>

namespace tessera::bench {

/// "poly:4", "neumann:3", "neumann:3:explicit", "poly:4:explicit:1e-3" as options; nothing for other names.
/// \throws InvalidArgument for a polynomial that is not written so
[[nodiscard]] std::optional<PolynomialOptions> polynomial_of(const std::string& name);

/// Sets options from KEY=VALUE. \throws InvalidArgument for an unknown key or a value that is none
void set_amg_options(AmgOptions& options, std::span<const std::string> settings);

}  // namespace tessera::bench
