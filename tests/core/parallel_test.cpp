#include "core/parallel.hpp"
#include "tests/support/small_grain.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace tessera::host {
namespace {

constexpr std::int64_t lengths[] = {0,    1,    2,     2047,   2048,   2049,   4096,   8191,
                                    8192, 8193, 65537, 524287, 524288, 524289, 1000003};
constexpr int thread_counts[] = {1, 2, 3, 7, 64};

TEST(Parallel, PartsCoverTheRange) {
  for (const std::int64_t n : lengths) {
    for (const std::int64_t parts : {1, 2, 3, 256}) {
      std::int64_t next = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Range range = part_of(n, parts, part);
        ASSERT_EQ(range.begin, next);
        ASSERT_LE(std::abs(range.size() * parts - n), parts);
        next = range.end;
      }
      ASSERT_EQ(next, n);
    }
  }
  EXPECT_EQ(part_of(std::int64_t{1} << 52, 1024, 1023).end, std::int64_t{1} << 52);
}

TEST(Parallel, ForVisitsEveryIndexOnce) {
  for (const int threads : thread_counts) {
    for (const std::int64_t n : lengths) {
      std::vector<int> visits(static_cast<std::size_t>(n));
      parallel_for(Device::host(threads), n, [&](Range range) {
        for (auto i = range.begin; i < range.end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n);
    }
  }
}

TEST(Parallel, TasksVisitEveryNumberOnce) {
  for (const int threads : thread_counts) {
    for (const std::int64_t n : {0, 1, 2, 1000}) {
      std::vector<int> visits(static_cast<std::size_t>(n));
      parallel_tasks(Device::host(threads), n, [&](std::int64_t i) { ++visits[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n);
    }
  }
}

/// 1/(i+1) with alternating scales: any other order of summation gives other bits.
double term(std::int64_t i) { return std::ldexp(1.0 / static_cast<double>(i + 1), i % 2 == 0 ? 20 : 0); }

TEST(Parallel, SumIsBitwiseEqualForEveryNumberOfThreads) {
  for (const std::int64_t n : lengths) {
    const auto sum = [&](int threads) {
      return parallel_sum<double>(Device::host(threads), n, [](Range range) {
        double partial = 0;
        for (std::int64_t i = range.begin; i < range.end; ++i) partial += term(i);
        return partial;
      });
    };
    const double one = sum(1);
    long double exact = 0;
    for (std::int64_t i = 0; i < n; ++i) exact += static_cast<long double>(term(i));
    EXPECT_NEAR(one, static_cast<double>(exact), 1e-12 * static_cast<double>(exact));
    for (const int threads : thread_counts) {
      const double other = sum(threads);
      EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0) << n << " terms, " << threads << " threads";
    }
  }
}

TEST(Parallel, SmallGrainSharesSmallLoops) {
  EXPECT_EQ(threads_for(Device::host(4), 64), 1);
  EXPECT_EQ(sum_chunks(64), 1);
  const auto sum = [](int threads, std::int64_t n) {
    return parallel_sum<double>(Device::host(threads), n, [](Range range) {
      double partial = 0;
      for (std::int64_t i = range.begin; i < range.end; ++i) partial += term(i);
      return partial;
    });
  };
  {
    const testing::SmallGrain grain;
    EXPECT_EQ(threads_for(Device::host(4), 64), 4);
    EXPECT_EQ(sum_chunks(64), 32);
    EXPECT_EQ(sum_chunks(0), 1);
    EXPECT_EQ(sum_chunks(1'000'000), max_sum_chunks);
    for (const std::int64_t n : {1, 2, 3, 17, 64, 1000}) {
      const double one = sum(1, n);
      for (const int threads : thread_counts)
        EXPECT_EQ(sum(threads, n), one) << n << " terms, " << threads << " threads";
      std::vector<int> visits(static_cast<std::size_t>(n));
      parallel_for(Device::host(7), n, [&](Range range) {
        for (auto i = range.begin; i < range.end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), n);
    }
  }
  EXPECT_EQ(threads_for(Device::host(4), 64), 1) << "as before";
}

}  // namespace
}  // namespace tessera::host
