#include "compare/measure.hpp"

#include "core/parallel.hpp"

#include "support/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tessera::compare {

namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

}  // namespace

std::uint64_t last_level_cache_bytes(const Device& device) {
  constexpr std::uint64_t unknown = std::uint64_t{64} << 20;
  if (const auto gpu = support::gpu_info(device)) return gpu->l2_bytes > 0 ? gpu->l2_bytes : unknown;
  const std::int64_t largest = std::max(::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  return largest > 0 ? static_cast<std::uint64_t>(largest) : unknown;
}

CacheFlusher::CacheFlusher(const Device& device)
    : buffer_(static_cast<std::int64_t>(bytes(device) / word_bytes), Init::zero, device) {}

std::uint64_t CacheFlusher::bytes(const Device& device) { return 2 * last_level_cache_bytes(device); }

void CacheFlusher::operator()() {
  const Device& device = buffer_.device();
  if (!device.is_host()) {
    detail::zero_bytes(device, buffer_.data(), buffer_.bytes());
    return;
  }
  // Another value each time: a write that changes nothing might be skipped.
  const std::uint64_t value = ++pass_;
  const std::int64_t words = buffer_.size();
  std::uint64_t* data = buffer_.data();
  host::parallel_for(device, words, [=](host::Range range) { std::fill(data + range.begin, data + range.end, value); });
}

CopyYardstick::CopyYardstick(std::uint64_t bytes, const Device& device)
    : source_(static_cast<std::int64_t>(capped(bytes, device) / (2 * word_bytes)) + 1, Init::zero, device),
      target_(source_.size(), Init::zero, device) {}

std::uint64_t CopyYardstick::capped(std::uint64_t bytes, const Device& device) {
  return device.is_host() ? std::min(bytes, std::uint64_t{512} << 20) : bytes;
}

void CopyYardstick::operator()() {
  detail::copy_bytes(target_.device(), target_.data(), source_.device(), source_.data(), source_.bytes());
}

}  // namespace tessera::compare
