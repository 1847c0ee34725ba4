/// \file
/// Sizes of the small hash tables of SpGEMM, and a sample of rows that tells whether they pay.
#pragma once

#include "core/cuda/context.hpp"
#include "core/host_device.hpp"
#include "spgemm/common/factors.hpp"
#include "tessera/types.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

inline constexpr int small_hash_threads = 256;

/// Tables of a block, one for every `Lanes` neighbouring lanes. A table is padded, so that groups of a warp use
/// different banks, and has room for four columns more.
template <int Lanes, int Slots>
struct SmallTableLayout {
  static_assert((Slots & (Slots - 1)) == 0 && Slots % Lanes == 0 && Lanes >= 4);
  static constexpr int tables = small_hash_threads / Lanes;
  static constexpr int stride = Slots + Lanes;
  static constexpr unsigned bits = [] {
    unsigned result = 0;
    while (1U << result < static_cast<unsigned>(Slots)) ++result;
    return result;
  }();
  /// The sums of all tables lie before their columns. \param value_bytes 0 for columns alone
  [[nodiscard]] TESSERA_HOST_DEVICE static constexpr std::size_t sums_bytes(std::size_t value_bytes) noexcept {
    return static_cast<std::size_t>(tables) * stride * value_bytes;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE static constexpr std::size_t bytes(std::size_t value_bytes) noexcept {
    return sums_bytes(value_bytes + sizeof(index_t));
  }
};

/// Slots of a table for so many entries: at most seven of eight are filled. \param values whether sums are formed
[[nodiscard]] constexpr int small_hash_slots(index_t most_entries, bool values) noexcept {
  if (values && most_entries <= 28) return 32;
  if (most_entries <= 56) return 64;
  return values && most_entries <= 112 ? 128 : 256;
}

/// Lanes that read a row of B. \param mean_b_row_nnz entries of such a row
[[nodiscard]] constexpr int small_hash_lanes(double mean_b_row_nnz) noexcept {
  if (mean_b_row_nnz <= 4.5) return 4;
  return mean_b_row_nnz <= 10 ? 8 : 16;
}

/// Sums over sampled rows of C.
struct CompressionSample {
  unsigned long long rows = 0;  ///< with products
  unsigned long long products = 0;
  unsigned long long entries = 0;
  unsigned long long squares = 0;  ///< of the entries
  unsigned most_entries = 0;
  unsigned long_rows = 0;  ///< not counted: with more than sampled_row_products products, or too many entries
};

inline constexpr index_t sampled_rows = 2048;
inline constexpr unsigned sampled_row_products = 4096;

/// Rows of the sample of a product with so many rows.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t sample_size(index_t rows) noexcept {
  return rows < sampled_rows ? rows : sampled_rows;
}

/// Row k of the sample.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t sampled_row(index_t rows, index_t k) noexcept {
  const index_t size = sample_size(rows);
  const auto begin = static_cast<std::int64_t>(rows) * k / size;
  const auto end = static_cast<std::int64_t>(rows) * (k + 1) / size;
  // Not the same row of each part: matrices of grids repeat.
  const auto random = (static_cast<std::uint32_t>(k) * 0x9e3779b1U) >> 8;
  return static_cast<index_t>(begin + static_cast<std::int64_t>(random) % (end - begin));
}

/// Counts sample_size(rows) rows of C. \param sample on the device, cleared \param mean_b_row_nnz entries of a row of B
/// \param counts all rows are the sample, and their entries go here, followed by 0; null: not
void enqueue_compression_sample(const Context& context, const Factors<NoValue>& factors, index_t rows,
                                double mean_b_row_nnz, CompressionSample* sample, offset_t* counts = nullptr);

}  // namespace tessera::cuda
