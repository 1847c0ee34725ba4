#include "unread_settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace tessera::cli {

Warnings unread_settings() {
  constexpr std::string_view prefix = "SOLVE_";
  Warnings warnings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with(prefix)) continue;
    warnings.push_back({"W007", fmt::format("the environment variable {} is not read by this build; give the option on "
                                            "the command line",
                                            variable.substr(0, variable.find('=')))});
  }
  std::error_code ignored;
  if (std::filesystem::exists("solve.toml", ignored)) {
    warnings.push_back({"W007", "./solve.toml is not read by this build; give its options on the command line"});
  }
  return warnings;
}

}  // namespace tessera::cli
