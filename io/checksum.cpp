// Checksums of pieces and of whole buffers: XXH3 (xxHash, Yann Collet) and the function of format version 1.
#include "io/checksum.hpp"

#include "core/parallel.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

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

/// Eight lanes take the 64-bit words in turn, the last block filled up with zeros; a change inside one word always
/// changes the result. The lanes and the length are then mixed in order.
std::uint64_t lanes_of_chunk(const char* data, std::size_t bytes) noexcept {
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

std::uint64_t join_lanes(std::span<const std::uint64_t> chunks, std::uint64_t bytes) noexcept {
  std::uint64_t sum = mix(bytes + odd);
  for (const std::uint64_t chunk : chunks) sum = mix(sum ^ chunk);
  return sum;
}

}  // namespace

std::uint64_t chunk_checksum(Checksum function, const char* data, std::size_t bytes) noexcept {
  return function == Checksum::xxh3 ? XXH3_64bits(data, bytes) : lanes_of_chunk(data, bytes);
}

std::uint64_t join_checksums(Checksum function, std::span<const std::uint64_t> chunks, std::uint64_t bytes) noexcept {
  if (function == Checksum::lanes) return join_lanes(chunks, bytes);
  return XXH3_64bits_withSeed(chunks.data(), chunks.size_bytes(), bytes);
}

std::uint64_t checksum(Checksum function, const char* data, std::uint64_t bytes, const Device& device) {
  std::vector<std::uint64_t> sums(checksum_chunks(bytes));
  host::parallel_tasks(device, static_cast<std::int64_t>(sums.size()), [&](std::int64_t c) {
    const std::uint64_t begin = static_cast<std::uint64_t>(c) * checksum_chunk_bytes;
    const std::uint64_t size = std::min<std::uint64_t>(checksum_chunk_bytes, bytes - begin);
    sums[static_cast<std::size_t>(c)] = chunk_checksum(function, data + begin, size);
  });
  return join_checksums(function, sums, bytes);
}

}  // namespace tessera::io
