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

/// y = factor x + y
template <class T>
void add_multiple(T factor, const T* x, std::int64_t count, T* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// A block operation on `count` elements of the host, at most block_tile.
template <class Op>
void pass_over_tile(std::int64_t begin, std::int64_t count, const Op& op, const typename Op::Scalars& scalars,
                    int columns, double* projections, typename Op::Sums& sums) {
  using T = typename Op::Element;
  std::array<T, block_tile> combination{};
  std::array<T, block_tile> values;
  if constexpr (Op::combines) {
    for (int k = 0; k < columns; ++k) {
      add_multiple<T>(static_cast<T>(op.coefficients[k]), op.block.column(k) + begin, count, combination.data());
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

/// The same of an operation that completes the last column.
template <class Op>
requires completes_last_column<Op>
void pass_over_tile(std::int64_t begin, std::int64_t count, const Op& op, const typename Op::Scalars& scalars,
                    int columns, double* projections, typename Op::Sums& sums) {
  using T = typename Op::Element;
  std::array<T, block_tile> last{};
  std::array<T, block_tile> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = op.projected(begin + i, op.load(begin + i), sums);
  }
  for (int k = 0; k < columns - 1; ++k) {
    const T* const column = op.block.column(k) + begin;
    add_multiple<T>(static_cast<T>(op.coefficients[k]), column, count, last.data());
    projections[k] += tile_dot<T>(column, values.data(), count);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    T& element = last[static_cast<std::size_t>(i)];
    element = op.complete(begin + i, element, scalars);
  }
  projections[columns - 1] += tile_dot<T>(last.data(), values.data(), count);
}

/// A block operation on one range of the host. \param projections of the range, zero on entry
template <class Op>
[[nodiscard]] typename Op::Sums pass_over_range(host::Range range, const Op op, const typename Op::Scalars& scalars,
                                                int columns, double* projections) {
  typename Op::Sums sums{};
  for (std::int64_t begin = range.begin; begin < range.end; begin += block_tile) {
    pass_over_tile(begin, std::min(block_tile, range.end - begin), op, scalars, columns, projections, sums);
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
