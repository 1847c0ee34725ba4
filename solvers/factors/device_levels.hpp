/// \file
/// Level schedules of triangular systems on a GPU: a row of level l needs unknowns of levels below l alone (E.
/// Anderson, Y. Saad, Int. J. High Speed Comput. 1(1), 1989).
#pragma once

#include "core/host_device.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <vector>

namespace tessera::cuda {

/// Entries that a lane has in flight at once.
inline constexpr int triangular_entries_in_flight = 4;
/// Rows are told apart by their lanes: 2^0 ... 2^5.
inline constexpr int lane_classes = 6;

/// Lanes of a row, as a power of two: enough to load the row at once, at most a warp.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int lanes_log2_of(offset_t row_entries) noexcept {
  int log2 = 0;
  while (log2 + 1 < lane_classes && row_entries > (offset_t{triangular_entries_in_flight} << log2)) ++log2;
  return log2;
}

/// Which entries of a matrix count: those left of the diagonal, with the rows from first to last; or those right of it,
/// from last to first.
enum class TriangleSide { lower, upper };

/// Rows by level, within a level by lanes, then ascending.
struct DeviceLevels {
  index_t levels = 0;
  Array<index_t> order;         ///< on the GPU: the row at every position
  std::vector<index_t> counts;  ///< rows of level l and class c at l * lane_classes + c
};

/// O(nnz) work; as many steps one after the other as there are levels, if the rows of the levels are close together.
/// Waits twice. \param matrix square, on `device`; its values are not read \throws CudaError, OutOfMemory
template <class T>
[[nodiscard]] DeviceLevels levels_of(const CsrView<T>& matrix, TriangleSide side, const Device& device);

}  // namespace tessera::cuda
