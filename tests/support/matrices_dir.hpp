/// \file
/// Where the real matrices lie. Tests that need them skip, and say why, when TESSERA_TEST_DATA is unset.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::testing {

[[nodiscard]] inline std::optional<std::filesystem::path> real_matrices_dir() {
  const char* value = std::getenv("TESSERA_TEST_DATA");
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::filesystem::path(value);
}

/// All *.mtx.gz files, sorted by name.
[[nodiscard]] inline std::vector<std::filesystem::path> real_matrix_files() {
  std::vector<std::filesystem::path> files;
  const auto dir = real_matrices_dir();
  if (!dir) return files;
  for (const auto& entry : std::filesystem::directory_iterator(*dir)) {
    if (entry.path().filename().string().ends_with(".mtx.gz")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// "bcsstk13" from ".../bcsstk13.mtx.gz".
[[nodiscard]] inline std::string matrix_name(const std::filesystem::path& file) { return file.stem().stem().string(); }

}  // namespace tessera::testing

/// First line of a test that reads real matrices.
#define TESSERA_REQUIRE_REAL_MATRICES()                                            \
  do {                                                                             \
    if (!::tessera::testing::real_matrices_dir()) {                                \
      GTEST_SKIP() << "TESSERA_TEST_DATA is unset: no directory of real matrices"; \
    }                                                                              \
  } while (false)
