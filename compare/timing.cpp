#include "compare/timing.hpp"

#include "core/cuda/device_query.hpp"
#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::compare {

namespace {

void check(std::span<const TimingCandidate> candidates, const TimingOptions& options) {
  if (options.warmup < 0) throw InvalidArgument(fmt::format("warmup must not be negative, got {}", options.warmup));
  if (options.min_rounds < 1 || options.max_rounds < options.min_rounds) {
    throw InvalidArgument(fmt::format("1 <= min_rounds <= max_rounds is required, got {} and {}", options.min_rounds,
                                      options.max_rounds));
  }
  // Written so that NaN is refused.
  if (!(options.min_seconds >= 0.0) || !(options.max_seconds >= options.min_seconds)) {
    throw InvalidArgument(fmt::format("0 <= min_seconds <= max_seconds is required, got {} and {}", options.min_seconds,
                                      options.max_seconds));
  }
  if (!(options.noise >= 0.0) || !(options.min_sample_ms >= 0.0)) {
    throw InvalidArgument(fmt::format("noise and min_sample_ms must not be negative, got {} and {}", options.noise,
                                      options.min_sample_ms));
  }
  for (const TimingCandidate& candidate : candidates) {
    if (!candidate.run) throw InvalidArgument(fmt::format("nothing to time for '{}'", candidate.name));
  }
}

double wall_clock(const std::function<void()>& work) {
  const Stopwatch watch;
  work();
  return watch.milliseconds();
}

/// A candidate with the number of runs that make a sample long enough for the clock.
struct TimedRuns {
  const TimingCandidate* candidate;
  const TimingClock* clock;
  int runs = 1;

  [[nodiscard]] double sample() const {
    if (candidate->before) candidate->before();
    const auto work = [this] {
      for (int i = 0; i < runs; ++i) candidate->run();
    };
    return (*clock)(work) / runs;
  }

  void warm_up(const TimingOptions& options) {
    double fastest = options.min_sample_ms;
    for (int i = 0; i < options.warmup; ++i) fastest = std::min(fastest, sample());
    if (candidate->before || options.warmup == 0) return;
    runs = static_cast<int>(std::ceil(options.min_sample_ms / std::max(fastest, 1e-5)));
    runs = std::max(runs, 1);
  }
};

bool all_quiet(const TimingSamples& samples, double noise) {
  return std::all_of(samples.begin(), samples.end(),
                     [noise](const std::vector<double>& each) { return summarise(each).noise() <= noise; });
}

bool enough(const TimingSamples& samples, int rounds, double seconds, const TimingOptions& options) {
  if (rounds < options.min_rounds) return false;
  if (rounds >= options.max_rounds || seconds >= options.max_seconds) return true;
  return seconds >= options.min_seconds && all_quiet(samples, options.noise);
}

/// Fisher-Yates with our own random numbers: the standard library's shuffle differs between implementations.
void shuffle(std::vector<std::size_t>& order, detail::SplitMix64& random) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
}

/// Value at rank `fraction` of the way through sorted samples.
double quantile(std::span<const double> sorted, double fraction) {
  const double rank = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median_of_resample(std::span<const double> samples, std::vector<double>& work, detail::SplitMix64& random) {
  work.resize(samples.size());
  for (double& value : work) value = samples[random.next() % samples.size()];
  std::sort(work.begin(), work.end());
  return quantile(work, 0.5);
}

}  // namespace

TimingClock timing_clock(const Device& device) {
  if (device.is_host()) return wall_clock;
  return cuda::event_clock(device);
}

TimingSamples time_interleaved(std::span<const TimingCandidate> candidates, const TimingOptions& options) {
  check(candidates, options);
  TimingSamples samples(candidates.size());
  if (candidates.empty()) return samples;
  const auto stopped = [&] { return options.stop_early && options.stop_early(); };
  const TimingClock clock = options.clock ? options.clock : wall_clock;
  std::vector<TimedRuns> runs;
  for (const TimingCandidate& candidate : candidates) {
    if (stopped()) return samples;
    runs.push_back({&candidate, &clock});
    runs.back().warm_up(options);
  }
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  detail::SplitMix64 random(options.seed);
  const Stopwatch watch;
  for (int round = 0; !enough(samples, round, watch.seconds(), options); ++round) {
    shuffle(order, random);
    for (const std::size_t c : order) {
      if (stopped()) return samples;
      samples[c].push_back(runs[c].sample());
    }
  }
  return samples;
}

TimingSummary summarise(std::span<const double> samples_ms) {
  if (samples_ms.empty()) return {};
  std::vector<double> sorted(samples_ms.begin(), samples_ms.end());
  std::sort(sorted.begin(), sorted.end());
  TimingSummary summary;
  summary.count = static_cast<std::int64_t>(sorted.size());
  summary.median = quantile(sorted, 0.5);
  summary.lower_quartile = quantile(sorted, 0.25);
  summary.upper_quartile = quantile(sorted, 0.75);
  summary.min = sorted.front();
  summary.max = sorted.back();
  return summary;
}

TimingRatio median_ratio(std::span<const double> numerator_ms, std::span<const double> denominator_ms,
                         std::uint64_t seed) {
  if (numerator_ms.empty() || denominator_ms.empty()) throw InvalidArgument("a ratio of times needs samples of both");
  const double denominator = summarise(denominator_ms).median;
  if (!(denominator > 0.0)) {
    throw InvalidArgument(fmt::format("the denominator's median is {} ms, not positive", denominator));
  }
  constexpr int resamples = 1000;
  detail::SplitMix64 random(seed);
  std::vector<double> work;
  std::vector<double> ratios;
  ratios.reserve(resamples);
  for (int i = 0; i < resamples; ++i) {
    const double above = median_of_resample(numerator_ms, work, random);
    const double below = median_of_resample(denominator_ms, work, random);
    if (below > 0.0) ratios.push_back(above / below);
  }
  std::sort(ratios.begin(), ratios.end());
  const double ratio = summarise(numerator_ms).median / denominator;
  if (ratios.empty()) return {ratio, ratio, ratio};
  return {ratio, quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

}  // namespace tessera::compare
