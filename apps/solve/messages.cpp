#include "messages.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace tessera::cli {

void print_failure(const Failure& failure) {
  fmt::print(stderr, "solve: error: {}\n", failure.message);
  if (!failure.hint.empty()) fmt::print(stderr, "  hint: {}\n", failure.hint);
}

void print_warnings(const Warnings& warnings) {
  for (const Warning& warning : warnings) fmt::print(stderr, "solve: warning: {}\n", warning.text);
}

}  // namespace tessera::cli
