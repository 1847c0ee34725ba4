/// \file
/// The manual page solve(1) in troff, made from the tables of commands and options.
#pragma once

#include <string>

namespace tessera::cli {

[[nodiscard]] std::string manual_page();

}  // namespace tessera::cli
