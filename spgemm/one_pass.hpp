/// \file
/// C in one pass over its rows: into a store whose size was estimated, from there into place.
#pragma once

#include "spgemm/passes.hpp"

#include <string>

namespace tessera::host {

/// What is foreseen before the pass.
struct RoomPlan {
  offset_t room = 0;                        ///< entries that are provided for
  offset_t expected = 0;                    ///< entries that C probably has
  const Array<float>* estimates = nullptr;  ///< of every row; none: only the sum of all counts
  double margin = 1.0;                      ///< room of a row over its estimate
};

/// What became of the pass.
template <class T>
struct OnePassResult {
  Csr<T> matrix;
  index_t overflow_rows = 0;
  double numeric_ms = 0.0;
  double compaction_ms = 0.0;
  /// Nonempty when C and the store did not fit beside each other and the rows were summed a second time.
  std::string fallback;
};

/// Bytes of the store with its workspaces and of C as foreseen.
template <class V, class T>
[[nodiscard]] std::uint64_t one_pass_bytes(const ProductJob<T>& job, const RoomPlan& plan) noexcept;

/// Rows that find no room, or hold more than their estimate allows for, are computed again straight into C.
/// \throws OutOfMemory only when `symbolic` would throw
template <class V, class T>
[[nodiscard]] OnePassResult<T> one_pass(ProductJob<T>& job, const RoomPlan& plan);

}  // namespace tessera::host
