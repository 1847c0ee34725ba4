#include "messages.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace tessera::cli {

void print_failure(const Failure& failure) {
  write_stderr(fmt::format("solve: error: {}\n", failure.message));
  if (!failure.hint.empty()) write_stderr(fmt::format("  hint: {}\n", failure.hint));
}

void print_warnings(const support::Warnings& warnings) {
  for (const support::Warning& warning : warnings) write_stderr(fmt::format("solve: warning: {}\n", warning.text));
}

void write_stderr(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace tessera::cli
