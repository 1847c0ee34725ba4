/// \file
/// Values from a dictionary as the kernel of row patterns reads them: a byte per nonzero from slices, the value from
/// shared memory, where copies of the dictionary keep lanes out of each other's banks.
#pragma once

#include "spmv/patterns/patterns_kernel.cuh"

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// The dictionary, in shared memory once it is shared.
template <class T>
struct SharedDictionary {
  const T* values;
  int size;
  int shift;  ///< logarithm of the copies

  [[nodiscard]] std::size_t bytes() const { return sizeof(T) * static_cast<std::size_t>(size) << shift; }
  /// Every thread must call.
  __device__ void share(unsigned char* to) {
    auto* const shared = reinterpret_cast<T*>(to);
    for (int i = static_cast<int>(threadIdx.x); i < size << shift; i += pattern_threads) {
      shared[i] = __ldg(values + (i >> shift));
    }
    values = shared;
  }
  /// What a lane looks codes up in.
  [[nodiscard]] __device__ const T* of_lane() const { return values + (threadIdx.x & ((1u << shift) - 1)); }
};

/// Codes in padded slices: those of the R rows of a lane by one load.
template <class T>
struct PaddedCodes {
  static constexpr bool weighted = true;
  static constexpr bool in_slices = true;
  static constexpr bool in_table = false;
  static constexpr bool shares = true;
  static constexpr int min_blocks = pattern_min_blocks_with_codes;
  using Kept = unsigned;
  SharedDictionary<T> dictionary;
  const std::uint8_t* codes;

  [[nodiscard]] std::size_t shared_bytes(const PatternRows& /*p*/) const { return dictionary.bytes(); }
  __device__ void share(const PatternRows& /*p*/, unsigned char* behind) { dictionary.share(behind); }

  template <int R>
  struct OfSlice {
    const T* dictionary;
    int shift;
    const std::uint8_t* at;
    template <class S, int Chunk, bool Whole>
    __device__ void load(int k0, int width, const RowsOfLane<R>& /*own*/, S (&code)[Chunk][R]) {
      using Word = std::conditional_t<R == 4, std::uint32_t, std::conditional_t<R == 2, std::uint16_t, std::uint8_t>>;
#pragma unroll
      for (int k = 0; k < Chunk; ++k) {
        if (!Whole && k0 + k >= width) break;
        const unsigned all =
            __ldcs(reinterpret_cast<const Word*>(at + static_cast<std::size_t>((k0 + k) * warp_size * R)));
#pragma unroll
        for (int r = 0; r < R; ++r) code[k][r] = all >> (8 * r) & 0xffu;
      }
    }
    [[nodiscard]] __device__ T value_of(unsigned code) const { return dictionary[code << shift]; }
  };
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned number, int width) const {
    static_assert(R == 1 || R == 2 || R == 4);
    return {dictionary.of_lane(), dictionary.shift,
            base_at(codes, static_cast<offset_t>(number) * (offset_t{width} * warp_size * R)) +
                threadIdx.x % warp_size * R};
  }
};

/// Codes in slices of 32 rows without padding, in the order of JaggedValues.
template <class T>
struct JaggedCodes {
  static constexpr bool weighted = true;
  static constexpr bool in_slices = true;
  static constexpr bool in_table = false;
  static constexpr bool shares = true;
  static constexpr int min_blocks = pattern_min_blocks_with_codes;
  using Kept = unsigned;
  SharedDictionary<T> dictionary;
  JaggedValues<std::uint8_t> codes;

  [[nodiscard]] std::size_t shared_bytes(const PatternRows& /*p*/) const { return dictionary.bytes(); }
  __device__ void share(const PatternRows& /*p*/, unsigned char* behind) { dictionary.share(behind); }

  template <int R>
  struct OfSlice : JaggedValues<std::uint8_t>::template OfSlice<R> {
    const T* dictionary;
    int shift;
    [[nodiscard]] __device__ T value_of(unsigned code) const { return dictionary[code << shift]; }
  };
  template <int R>
  [[nodiscard]] __device__ OfSlice<R> slice(unsigned number, int width) const {
    return {codes.template slice<R>(number, width), dictionary.of_lane(), dictionary.shift};
  }
};

}  // namespace tessera::cuda
