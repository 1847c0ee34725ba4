#include "compare/timing.hpp"
#include "tessera/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tessera::compare {
namespace {

TimingOptions rounds(int count) {
  TimingOptions options;
  options.warmup = 0;
  options.min_rounds = count;
  options.max_rounds = count;
  return options;
}

TEST(SummariseTest, InterpolatesOrderStatistics) {
  const std::vector<double> samples{4.0, 1.0, 3.0, 2.0};
  const TimingSummary summary = summarise(samples);
  EXPECT_EQ(summary.count, 4);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(summary.upper_quartile, 3.25);
  EXPECT_DOUBLE_EQ(summary.min, 1.0);
  EXPECT_DOUBLE_EQ(summary.max, 4.0);
  EXPECT_DOUBLE_EQ(summary.noise(), 0.6);
}

TEST(SummariseTest, TakesOneSampleOrNone) {
  EXPECT_EQ(summarise({}).count, 0);
  EXPECT_EQ(summarise({}).noise(), 0.0);
  const std::vector<double> one{7.0};
  EXPECT_EQ(summarise(one).median, 7.0);
  EXPECT_EQ(summarise(one).upper_quartile, 7.0);
}

TEST(TimeInterleavedTest, EveryRoundRunsEveryCandidateOnceInVaryingOrder) {
  std::string trace;
  const std::vector<TimingCandidate> candidates{
      {"a", [&] { trace += 'a'; }, [] {}}, {"b", [&] { trace += 'b'; }, [] {}}, {"c", [&] { trace += 'c'; }, [] {}}};
  const TimingSamples samples = time_interleaved(candidates, rounds(40));
  ASSERT_EQ(samples.size(), 3U);
  for (const auto& each : samples) EXPECT_EQ(each.size(), 40U);
  ASSERT_EQ(trace.size(), 120U);
  int in_first_order = 0;
  for (std::size_t i = 0; i < trace.size(); i += 3) {
    std::string round = trace.substr(i, 3);
    in_first_order += round == trace.substr(0, 3) ? 1 : 0;
    std::sort(round.begin(), round.end());
    EXPECT_EQ(round, "abc");
  }
  EXPECT_LT(in_first_order, 20);  // of 40, with 6 orders: about 7
}

TEST(TimeInterleavedTest, TheOrderDependsOnTheSeedAlone) {
  const auto trace_of = [](std::uint64_t seed) {
    std::string trace;
    const std::vector<TimingCandidate> candidates{{"a", [&] { trace += 'a'; }, [] {}},
                                                  {"b", [&] { trace += 'b'; }, [] {}}};
    TimingOptions options = rounds(30);
    options.seed = seed;
    (void)time_interleaved(candidates, options);
    return trace;
  };
  EXPECT_EQ(trace_of(1), trace_of(1));
  EXPECT_NE(trace_of(1), trace_of(2));
}

TEST(TimeInterleavedTest, SamplesAreMilliseconds) {
  const std::vector<TimingCandidate> candidates{
      {"sleeps 3 ms", [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }, {}}};
  const TimingSamples samples = time_interleaved(candidates, rounds(3));
  for (const double ms : samples[0]) EXPECT_GE(ms, 3.0);
}

TEST(TimeInterleavedTest, ShortRunsAreRepeatedWithinASampleUnlessSomethingGoesBeforeEach) {
  int short_runs = 0;
  int prepared_runs = 0;
  int preparations = 0;
  const std::vector<TimingCandidate> candidates{{"short", [&] { ++short_runs; }, {}},
                                                {"prepared", [&] { ++prepared_runs; }, [&] { ++preparations; }}};
  TimingOptions options = rounds(2);
  options.warmup = 1;
  (void)time_interleaved(candidates, options);
  EXPECT_GT(short_runs, 20);
  EXPECT_EQ(prepared_runs, 3);
  EXPECT_EQ(preparations, 3);
}

TEST(TimeInterleavedTest, GoesOnForTheTimeAskedAndEndsAtTheLimit) {
  const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  const std::vector<TimingCandidate> candidates{{"nap", nap, {}}};
  TimingOptions options;
  options.warmup = 0;
  options.min_rounds = 1;
  options.min_seconds = 0.03;
  options.max_seconds = 0.03;
  options.noise = 0.0;
  const std::size_t count = time_interleaved(candidates, options)[0].size();
  EXPECT_GE(count, 2U);
  EXPECT_LE(count, 31U);  // each takes at least 1 ms
  options.max_rounds = 2;
  EXPECT_LE(time_interleaved(candidates, options)[0].size(), 2U);
}

/// A sample is what the clock says of all its runs together.
TEST(TimeInterleavedTest, TakesTheClockThatItIsGiven) {
  int runs = 0;
  TimingOptions options;
  options.warmup = 1;
  options.min_rounds = options.max_rounds = 4;
  options.min_seconds = 0.0;
  options.min_sample_ms = 6.0;
  options.clock = [&runs](const std::function<void()>& work) {
    const int before = runs;
    work();
    return 2.0 * (runs - before);
  };
  const std::vector<TimingCandidate> candidates{{"two", [&runs] { ++runs; }, {}}};
  EXPECT_EQ(time_interleaved(candidates, options), TimingSamples{std::vector<double>(4, 2.0)});
  EXPECT_EQ(runs, 1 + 4 * 3);
}

TEST(TimingClockTest, OfTheHostIsTheClockOnTheWall) {
  const double elapsed = timing_clock(Device{})([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  EXPECT_GE(elapsed, 20.0);
  EXPECT_LT(elapsed, 10'000.0);
}

TEST(TimeInterleavedTest, EndsEarlyWhenAskedTo) {
  int runs = 0;
  const std::vector<TimingCandidate> candidates{{"a", [&] { ++runs; }, [] {}}};
  TimingOptions options = rounds(100);
  options.stop_early = [&] { return runs == 3; };
  EXPECT_EQ(time_interleaved(candidates, options)[0].size(), 3U);
}

TEST(TimeInterleavedTest, RefusesOptionsOutOfRange) {
  const std::vector<TimingCandidate> candidates{{"a", [] {}, {}}};
  const auto refuses = [&](auto&& change) {
    TimingOptions options;
    change(options);
    EXPECT_THROW((void)time_interleaved(candidates, options), InvalidArgument);
  };
  refuses([](TimingOptions& o) { o.warmup = -1; });
  refuses([](TimingOptions& o) { o.min_rounds = 0; });
  refuses([](TimingOptions& o) { o.max_rounds = 1; });
  refuses([](TimingOptions& o) { o.min_seconds = std::numeric_limits<double>::quiet_NaN(); });
  refuses([](TimingOptions& o) { o.max_seconds = 0.1; });
  refuses([](TimingOptions& o) { o.noise = -0.1; });
  const std::vector<TimingCandidate> empty_run{{"nothing", {}, {}}};
  EXPECT_THROW((void)time_interleaved(empty_run), InvalidArgument);
  EXPECT_TRUE(time_interleaved({}).empty());
}

TEST(TimeInterleavedTest, AnExceptionReachesTheCaller) {
  const std::vector<TimingCandidate> candidates{{"throws", [] { throw std::runtime_error("broken"); }, {}}};
  EXPECT_THROW((void)time_interleaved(candidates), std::runtime_error);
}

TEST(MedianRatioTest, TheIntervalHoldsTheRatioAndShrinksWithTheNoise) {
  std::vector<double> calm;
  std::vector<double> wild;
  for (int i = 0; i < 50; ++i) {
    calm.push_back(2.0 + 1e-6 * (i % 7));
    wild.push_back(1.0 + 0.1 * (i % 7));
  }
  const TimingRatio self = median_ratio(calm, calm);
  EXPECT_DOUBLE_EQ(self.ratio, 1.0);
  EXPECT_NEAR(self.low, 1.0, 1e-5);
  EXPECT_NEAR(self.high, 1.0, 1e-5);
  const TimingRatio against_wild = median_ratio(calm, wild);
  EXPECT_NEAR(against_wild.ratio, 2.0 / 1.3, 1e-5);
  EXPECT_LT(against_wild.low, against_wild.ratio);
  EXPECT_GT(against_wild.high, against_wild.ratio);
  EXPECT_GT(against_wild.low, 2.0 / 1.6);
  EXPECT_LT(against_wild.high, 2.0 / 1.0);
}

TEST(MedianRatioTest, RefusesWhatHasNoRatio) {
  const std::vector<double> zero{0.0};
  const std::vector<double> one{1.0};
  EXPECT_THROW((void)median_ratio({}, one), InvalidArgument);
  EXPECT_THROW((void)median_ratio(one, {}), InvalidArgument);
  EXPECT_THROW((void)median_ratio(one, zero), InvalidArgument);
}

}  // namespace
}  // namespace tessera::compare
