/// \file
/// CSR5's lane descriptors: which nonzeros of a lane begin a row, and where the lane's sums belong (Liu & Vinter, CSR5,
/// ICS 2015).
///
/// The nonzeros of a matrix are cut into tiles of 32 lanes of sigma. Lane l of a tile holds sigma consecutive nonzeros;
/// they are stored transposed, so that entry j of all lanes lies together. Bit j of a descriptor, j < sigma, is set
/// when entry j of the lane begins a row; the first bit of a tile is set in any case, so that every sum has a start.
/// Above the flags lie y_offset, the starts in earlier lanes of the tile, and seg_offset, the number of lanes right
/// after this one that have no start. The n-th start of a tile begins its segment n.
#pragma once

#include "core/partition_point.hpp"
#include "preprocess/lane_descriptor.hpp"

namespace tessera::detail {

/// Bits of seg_offset, which is at most 31.
inline constexpr int csr5_seg_offset_bits = 5;

/// Bits needed for every y_offset: at most 31 * sigma starts lie before the last lane.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int csr5_y_offset_bits(int sigma) noexcept {
  const auto largest = static_cast<std::uint32_t>(lanes_per_tile * sigma - 1);
#ifdef __CUDA_ARCH__
  if (!__builtin_is_constant_evaluated()) return 32 - __clz(static_cast<int>(largest));
  int bits = 0;
  for (std::uint32_t rest = largest; rest > 0; rest /= 2) ++bits;
  return bits;
#else
  return static_cast<int>(std::bit_width(largest));
#endif
}

/// Maximum nonzeros per lane: 17 with 32-bit descriptors, 48 with 64-bit ones.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int csr5_max_sigma(int descriptor_bits) noexcept {
  int sigma = 0;
  while (sigma + 1 + csr5_y_offset_bits(sigma + 1) + csr5_seg_offset_bits <= descriptor_bits) ++sigma;
  return sigma;
}

/// The content of a descriptor.
template <DescriptorWord Word>
struct Csr5Lane {
  Word row_starts = 0;           ///< bit_flag: bit j set when entry j begins a row; bits from sigma on are zero
  std::uint32_t y_offset = 0;    ///< starts in earlier lanes of the tile
  std::uint32_t seg_offset = 0;  ///< lanes right after this one without a start
  friend constexpr bool operator==(const Csr5Lane&, const Csr5Lane&) = default;
};

/// \param sigma in [1, csr5_max_sigma(bits of Word)]
template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr Word pack_csr5_lane(const Csr5Lane<Word>& lane, int sigma) noexcept {
  return lane.row_starts | (static_cast<Word>(lane.y_offset) << sigma) |
         (static_cast<Word>(lane.seg_offset) << (sigma + csr5_y_offset_bits(sigma)));
}

template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr Csr5Lane<Word> unpack_csr5_lane(Word descriptor, int sigma) noexcept {
  const int y_bits = csr5_y_offset_bits(sigma);
  const Word flag_mask = static_cast<Word>((Word{1} << sigma) - 1);
  const Word y_mask = static_cast<Word>((Word{1} << y_bits) - 1);
  return {descriptor & flag_mask, static_cast<std::uint32_t>((descriptor >> sigma) & y_mask),
          static_cast<std::uint32_t>(descriptor >> (sigma + y_bits))};
}

/// Position in the tile of its nonzero `k`, counted in the order of the matrix.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int csr5_position(int k, int sigma) noexcept {
  return k % sigma * lanes_per_tile + k / sigma;
}

/// seg_offset of a lane. \param starting bit l set when lane l has a row start: what a warp's ballot gives
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t csr5_seg_offset(std::uint32_t starting, int lane) noexcept {
  const int later = lanes_per_tile - 1 - lane;
  const std::uint32_t starts = later > 0 ? starting >> (lane + 1) : 0;
  return static_cast<std::uint32_t>(starts == 0 ? later : lowest_flag(starts));
}

/// The first row that begins at nonzero `k` or later: the smallest i with row_offsets[i] >= k.
/// \param row_offsets rows + 1 entries
/// \param k           in [0, nnz]
/// \returns at most rows
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t first_row_from(const offset_t* row_offsets, index_t rows,
                                                                   offset_t k) noexcept {
  return partition_point(index_t{0}, rows, [&](index_t i) { return row_offsets[i] < k; });
}

/// The row that holds nonzero `k`. \param k in [0, nnz)
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t row_of_nonzero(const offset_t* row_offsets, index_t rows,
                                                                   offset_t k) noexcept {
  return static_cast<index_t>(first_row_from(row_offsets, rows, k + 1) - 1);
}

/// Row starts among the nonzeros [begin, begin + sigma).
/// \param row where to look from: first_row_from(begin), or first_row_from(begin + 1) in the first lane of a tile,
///            whose first bit is set anyway; afterwards first_row_from(begin + sigma)
template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr Word csr5_row_starts(const offset_t* row_offsets, index_t rows,
                                                                 offset_t begin, int sigma, index_t& row) noexcept {
  Word starts = 0;
  for (; row < rows && row_offsets[row] < begin + sigma; ++row) {
    if (row_offsets[row] < row_offsets[row + 1]) starts |= Word{1} << (row_offsets[row] - begin);
  }
  return starts;
}

}  // namespace tessera::detail
