/// \file
/// Calls by four threads at once against those by one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace tessera::testing {

inline constexpr int threads = 4;

/// Calls of each thread.
[[nodiscard]] inline int rounds(int usual = 8) {
  const char* const given = std::getenv("TESSERA_THREAD_ROUNDS");  // NOLINT(concurrency-mt-unsafe)
  return given == nullptr ? usual : std::atoi(given);
}

/// body(t) on four threads at once.
template <class Body>
void on_threads(const Body& body) {
  std::atomic<int> ready{0};
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      ++ready;
      while (ready.load() < threads) std::this_thread::yield();
      body(t);
    });
  }
  for (std::thread& each : all) each.join();
}

/// Whether two results differ by more than `tolerance`, or in a NaN.
[[nodiscard]] inline bool differ(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  return !std::equal(a.begin(), a.end(), b.begin(), b.end(),
                     [&](double x, double y) { return std::abs(x - y) <= tolerance; });
}

/// The result of call(t), which threads t may run at the same time: all calls give the bits of the first one, alone, or
/// are as near to it as `tolerance`.
template <class Call>
void expect_results_of_one(const std::string& name, const Call& call, int calls = rounds(), double tolerance = 0.0) {
  std::vector<std::vector<double>> alone;
  alone.reserve(threads);
  for (int t = 0; t < threads; ++t) alone.push_back(call(t));
  std::atomic<int> wrong{0};
  on_threads([&](int t) {
    for (int k = 0; k < calls; ++k) {
      const int which = (t + k) % threads;
      if (differ(call(which), alone[static_cast<std::size_t>(which)], tolerance)) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0) << name;
}

}  // namespace tessera::testing
