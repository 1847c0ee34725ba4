#include "unread_settings.hpp"

#include "option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace tessera::cli {

namespace {

/// "SOLVE_MAX_ITERS" from "max-iters".
std::string variable_of(std::string_view option) {
  std::string name = "SOLVE_";
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace

Warnings unread_settings() {
  std::set<std::string> names;
  for (const OptionSpec& spec : option_table()) names.insert(variable_of(spec.name));
  Warnings warnings;
  for (const std::string& name : names) {
    if (std::getenv(name.c_str()) == nullptr) continue;
    warnings.push_back({"W007", fmt::format("the environment variable {} is not read by this build; give the option on "
                                            "the command line",
                                            name)});
  }
  std::error_code ignored;
  if (std::filesystem::exists("solve.toml", ignored)) {
    warnings.push_back({"W007", "./solve.toml is not read by this build; give its options on the command line"});
  }
  return warnings;
}

}  // namespace tessera::cli
