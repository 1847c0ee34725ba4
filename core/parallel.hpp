/// \file
/// Loops and sums over the threads of the host. Functions passed in must not throw.
///
/// A sum is cut into chunks that depend only on its length; they are added in a fixed order. So the result is bitwise
/// the same for every number of threads.
#pragma once

#include "tessera/device.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::host {

/// Half-open range of indices.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] constexpr std::int64_t size() const noexcept { return end - begin; }
};

/// Part `part` of `parts` nearly equal parts of [0, n), for n up to 2^52 and parts up to 2^10.
[[nodiscard]] constexpr Range part_of(std::int64_t n, std::int64_t parts, std::int64_t part) noexcept {
  return {n * part / parts, n * (part + 1) / parts};
}

/// Below so many items, starting threads costs more than it saves.
inline constexpr std::int64_t serial_threshold = 8192;

/// body(i) for i in [0, count), scheduled dynamically; each i should be substantial work.
template <class Body>
void parallel_tasks(const Device& device, std::int64_t count, Body&& body) {
  [[maybe_unused]] const int threads = static_cast<int>(std::min<std::int64_t>(device.threads(), count));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) if (threads > 1)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

/// body(Range) over [0, n), one contiguous range per thread.
template <class Body>
void parallel_for(const Device& device, std::int64_t n, Body&& body) {
  const int threads = n < serial_threshold ? 1 : std::max(1, device.threads());
  if (threads == 1) {
    body(Range{0, n});
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t) body(part_of(n, threads, t));
}

inline constexpr std::int64_t max_sum_chunks = 256;

/// Number of chunks of a sum of n terms; a function of n only.
[[nodiscard]] constexpr std::int64_t sum_chunks(std::int64_t n) noexcept {
  return std::clamp<std::int64_t>((n + 2047) / 2048, 1, max_sum_chunks);
}

/// Σ body(Range) over [0, n) in a fixed order. Does not allocate. \param body returns a Value, which has a default
/// (zero) and operator+=. body may write to its range: so vector updates are fused with norms.
template <class Value, class Body>
[[nodiscard]] Value parallel_sum(const Device& device, std::int64_t n, Body&& body) {
  const std::int64_t chunks = sum_chunks(n);
  std::array<Value, max_sum_chunks> partial;
  [[maybe_unused]] const int threads =
      n < serial_threshold ? 1 : static_cast<int>(std::min<std::int64_t>(device.threads(), chunks));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t c = 0; c < chunks; ++c) partial[static_cast<std::size_t>(c)] = body(part_of(n, chunks, c));
  Value total{};
  for (std::int64_t c = 0; c < chunks; ++c) total += partial[static_cast<std::size_t>(c)];
  return total;
}

}  // namespace tessera::host
