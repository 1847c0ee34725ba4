#include "support/machine_speed.hpp"

#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tessera::support {

MemorySpeed measure_memory_speed(std::uint64_t working_set, std::uint64_t most_bytes, const Device& host) {
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  constexpr std::uint64_t most = std::uint64_t{64} << 20;
  constexpr std::uint64_t page = 4096;
  std::uint64_t bytes = std::clamp(working_set, least, most);
  if (most_bytes != 0) bytes = std::max(std::min(bytes, most_bytes), page);
  const auto n = static_cast<std::int64_t>(bytes / (2 * sizeof(double)));
  Array<double> x(n, Init::zero);
  Array<double> y(n, Init::zero);
  constexpr double enough_ms = 20.0;
  constexpr std::size_t least_rounds = 3;
  constexpr double factor = 0.5;
  std::vector<double> rounds;
  const Stopwatch all;
  // The first round brings the pages.
  for (std::size_t round = 0; round <= least_rounds || all.milliseconds() < enough_ms; ++round) {
    const Stopwatch watch;
    host::parallel_for(host, n, [source = x.data(), target = y.data()](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) target[i] += factor * source[i];
    });
    if (round > 0) rounds.push_back(watch.milliseconds());
  }
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end());
  constexpr double vectors_moved = 3.0;
  constexpr double ms_per_second = 1e3;
  constexpr double clock_ms = 1e-6;
  const double moved = vectors_moved * static_cast<double>(n) * sizeof(double);
  return {ms_per_second * moved / std::max(*middle, clock_ms), bytes, host.threads()};
}

}  // namespace tessera::support
