/// \file
/// Comparing times: candidates take turns in random order, so that a disturbance of the machine hits all alike; medians
/// and quartiles, no means; every ratio with its 95 % interval.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera::compare {

/// Runs work and returns its time in milliseconds.
using TimingClock = std::function<double(const std::function<void()>& work)>;

/// Host: the wall clock. GPU: the clock of the device, from the first operation that `work` enqueues to the end of the
/// last.
/// \throws DeviceUnavailable, CudaError; so does the clock
[[nodiscard]] TimingClock timing_clock(const Device& device);

/// Work to be timed.
struct TimingCandidate {
  std::string name;
  std::function<void()> run;     ///< timed; an exception ends the measurement and is passed on
  std::function<void()> before;  ///< called before every sample, untimed, e.g. to flush caches; may be empty
};

/// When to stop. A round is one sample of every candidate.
struct TimingOptions {
  int warmup = 2;                    ///< untimed runs of each candidate, at least 0
  int min_rounds = 5;                ///< at least 1
  int max_rounds = 1000;             ///< at least min_rounds
  double min_seconds = 0.5;          ///< least total time, unless max_rounds are done
  double max_seconds = 5.0;          ///< most total time after min_rounds, even when noisy
  double noise = 0.01;               ///< stop when interquartile range / median of every candidate is below
  double min_sample_ms = 0.05;       ///< shorter runs are repeated within a sample (not when `before` is set)
  std::uint64_t seed = 42;           ///< of the order within rounds
  TimingClock clock;                 ///< measures a sample; empty: the wall clock
  std::function<bool()> stop_early;  ///< asked between samples; true ends the measurement; may be empty
};

/// samples[c][i]: milliseconds per run of candidate c in round i. All have equally many samples, unless stop_early
/// ended the measurement within a round.
using TimingSamples = std::vector<std::vector<double>>;

/// Times all candidates in turn.
/// \throws InvalidArgument for options out of range or a candidate without `run`
[[nodiscard]] TimingSamples time_interleaved(std::span<const TimingCandidate> candidates,
                                             const TimingOptions& options = {});

/// Order statistics of samples in ms, interpolated linearly between neighbours.
struct TimingSummary {
  std::int64_t count = 0;
  double median = 0.0;
  double lower_quartile = 0.0;
  double upper_quartile = 0.0;
  double min = 0.0;
  double max = 0.0;
  /// Interquartile range over median; 0 without samples.
  [[nodiscard]] double noise() const noexcept {
    return median > 0.0 ? (upper_quartile - lower_quartile) / median : 0.0;
  }
};

/// All zero for no samples. O(n log n)
[[nodiscard]] TimingSummary summarise(std::span<const double> samples_ms);

/// A ratio of medians and its 95 % interval.
struct TimingRatio {
  double ratio = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// median(numerator) / median(denominator), with the percentile bootstrap of both (1000 resamples, seeded). A speed-up
/// of b over a is median_ratio(a, b).
/// \throws InvalidArgument when either is empty or the denominator's median is not positive
[[nodiscard]] TimingRatio median_ratio(std::span<const double> numerator_ms, std::span<const double> denominator_ms,
                                       std::uint64_t seed = 42);

}  // namespace tessera::compare
