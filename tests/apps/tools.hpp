/// \file
/// Programs that some tests need and a machine may lack: such a test skips, unless TESSERA_REQUIRE_TOOLS is set (CI).
#pragma once

#include "process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tessera::testing {

/// Whether `command` can be run and exits with 0.
[[nodiscard]] inline bool tool_works(const std::vector<std::string>& command) {
  std::vector<std::string> arguments{"/usr/bin/env"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return run_process(arguments).exit_code == 0;
}

}  // namespace tessera::testing

// A macro, since GTEST_SKIP returns from the test that it stands in.
#define TESSERA_NEED_TOOL(package, ...)                                                          \
  if (!tessera::testing::tool_works({__VA_ARGS__})) {                                            \
    if (std::getenv("TESSERA_REQUIRE_TOOLS") != nullptr) FAIL() << package << " is needed here"; \
    GTEST_SKIP() << package << " is not installed";                                              \
  }                                                                                              \
  static_assert(true)
