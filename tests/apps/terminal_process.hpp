/// \file
/// Runs a program on a pseudo-terminal of a given width, as a person would see it.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::testing {

struct TerminalOptions {
  unsigned short columns = 80;
  std::filesystem::path directory;       ///< to run in
  std::vector<std::string> environment;  ///< "NAME=value", besides that of the test without GPUs, NO_COLOR and COLUMNS
  std::string keys;                      ///< typed once `after` is on the screen: "\x03" is Ctrl-C
  std::string after;
  std::chrono::seconds timeout{60};
};

struct TerminalResult {
  int exit_code = -1;  ///< -1 when it did not exit by itself
  std::string text;    ///< standard output and standard error, lines ending in "\n"
};

[[nodiscard]] TerminalResult run_on_terminal(std::vector<std::string> arguments, const TerminalOptions& options = {});

/// The screen's lines: sequences of colour taken out, and what was redrawn after "\r" as a line of its own.
[[nodiscard]] std::vector<std::string> screen_lines(const std::string& text);

}  // namespace tessera::testing
