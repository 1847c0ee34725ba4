/// \file
/// Loops and sums over the threads of the host. Functions passed in must not throw.
///
/// A sum is cut into chunks that depend only on its length; they are added in a fixed order. So the result is bitwise
/// the same for every number of threads.
#pragma once

#include "core/grain.hpp"
#include "core/thread_team.hpp"
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

/// Work that is worth a thread of its own, in items of some nanoseconds, e.g. entries of a vector: to hand it over
/// costs microseconds (bench/NOTES.md).
inline constexpr std::int64_t items_per_thread = 4096;

/// Below so many items, a second thread costs more than it saves.
[[nodiscard]] inline std::int64_t serial_threshold() noexcept { return 2 * grain(items_per_thread); }

/// Threads of `device` that `items` items of work are worth.
[[nodiscard]] inline int threads_for(const Device& device, std::int64_t items) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(items / grain(items_per_thread), 1, std::max(1, device.threads())));
}

template <class Body>
void run_body(int threads, std::int64_t count, const Body& body) {
  run_tasks(
      threads, count, [](void* context, std::int64_t i) { (*static_cast<const Body*>(context))(i); },
      const_cast<Body*>(&body));
}

/// body(i) for i in [0, count), each once, by whatever thread is free. \param tasks_per_thread how many of them are
/// worth a thread
template <class Body>
void parallel_tasks(const Device& device, std::int64_t count, Body&& body, std::int64_t tasks_per_thread = 1) {
  const std::int64_t worth = std::max<std::int64_t>(1, count / grain(tasks_per_thread));
  const int threads = static_cast<int>(std::min<std::int64_t>(std::max(1, device.threads()), worth));
  run_body(threads, count, [&body](std::int64_t i) { body(i); });
}

/// body(Range) over [0, n), one contiguous range for every thread that n is worth.
template <class Body>
void parallel_for(const Device& device, std::int64_t n, Body&& body) {
  const int threads = threads_for(device, n);
  if (threads == 1) {
    body(Range{0, n});
    return;
  }
  run_body(threads, threads, [&body, n, threads](std::int64_t t) { body(part_of(n, threads, t)); });
}

inline constexpr std::int64_t max_sum_chunks = 256;

/// Terms per chunk of a sum, while there are at most max_sum_chunks.
inline constexpr std::int64_t terms_per_chunk = 2048;

/// Number of chunks of a sum of n terms; a function of n only.
[[nodiscard]] inline std::int64_t sum_chunks(std::int64_t n) noexcept {
  const std::int64_t terms = grain(terms_per_chunk);
  return std::clamp<std::int64_t>((n + terms - 1) / terms, 1, max_sum_chunks);
}

/// Σ body(Range) over [0, n) in a fixed order. Does not allocate. \param body returns a Value, which has a default
/// (zero) and operator+=. body may write to its range: so vector updates are fused with norms.
template <class Value, class Body>
[[nodiscard]] Value parallel_sum(const Device& device, std::int64_t n, Body&& body) {
  const std::int64_t chunks = sum_chunks(n);
  std::array<Value, max_sum_chunks> partial;
  run_body(threads_for(device, n), chunks,
           [&](std::int64_t c) { partial[static_cast<std::size_t>(c)] = body(part_of(n, chunks, c)); });
  Value total{};
  for (std::int64_t c = 0; c < chunks; ++c) total += partial[static_cast<std::size_t>(c)];
  return total;
}

}  // namespace tessera::host
