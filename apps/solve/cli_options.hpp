/// \file
/// The command line, taken apart but not yet understood.
#pragma once

#include "option_table.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// What was typed. Every option present applies to the command.
class Options {
 public:
  Options(Command command, std::vector<std::string> words, std::map<std::string, std::string, std::less<>> values,
          std::map<std::string, int, std::less<>> flags)
      : command_(command), words_(std::move(words)), values_(std::move(values)), flags_(std::move(flags)) {}

  [[nodiscard]] Command command() const noexcept { return command_; }
  /// Bare words after the command: the matrix, the topic of list.
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  [[nodiscard]] bool given(std::string_view name) const {
    return values_.find(name) != values_.end() || flag_count(name) > 0;
  }
  [[nodiscard]] int flag_count(std::string_view name) const {
    const auto found = flags_.find(name);
    return found == flags_.end() ? 0 : found->second;
  }
  [[nodiscard]] bool flag(std::string_view name) const { return flag_count(name) > 0; }
  /// The text typed, else the default, else nothing.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;

 private:
  Command command_;
  std::vector<std::string> words_;
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, int, std::less<>> flags_;
};

/// \param arguments without the program's name
/// \throws UsageError for everything that this build does not know or that does not apply to the command
[[nodiscard]] Options parse_command_line(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
