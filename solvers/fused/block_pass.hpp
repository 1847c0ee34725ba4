/// \file
/// Block operations on the host, and where they are run.
#pragma once

#include "core/parallel.hpp"
#include "solvers/fused/block.hpp"
#include "tessera/device.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::fused {

/// Elements of the host's passes over the columns: they stay in the cache.
inline constexpr std::int64_t block_tile = 256;

/// <x, y>, with interleaved partial sums as in reduce_range().
template <class T>
[[nodiscard]] double tile_dot(const T* x, const T* y, std::int64_t count) {
  constexpr std::int64_t lanes = 8;
  std::array<double, lanes> sums{};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      sums[static_cast<std::size_t>(l)] += static_cast<double>(x[i + l]) * static_cast<double>(y[i + l]);
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// A block operation on one range of the host. \param projections of the range, zero on entry
template <class Op>
[[nodiscard]] typename Op::Sums pass_over_range(host::Range range, const Op op, const typename Op::Scalars& scalars,
                                                int columns, double* projections) {
  using T = typename Op::Element;
  typename Op::Sums sums{};
  std::array<T, block_tile> combination{};
  std::array<T, block_tile> values;
  for (std::int64_t begin = range.begin; begin < range.end; begin += block_tile) {
    const std::int64_t count = std::min(block_tile, range.end - begin);
    if constexpr (Op::combines) {
      combination.fill(T{0});
      for (int k = 0; k < columns; ++k) {
        const auto factor = static_cast<T>(op.coefficients[k]);
        const T* const column = op.block.column(k) + begin;
        for (std::int64_t i = 0; i < count; ++i) combination[static_cast<std::size_t>(i)] += factor * column[i];
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      values[at] = op.apply(begin + i, op.load(begin + i), combination[at], scalars, sums);
    }
    if constexpr (Op::projects) {
      for (int k = 0; k < columns; ++k) {
        projections[k] += tile_dot<T>(op.block.column(k) + begin, values.data(), count);
      }
    }
  }
  return sums;
}

/// Runs a block operation for the given number of columns. Coefficients and inner products of `op` lie on the host.
/// \param space of `device`, for at least as many columns
template <class Op>
typename Op::Sums block_pass(const Device& device, std::int64_t n, const Op& op, const typename Op::Scalars& scalars,
                             int columns, BlockSpace& space) {
  if (!device.is_host()) return cuda::BlockPass<Op>::run(device, n, op, scalars, columns, space);
  static_assert(host::max_sum_chunks <= BlockSpace::parts);
  const std::int64_t chunks = host::sum_chunks(n);
  const auto sums = host::parallel_sum<typename Op::Sums>(device, n, [&](host::Range range) {
    // The chunk that begins there: begin = floor(n chunk / chunks), and there are at most n.
    const std::int64_t chunk = (range.begin * chunks + n - 1) / n;
    double* const projections = space.partial() + chunk * columns;
    if constexpr (Op::projects) std::fill_n(projections, columns, 0.0);
    return pass_over_range(range, op, scalars, columns, projections);
  });
  if constexpr (Op::projects) {
    for (int k = 0; k < columns; ++k) {
      op.projections[k] = 0.0;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        op.projections[k] += space.partial()[chunk * columns + k];
      }
    }
  }
  return sums;
}

}  // namespace tessera::fused
