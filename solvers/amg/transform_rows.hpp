/// \file
/// transform_rows: runs a row operation (row_ops.hpp) on the host or a GPU.
#pragma once

#include "core/parallel.hpp"
#include "solvers/amg/row_ops.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tessera::host {

/// The sums of one row, in the order that a group of lanes adds them.
template <int Lanes, class Op>
[[nodiscard]] typename Op::Sums sum_row(const Op& op, index_t row) {
  constexpr auto lanes = static_cast<std::size_t>(Lanes);
  std::array<typename Op::Sums, lanes> sums{};
  const offset_t begin = op.offsets()[row];
  const offset_t end = op.offsets()[row + 1];
  for (offset_t k = begin; k < end; ++k) op.visit(row, k, sums[static_cast<std::size_t>(k - begin) % lanes]);
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

template <class Op>
void transform_rows(const Device& device, const RowSet& rows, const Op& op, typename Op::Total* total) {
  with_lanes(rows.lanes, [&](auto lanes) {
    const auto sum = parallel_sum<typename Op::Total>(device, rows.rows, [&](Range range) {
      typename Op::Total part{};
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const index_t row = rows.list == nullptr ? static_cast<index_t>(rows.first + i) : rows.list[i];
        const auto sums = op.visits(row) ? sum_row<lanes()>(op, row) : typename Op::Sums{};
        op.finish(row, sums, part);
      }
      return part;
    });
    if (total != nullptr) *total = sum;
  });
}

}  // namespace tessera::host

namespace tessera::detail {

/// Runs an operation. Returns before it is done on a GPU. \param total on the device, overwritten; null: not wanted
template <class Op>
void transform_rows(const Device& device, const RowSet& rows, const Op& op, typename Op::Total* total = nullptr) {
  if (device.is_host()) {
    host::transform_rows(device, rows, op, total);
  } else {
    cuda::TransformRows<Op>::run(device, rows, op, total);
  }
}

}  // namespace tessera::detail
