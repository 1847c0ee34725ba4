#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Device, HostThreads) {
  EXPECT_EQ(Device{}.threads(), default_host_threads().count);
  EXPECT_EQ(Device::host().threads(), default_host_threads().count);
  EXPECT_EQ(Device::host(3).threads(), 3);
  EXPECT_EQ(Device::host(4096).threads(), 4096);
  EXPECT_THROW(static_cast<void>(Device::host(-1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(Device::host(4097)), InvalidArgument);
}

TEST(Device, NamesAndPlaces) {
  EXPECT_TRUE(Device{}.is_host());
  EXPECT_EQ(Device{}.name(), "host");
  EXPECT_EQ(Device::host(1), Device::host(2));
  EXPECT_EQ(Device::parse("host"), Device{});
  EXPECT_EQ(Device::parse("auto"), Device::best());
}

TEST(Device, WordsThatAreNoDevice) {
  for (const char* text : {"", "gpu", "Host", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999", "host:2"}) {
    EXPECT_THROW(static_cast<void>(Device::parse(text)), InvalidArgument) << text;
  }
  EXPECT_THROW(static_cast<void>(Device::cuda(-1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(Device::parse("cuda:4000")), DeviceUnavailable);
}

TEST(Device, SurveyExplainsItself) {
  const CudaSurvey survey = survey_cuda();
  EXPECT_EQ(survey.devices.empty(), !survey.problem.empty());
  if (!survey.compiled_in) {
    EXPECT_TRUE(survey.devices.empty());
    EXPECT_EQ(survey.runtime_version, 0);
  }
}

}  // namespace
}  // namespace tessera
