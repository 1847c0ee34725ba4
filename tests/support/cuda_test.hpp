/// \file
/// Base of tests that need a GPU: they skip, with the reason, where there is none.
#pragma once

#include "tessera/device.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace tessera::testing {

#ifdef TESSERA_EMULATED_GPU
inline constexpr bool gpu_is_emulated = true;
#else
inline constexpr bool gpu_is_emulated = false;
#endif

/// Whether the environment asks for fewer cases, as under a sanitizer.
[[nodiscard]] inline bool sparing() { return std::getenv("TESSERA_SPARING_TESTS") != nullptr; }

/// How often to do what is done many times on a GPU; an emulated one is slow.
[[nodiscard]] inline int repetitions(int on_gpu, int emulated) {
  return gpu_is_emulated || sparing() ? emulated : on_gpu;
}

/// Whether to leave out a pair of cases: when sparing, each first one meets one second one only.
[[nodiscard]] inline bool is_spared(std::size_t first, std::size_t second, std::size_t seconds) {
  return sparing() && first % seconds != second;
}

/// Whether tests leave out a real matrix because an emulated GPU would take minutes.
[[nodiscard]] constexpr bool is_too_large_here(std::int64_t nnz, std::int64_t limit = 20000) {
  return gpu_is_emulated && nnz > limit;
}

/// Whether a GPU can be used; if not, `why` says what is missing.
inline bool has_gpu(std::string& why) {
  const CudaSurvey survey = survey_cuda();
  for (const CudaDeviceInfo& gpu : survey.devices) {
    if (gpu.has_machine_code) return true;
  }
  why = survey.problem.empty() ? "no GPU that this build has machine code for" : survey.problem;
  return false;
}

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!has_gpu(why)) GTEST_SKIP() << "needs a GPU: " << why;
  }
  [[nodiscard]] static Device gpu() { return Device::cuda(0); }
};

}  // namespace tessera::testing
