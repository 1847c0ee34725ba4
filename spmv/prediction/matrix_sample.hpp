/// \file
/// A sample of a matrix for predicted times: cache lines of x that neighbouring nonzeros read, and lengths of
/// neighbouring rows.
#pragma once

#include "core/host_device.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::detail {

inline constexpr int vector_line_bytes = 128;    ///< of the caches of a GPU
inline constexpr offset_t strip_nonzeros = 512;  ///< consecutive ones, looked at together
inline constexpr std::int64_t most_strips = 32;  ///< spread evenly over the nonzeros
inline constexpr index_t group_rows = 32;        ///< consecutive ones, as of a warp
inline constexpr std::int64_t most_groups = 64;  ///< spread evenly over the rows

/// Where a sample lies: `count` parts of `length` consecutive items each, spread evenly over `items`. One part where
/// all fit into it.
struct SampleParts {
  std::int64_t items = 0;
  std::int64_t length = 0;
  std::int64_t count = 0;

  /// \param most parts
  [[nodiscard]] static constexpr SampleParts of(std::int64_t items, std::int64_t length, std::int64_t most) noexcept {
    if (items <= length) return {items, items, items > 0 ? 1 : 0};
    const std::int64_t fitting = items / length;
    return {items, length, fitting < most ? fitting : most};
  }
  /// First item of a part. Dividing first keeps the product below 2^63.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr std::int64_t begin(std::int64_t part) const noexcept {
    return count > 1 ? (items - length) / (count - 1) * part : 0;
  }
};

/// Parts of the arrays of a matrix, on the host.
struct MatrixSample {
  SampleParts strips;                 ///< of nonzeros
  SampleParts groups;                 ///< of rows
  std::vector<index_t> columns;       ///< of the strips, one after the other
  std::vector<offset_t> row_offsets;  ///< of the groups, length + 1 for each
};

/// At most 2^14 nonzeros and 2^11 rows. O(1); on a GPU waits. \param row_offsets, columns of the matrix, on `device`
/// \throws OutOfMemory, CudaError
[[nodiscard]] MatrixSample sample_matrix(std::span<const offset_t> row_offsets, std::span<const index_t> columns,
                                         const Device& device);

/// Cache lines of x that a product reads per nonzero, between 0 and 1; 0 without a nonzero.
struct VectorReads {
  double lines = 0.0;      ///< distinct ones of a strip: what the first-level cache asks the second for
  double far_lines = 0.0;  ///< of these, more than 16 lines from all that the half strip before touched
};
[[nodiscard]] VectorReads count_vector_reads(const MatrixSample& sample, int element_bytes);

/// Row lengths as csr-vector and sliced ELL see them; all 0 without rows.
struct RowLengthSample {
  int lanes = 0;                ///< of a warp per row that csr-vector would take
  double typical_mean = 0.0;    ///< nonzeros per row, rows beyond csr_vector_typical_row left out
  double short_nonzeros = 0.0;  ///< of short rows, per row of the matrix
  double lane_slots = 0.0;      ///< per row: nonzeros that the lanes of csr-vector could have had meanwhile, short rows
  double padded = 0.0;          ///< places per row in slices of 32
  offset_t longest = 0;         ///< of the sample
};
[[nodiscard]] RowLengthSample measure_row_lengths(const MatrixSample& sample);

}  // namespace tessera::detail

namespace tessera::cuda {

/// Copies the parts of both arrays to the host. Waits. \param sample with its parts chosen and its arrays sized
/// \throws OutOfMemory, CudaError
void copy_sample(std::span<const offset_t> row_offsets, std::span<const index_t> columns, const Device& device,
                 detail::MatrixSample& sample);

}  // namespace tessera::cuda
