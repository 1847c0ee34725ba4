/// \file
/// Commands, options and values that the design of the command line knows and this build does not have. They are
/// refused by name: a run that silently ignored one would not be the run that was asked for.
#pragma once

#include <string>
#include <string_view>

namespace tessera::cli {

[[nodiscard]] bool is_later_command(std::string_view word);

/// \param option as typed, dashes included, without a value: "--html", "-c"
[[nodiscard]] bool is_later_option(std::string_view option);

/// \param option long name without dashes
/// \param value  as typed; what follows a colon does not matter ("bjacobi:32")
[[nodiscard]] bool is_later_value(std::string_view option, std::string_view value);

/// \throws UsageError saying that the command is not available in this build
[[noreturn]] void refuse_command(std::string_view word);
[[noreturn]] void refuse_option(std::string_view option);
/// \param available the values that this build has, for the message
[[noreturn]] void refuse_value(std::string_view option, std::string_view value, std::string_view available);

}  // namespace tessera::cli
