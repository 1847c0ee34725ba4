/// \file
/// Scripts that let a shell complete the command line, made from the table of options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

enum class Shell { bash, zsh };

/// Defines the completion of `solve`; to be sourced, or found by the shell under the name that README gives.
[[nodiscard]] std::string completion_script(Shell shell);

[[nodiscard]] std::string bash_completion();
[[nodiscard]] std::string zsh_completion();

/// "a|b" taken apart.
[[nodiscard]] std::vector<std::string> alternatives(std::string_view text);

}  // namespace tessera::cli
