/// \file
/// 64-bit checksums against accidents (not against forgery), computed in parallel at the speed of memory.
#pragma once

#include "tessera/device.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::io {

/// Which function a binary matrix file is checked by; docs/files.md defines both.
enum class Checksum : std::uint8_t {
  lanes,  ///< own function of format version 1, kept to read old files
  xxh3,   ///< XXH3, 64 bits (xxHash 0.8), of format version 2
};

/// Data are cut into pieces of this size, so that the checksum does not depend on the number of threads.
inline constexpr std::size_t checksum_chunk_bytes = std::size_t{1} << 18;

[[nodiscard]] constexpr std::size_t checksum_chunks(std::uint64_t bytes) noexcept {
  return static_cast<std::size_t>((bytes + checksum_chunk_bytes - 1) / checksum_chunk_bytes);
}

/// Checksum of one piece.
[[nodiscard]] std::uint64_t chunk_checksum(Checksum function, const char* data, std::size_t bytes) noexcept;

/// Joins the checksums of the pieces of `bytes` bytes in their order.
[[nodiscard]] std::uint64_t join_checksums(Checksum function, std::span<const std::uint64_t> chunks,
                                           std::uint64_t bytes) noexcept;

/// Checksum of a whole buffer, with the threads of `device`.
[[nodiscard]] std::uint64_t checksum(Checksum function, const char* data, std::uint64_t bytes, const Device& device);

}  // namespace tessera::io
