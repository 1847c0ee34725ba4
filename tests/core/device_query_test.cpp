/// The survey of GPUs must be consistent, on machines with and without GPUs.

#include "core/cuda/device_query.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/version.hpp"

#include <gtest/gtest.h>

namespace tessera {

namespace {

TEST(DeviceQuery, KnowsWhetherTheBackendIsCompiledIn) {
  const CudaSurvey survey = survey_cuda();
  EXPECT_EQ(survey.compiled_in, build_info().cuda != "none");
  EXPECT_EQ(survey.compiled_in, survey.runtime_version != 0);
}

TEST(DeviceQuery, NoDeviceComesWithAReason) {
  const CudaSurvey survey = survey_cuda();
  EXPECT_TRUE(!survey.devices.empty() || !survey.problem.empty());
}

TEST(DeviceQuery, DescribesEveryDevice) {
  const CudaSurvey survey = survey_cuda();
  if (survey.devices.empty()) GTEST_SKIP() << "no GPU: " << survey.problem;
  EXPECT_TRUE(survey.problem.empty()) << survey.problem;
  EXPECT_GE(survey.driver_version, survey.runtime_version);
  for (std::size_t i = 0; i < survey.devices.size(); ++i) {
    const CudaDeviceInfo& device = survey.devices[i];
    EXPECT_EQ(device.ordinal, static_cast<int>(i));
    EXPECT_FALSE(device.name.empty());
    EXPECT_GE(device.compute_major, 5);
    EXPECT_GT(device.multiprocessors, 0);
    EXPECT_GT(device.memory_free_bytes, 0U);
    EXPECT_LE(device.memory_free_bytes, device.memory_total_bytes);
    EXPECT_GT(device.l2_bytes, 0U);
  }
}

TEST(DeviceQuery, AGpuThatIsNotThereIsRefusedWithTheReason) {
  const CudaSurvey survey = survey_cuda();
  if (!survey.devices.empty()) GTEST_SKIP() << "this machine has a GPU";
  try {
    static_cast<void>(Device::parse("cuda:0"));
    FAIL() << "a GPU was given out";
  } catch (const DeviceUnavailable& error) {
    EXPECT_EQ(error.what(), "device cuda:0 cannot be used: " + survey.problem);
  }
  EXPECT_TRUE(Device::best().is_host());
}

}  // namespace

}  // namespace tessera
