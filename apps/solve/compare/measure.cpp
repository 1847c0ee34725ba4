#include "compare/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tessera::cli {

std::uint64_t last_level_cache_bytes() {
  constexpr std::uint64_t unknown = std::uint64_t{64} << 20;
  const std::int64_t largest = std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  return largest > 0 ? static_cast<std::uint64_t>(largest) : unknown;
}

CacheFlusher::CacheFlusher(int threads) : threads_(std::max(threads, 1)), buffer_(bytes() / sizeof(std::uint64_t)) {}

std::uint64_t CacheFlusher::bytes() { return 2 * last_level_cache_bytes(); }

void CacheFlusher::operator()() {
  const auto words = static_cast<std::int64_t>(buffer_.size());
  // A value of its own each time: writing what is there already might be left out.
  const std::uint64_t value = ++pass_;
  std::uint64_t* data = buffer_.data();
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (std::int64_t i = 0; i < words; ++i) data[i] = value;
}

CopyYardstick::CopyYardstick(std::uint64_t bytes, int threads)
    : threads_(std::max(threads, 1)),
      source_(capped(bytes) / (2 * sizeof(std::uint64_t)) + 1, 1),
      target_(source_.size(), 0) {}

std::uint64_t CopyYardstick::capped(std::uint64_t bytes) { return std::min(bytes, std::uint64_t{512} << 20); }

void CopyYardstick::operator()() {
  const auto words = static_cast<std::int64_t>(source_.size());
  const std::int64_t threads = threads_;
#pragma omp parallel for schedule(static, 1) num_threads(threads_)
  for (std::int64_t t = 0; t < threads; ++t) {
    const std::int64_t begin = words / threads * t;
    const std::int64_t end = t + 1 == threads ? words : words / threads * (t + 1);
    std::memcpy(target_.data() + begin, source_.data() + begin,
                static_cast<std::size_t>(end - begin) * sizeof(std::uint64_t));
  }
}

}  // namespace tessera::cli
