/// \file
/// A 64-bit checksum against accidents (not against forgery), computed in parallel at the speed of memory.
#pragma once

#include "tessera/device.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::io {

/// Data are cut into pieces of this size, so that the checksum does not depend on the number of threads.
inline constexpr std::size_t checksum_chunk_bytes = std::size_t{1} << 18;

[[nodiscard]] constexpr std::size_t checksum_chunks(std::uint64_t bytes) noexcept {
  return static_cast<std::size_t>((bytes + checksum_chunk_bytes - 1) / checksum_chunk_bytes);
}

/// Checksum of one piece: its 64-bit little-endian words, the last one filled up with zeros, go to eight lanes in turn;
/// a lane takes a word by lane = rotl(lane ^ word, 29) * odd constant, which loses nothing: a change inside one word
/// always changes the result. The lanes and the length are then mixed in order.
[[nodiscard]] std::uint64_t chunk_checksum(const char* data, std::size_t bytes) noexcept;

/// Joins the checksums of the pieces of `bytes` bytes in their order.
[[nodiscard]] std::uint64_t join_checksums(std::span<const std::uint64_t> chunks, std::uint64_t bytes) noexcept;

/// Checksum of a whole buffer, with the threads of `device`.
[[nodiscard]] std::uint64_t checksum(const char* data, std::uint64_t bytes, const Device& device);

}  // namespace tessera::io
