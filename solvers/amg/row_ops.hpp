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
  std::int64_t rows = 0;          ///< how many
  int lanes = 2;                  ///< see lanes_per_row()
  const index_t* list = nullptr;  ///< on the device; null: consecutive rows
  std::int64_t first = 0;         ///< of consecutive rows
};

/// 2, 4, 8, 16 or 32: about a fourth of the mean row or more.
[[nodiscard]] constexpr int lanes_per_row(std::int64_t rows, offset_t nnz) noexcept {
  int lanes = 2;
  while (lanes < 32 && std::int64_t{4} * lanes * rows <= nnz + rows) lanes *= 2;
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
    case 1:
      return body(std::integral_constant<int, 1>{});
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
