/// \file
/// Kernels and times in the reason of a measured choice, on any device.
#pragma once

#include "tessera/spmv.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

namespace tessera::testing {

struct MeasuredKernel {
  std::string name;
  double product_ms = 0.0;
  double build_ms = 0.0;
};

/// The kernels of a reason, in its order.
[[nodiscard]] inline std::vector<MeasuredKernel> kernels_of_reason(const std::string& reason) {
  const std::regex kernel("([a-z0-9-]+) ([0-9.e+-]+) and ([0-9.e+-]+) ms");
  std::vector<MeasuredKernel> result;
  for (std::sregex_iterator found(reason.begin(), reason.end(), kernel), end; found != end; ++found) {
    result.push_back({(*found)[1], std::stod((*found)[2]), std::stod((*found)[3])});
  }
  return result;
}

/// The plan's kernel comes first, and none that was measured takes less time, set-up and products together.
inline void expect_least_of_measured(const PlanInfo& info, std::int64_t applications, std::size_t least_kernels) {
  EXPECT_EQ(info.reason.rfind("measured", 0), 0U) << info.reason;
  const std::vector<MeasuredKernel> kernels = kernels_of_reason(info.reason);
  ASSERT_GE(kernels.size(), least_kernels) << info.reason;
  EXPECT_EQ(kernels.front().name, to_string(info.algorithm)) << info.reason;
  const auto total = [&](const MeasuredKernel& kernel) {
    return kernel.build_ms + static_cast<double>(applications) * kernel.product_ms;
  };
  for (const MeasuredKernel& kernel : kernels) {
    // Three digits are printed.
    EXPECT_LE(total(kernels.front()), 1.02 * total(kernel)) << info.reason;
  }
}

}  // namespace tessera::testing
