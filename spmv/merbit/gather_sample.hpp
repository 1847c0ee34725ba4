/// \file
/// How a product on a GPU will read x, from a sample of the columns.
#pragma once

#include "tessera/csr.hpp"

#include <span>

namespace tessera::cuda {

inline constexpr int gather_window = 128;       ///< nonzeros looked at together
inline constexpr int max_gather_windows = 512;  ///< spread evenly over the matrix
inline constexpr int gather_line_bytes = 128;   ///< of the first-level cache

/// What a sample found; all zero for a matrix of less than one window.
struct GatherSample {
  std::int64_t windows = 0;
  std::int64_t lines = 0;      ///< distinct lines of x, summed over the windows
  std::int64_t all_lines = 0;  ///< distinct lines of x in all windows together, at most a few percent too low

  /// Distinct lines a nonzero, between 0 and 1.
  [[nodiscard]] double line_share() const noexcept {
    return windows > 0 ? static_cast<double>(lines) / static_cast<double>(windows * gather_window) : 0.0;
  }
  /// Windows that touch a line, on average; 1 without any.
  [[nodiscard]] double line_uses() const noexcept {
    return all_lines > 0 ? static_cast<double>(lines) / static_cast<double>(all_lines) : 1.0;
  }
};

/// First nonzero of window `w` of `windows`. Dividing first keeps the product below 2^63.
[[nodiscard]] constexpr offset_t gather_window_begin(offset_t nnz, std::int64_t windows, std::int64_t w) noexcept {
  return (nnz - gather_window) / windows * w;
}

[[nodiscard]] constexpr std::int64_t gather_window_count(offset_t nnz) noexcept {
  const offset_t fitting = nnz / gather_window;
  return fitting < max_gather_windows ? fitting : max_gather_windows;
}

/// Looks at up to 65536 nonzeros. O(1); waits for the result.
/// \param columns       on the device
/// \param element_bytes size of an entry of x \throws CudaError, OutOfMemory
[[nodiscard]] GatherSample sample_gathers(std::span<const index_t> columns, int element_bytes, const Device& device);

}  // namespace tessera::cuda
