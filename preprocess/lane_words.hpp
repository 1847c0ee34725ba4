/// \file
/// Where the descriptors of lanes are kept: words of one of two widths.
#pragma once

#include "preprocess/lane_descriptor.hpp"
#include "tessera/array.hpp"

#include <cstdint>

namespace tessera {

/// One of the arrays is in use.
struct LaneWords {
  int descriptor_bits = 0;             ///< 32 or 64
  Array<std::uint32_t> lane_words_32;  ///< 32 a tile with 32-bit descriptors, else empty
  Array<std::uint64_t> lane_words_64;  ///< 32 a tile with 64-bit descriptors, else empty

  [[nodiscard]] std::uint64_t lane_bytes() const noexcept { return lane_words_32.bytes() + lane_words_64.bytes(); }

  /// The descriptors as words of their width.
  template <DescriptorWord Word>
  [[nodiscard]] const Array<Word>& lane_words() const noexcept {
    if constexpr (sizeof(Word) == 4) {
      return lane_words_32;
    } else {
      return lane_words_64;
    }
  }
};

}  // namespace tessera
