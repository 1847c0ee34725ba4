/// \file
/// Operations on the rows of a sparse matrix, written once for the host and a GPU: sums over the entries of a row, then
/// what follows from them. Set-up of AMG is made of these.
///
/// A row operation is a small value: pointers to arrays on one device, and
///   using Sums;    of a row; a default is the zero, += adds
///   using Total;   over all rows, in any order: maxima, counts, first indices; NoSum for none
///   const offset_t* offsets() const;                   row offsets of the matrix
///   bool visits(row) const;                            false: the row's entries are not looked at
///   void visit(row, k, Sums&) const;                   adds entry k, counted over the whole matrix
///   void finish(row, const Sums&, Total&) const;       for every row, visited or not
/// The entries of a row are summed in `lanes` interleaved parts, which are then added pairwise. The number of lanes
/// depends on the matrix alone, so host and GPU give the same bits (a product that is added is a rounded_product()).
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "core/parallel.hpp"
#include "core/sums.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace tessera::detail {

/// Rows that an operation runs on.
struct RowSet {
  std::int64_t rows = 0;          ///< of the matrix, or of the list
  int lanes = 2;                  ///< see lanes_per_row()
  const index_t* list = nullptr;  ///< on the device; null: all rows
};

/// 2, 4, 8, 16 or 32: about a fourth of the mean row or more.
[[nodiscard]] constexpr int lanes_per_row(std::int64_t rows, offset_t nnz) noexcept {
  int lanes = 2;
  while (lanes < 32 && lanes * 4 * rows <= nnz + rows) lanes *= 2;
  return lanes;
}

template <class T>
[[nodiscard]] RowSet all_rows(const CsrView<T>& a) noexcept {
  return {a.rows, lanes_per_row(a.rows, a.nnz()), nullptr};
}

/// Calls body(std::integral_constant<int, lanes>).
template <class Body>
void with_lanes(int lanes, Body&& body) {
  switch (lanes) {
    case 2:
      return body(std::integral_constant<int, 2>{});
    case 4:
      return body(std::integral_constant<int, 4>{});
    case 8:
      return body(std::integral_constant<int, 8>{});
    case 16:
      return body(std::integral_constant<int, 16>{});
    default:
      return body(std::integral_constant<int, 32>{});
  }
}

/// A value in the memory of a device, which kernels write and the host asks for.
template <class V>
class DeviceValue {
 public:
  explicit DeviceValue(const Device& device) : memory_(1, Init::zero, device) {}
  [[nodiscard]] V* data() noexcept { return memory_.data(); }
  /// Waits for the device.
  [[nodiscard]] V get() const {
    V value{};
    copy_bytes(Device{}, &value, memory_.device(), memory_.data(), sizeof(V));
    return value;
  }

 private:
  Array<V> memory_;
};

}  // namespace tessera::detail

namespace tessera::cuda {

/// The kernels of a row operation. \throws CudaError; DeviceUnavailable in a build without CUDA
template <class Op>
struct TransformRows {
  static void run(const Device& device, const RowSet& rows, const Op& op, typename Op::Total* total);
};

}  // namespace tessera::cuda

namespace tessera::host {

/// The sums of one row, in the order that a group of lanes adds them.
template <int Lanes, class Op>
[[nodiscard]] typename Op::Sums sum_row(const Op& op, index_t row) {
  typename Op::Sums sums[Lanes]{};
  const offset_t begin = op.offsets()[row];
  const offset_t end = op.offsets()[row + 1];
  for (offset_t k = begin; k < end; ++k) op.visit(row, k, sums[(k - begin) % Lanes]);
  for (int half = Lanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

template <class Op>
void transform_rows(const Device& device, const RowSet& rows, const Op& op, typename Op::Total* total) {
  with_lanes(rows.lanes, [&](auto lanes) {
    const auto sum = parallel_sum<typename Op::Total>(device, rows.rows, [&](Range range) {
      typename Op::Total part{};
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const index_t row = rows.list == nullptr ? static_cast<index_t>(i) : rows.list[i];
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
