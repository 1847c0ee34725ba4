#include "io/checksum.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tessera::io {

namespace {

static_assert(std::endian::native == std::endian::little, "words are taken from memory as they lie there");

constexpr std::size_t lanes = 8;
constexpr std::size_t block_bytes = lanes * sizeof(std::uint64_t);
constexpr std::uint64_t odd = 0x9e3779b97f4a7c15U;  // 2^64 divided by the golden ratio

using Lanes = std::array<std::uint64_t, lanes>;

void take_block(Lanes& lane, const char* data) noexcept {
  Lanes words;
  std::memcpy(words.data(), data, block_bytes);
  for (std::size_t j = 0; j < lanes; ++j) lane[j] = std::rotl(lane[j] ^ words[j], 29) * odd;
}

/// A bijection of 64-bit numbers whose output bits depend on all input bits.
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 31)) * odd;
  x = (x ^ (x >> 29)) * odd;
  return x ^ (x >> 32);
}

}  // namespace

std::uint64_t chunk_checksum(const char* data, std::size_t bytes) noexcept {
  Lanes lane;
  for (std::size_t j = 0; j < lanes; ++j) lane[j] = odd * (j + 1);
  std::size_t done = 0;
  for (; done + block_bytes <= bytes; done += block_bytes) take_block(lane, data + done);
  if (done < bytes) {
    std::array<char, block_bytes> rest{};
    std::memcpy(rest.data(), data + done, bytes - done);
    take_block(lane, rest.data());
  }
  std::uint64_t sum = mix(bytes);
  for (const std::uint64_t value : lane) sum = mix(sum ^ value);
  return sum;
}

std::uint64_t join_checksums(std::span<const std::uint64_t> chunks, std::uint64_t bytes) noexcept {
  std::uint64_t sum = mix(bytes + odd);
  for (const std::uint64_t chunk : chunks) sum = mix(sum ^ chunk);
  return sum;
}

std::uint64_t checksum(const char* data, std::uint64_t bytes, const Device& device) {
  std::vector<std::uint64_t> sums(checksum_chunks(bytes));
  host::parallel_tasks(device, static_cast<std::int64_t>(sums.size()), [&](std::int64_t c) {
    const std::uint64_t begin = static_cast<std::uint64_t>(c) * checksum_chunk_bytes;
    const std::uint64_t size = std::min<std::uint64_t>(checksum_chunk_bytes, bytes - begin);
    sums[static_cast<std::size_t>(c)] = chunk_checksum(data + begin, size);
  });
  return join_checksums(sums, bytes);
}

}  // namespace tessera::io
