/// \file
/// Base of tests that need a GPU: they skip, with the reason, where there is none.
#pragma once

#include "tessera/device.hpp"

#include <gtest/gtest.h>

namespace tessera::testing {

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
