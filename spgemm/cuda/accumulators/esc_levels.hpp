/// \file
/// Levels of the workflow `esc`: which threads expand, sort and contract a row of C, as a function of its products
/// (Dalton, Olson & Bell, TOMS 2015, §3.3).
#pragma once

#include "core/host_device.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "tessera/types.hpp"

#include <bit>
#include <cstdint>

namespace tessera::cuda {

/// Products up to which a row is done by one thread, one warp, one block (the paper's α); more of them by all blocks.
/// A device whose blocks have less memory leaves more rows to all blocks (Tuning::esc_block_products).
inline constexpr std::uint32_t esc_thread_products = 32;
inline constexpr std::uint32_t esc_warp_products = 736;
inline constexpr std::uint32_t esc_block_products = 6144;

enum class EscLevel : std::uint8_t { none, thread, warp, block, device };

/// Rows that are done in one launch, by products, the fewest first.
enum class EscClass : std::uint8_t {
  none,  ///< rows without products
  thread_8,
  thread_16,
  thread_32,
  warp_64,
  warp_128,
  warp_256,
  warp_512,
  warp_736,
  block_2048,
  block_4096,
  block_6144,
  device,
};
inline constexpr int esc_classes = 13;

/// Products of a row that the class takes.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t most_products_of(EscClass size) noexcept {
  switch (size) {
    case EscClass::none:
      return 0;
    case EscClass::thread_8:
      return 8;
    case EscClass::thread_16:
      return 16;
    case EscClass::thread_32:
      return esc_thread_products;
    case EscClass::warp_64:
      return 64;
    case EscClass::warp_128:
      return 128;
    case EscClass::warp_256:
      return 256;
    case EscClass::warp_512:
      return 512;
    case EscClass::warp_736:
      return esc_warp_products;
    case EscClass::block_2048:
      return 2048;
    case EscClass::block_4096:
      return 4096;
    case EscClass::block_6144:
      return esc_block_products;
    default:
      return 0xffffffff;
  }
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr EscLevel level_of(EscClass size) noexcept {
  if (size == EscClass::none) return EscLevel::none;
  if (size <= EscClass::thread_32) return EscLevel::thread;
  if (size <= EscClass::warp_736) return EscLevel::warp;
  return size <= EscClass::block_6144 ? EscLevel::block : EscLevel::device;
}

/// \param short_positions whether B has fewer than 2^32 entries: only all blocks together read a larger one
/// \param block_products of a row that one block takes: the most of one of the classes
[[nodiscard]] TESSERA_HOST_DEVICE constexpr EscClass esc_class(
    std::uint32_t products, bool short_positions, std::uint32_t block_products = esc_block_products) noexcept {
  if (products > block_products) return EscClass::device;
  int size = 0;
  while (most_products_of(static_cast<EscClass>(size)) < products) ++size;
  return short_positions || size == 0 ? static_cast<EscClass>(size) : EscClass::device;
}

/// Whether column, relative to a row's first, and offset of a product share a key of 32 bits below the largest number,
/// which means "no product"; else they take 64. \param offsets a power of two
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool short_keys(index_t widest, std::uint32_t offsets) noexcept {
  return static_cast<std::uint64_t>(widest) * offsets < (std::uint64_t{1} << 32) - offsets;
}

/// Shared memory of a group of `threads` that sorts a row, `each` keys per thread. \param value_bytes of a product; 0
/// for a pattern \param products of the largest row
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::size_t esc_group_bytes(unsigned threads, unsigned each,
                                                                        std::size_t key_bytes, std::size_t value_bytes,
                                                                        std::uint32_t products) noexcept {
  const unsigned offsets = threads * each;
  const std::size_t fixed = (offsets + offsets / 32) * key_bytes + threads * value_bytes +
                            2 * sizeof(std::uint32_t) * threads + (threads / 32 + 4) * sizeof(offset_t);
  return (fixed + products * (value_bytes + sizeof(std::uint16_t)) + 15) / 16 * 16;
}

/// Bits of the numbers below n.
[[nodiscard]] constexpr int bits_below(std::int64_t n) noexcept {
  return n < 2 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

/// Keys of the products of a row that all blocks sort: the column, relative to the row's first, above the offset.
struct DeviceKeys {
  int column_bits = 0;
  int offset_bits = 0;

  /// Keys of the same entry agree in this.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t column(std::uint64_t key) const noexcept {
    return static_cast<index_t>(key >> offset_bits);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr offset_t offset(std::uint64_t key) const noexcept {
    return static_cast<offset_t>(key & ((std::uint64_t{1} << offset_bits) - 1));
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint64_t key(index_t column, offset_t offset) const noexcept {
    return static_cast<std::uint64_t>(column) << offset_bits | static_cast<std::uint64_t>(offset);
  }
  [[nodiscard]] constexpr bool fit() const noexcept { return column_bits + offset_bits <= 64; }
};

/// \param largest products of a row
[[nodiscard]] constexpr DeviceKeys device_keys(index_t widest, offset_t largest) noexcept {
  return {bits_below(widest), bits_below(largest)};
}

/// Keys of the products of a row that a thread, warp or block sorts: the column, relative to the row's first, above the
/// offset. \tparam Key of 32 bits where both fit (short_keys), else of 64
template <class Key>
struct OffsetKeys {
  /// Means "no product"; above all others.
  static constexpr Key none = ~Key{0};

  index_t first_column = 0;
  int offset_bits = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr Key key(index_t column, int offset) const {
    return static_cast<Key>(column - first_column) << offset_bits | static_cast<Key>(offset);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr Key column_part(Key key) const { return key >> offset_bits; }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t column(Key key) const {
    return first_column + static_cast<index_t>(column_part(key));
  }
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int offset(Key key) const {
    return static_cast<int>(key & ((Key{1} << offset_bits) - 1));
  }
};

}  // namespace tessera::cuda
