/// \file
/// A command line that cannot be carried out as written.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace tessera::cli {

/// Ends the program with exit code 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}

  /// What to type instead; may be empty.
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

 private:
  std::string hint_;
};

/// A value that an option does not take. Where the value came from (a file, the environment) is added by the program.
class OptionError : public UsageError {
 public:
  OptionError(std::string option, const std::string& message, std::string hint = {})
      : UsageError(message, std::move(hint)), option_(std::move(option)) {}

  /// Long name without dashes.
  [[nodiscard]] const std::string& option() const noexcept { return option_; }

 private:
  std::string option_;
};

}  // namespace tessera::cli
