/// \file
/// Unknowns per node of a matrix, from its positions: consecutive rows of a node have equal columns, which come in
/// whole nodes. Discretised systems of equations have such rows, elasticity for one.
#pragma once

#include "core/host_device.hpp"
#include "solvers/amg/level_rows.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::detail {

/// Nodes of some size, if rows formed them.
struct NodeCounts {
  std::int64_t nodes = 0;  ///< with an entry beside the diagonal
  std::int64_t equal = 0;  ///< of these, with equal rows of whole nodes
  std::int64_t twins = 0;  ///< of these, with the columns of the node before
  TESSERA_HOST_DEVICE NodeCounts& operator+=(const NodeCounts& other) noexcept {
    nodes += other.nodes;
    equal += other.equal;
    twins += other.twins;
    return *this;
  }
};

/// Looks at a node. A row ends the work at the first column that differs, so that scalar matrices cost O(rows).
struct CountNodes {
  using Sums = NodeCounts;
  const offset_t* offsets;
  const index_t* columns;
  int size;
  std::int64_t first;  ///< node

  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NodeCounts& counts) const {
    const std::int64_t row = (first + i) * size;
    if (offsets[row + size] - offsets[row] <= size && is_single(row)) return;
    ++counts.nodes;
    for (int r = 1; r < size; ++r) {
      if (!are_equal(row, row + r)) return;
    }
    if (!has_whole_nodes(row)) return;
    ++counts.equal;
    if (row > 0 && are_equal(row - 1, row)) ++counts.twins;
  }

 private:
  /// Whether all rows of the node have an entry at most, as eliminated unknowns do.
  [[nodiscard]] TESSERA_HOST_DEVICE bool is_single(std::int64_t row) const {
    for (int r = 0; r < size; ++r) {
      if (offsets[row + r + 1] - offsets[row + r] > 1) return false;
    }
    return true;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool are_equal(std::int64_t row, std::int64_t other) const {
    const offset_t length = offsets[row + 1] - offsets[row];
    if (offsets[other + 1] - offsets[other] != length) return false;
    for (offset_t k = 0; k < length; ++k) {
      if (columns[offsets[row] + k] != columns[offsets[other] + k]) return false;
    }
    return true;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE bool has_whole_nodes(std::int64_t row) const {
    const offset_t begin = offsets[row];
    const offset_t length = offsets[row + 1] - begin;
    if (length % size != 0) return false;
    for (offset_t k = 0; k < length; ++k) {
      const index_t start = columns[begin + k - k % size];
      if (start % size != 0 || columns[begin + k] != start + k % size) return false;
    }
    return true;
  }
};

/// The largest size from 2 to 6 that divides the rows and fits three of four nodes, most of which differ from the node
/// before; else 1. O(nnz), O(rows) where the size is 1. Waits; collective, if shared.
template <class T>
[[nodiscard]] int node_size(const Device& device, const CsrView<T>& a, const LevelRows& rows);

}  // namespace tessera::detail
