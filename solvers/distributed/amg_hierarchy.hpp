/// \file
/// A hierarchy of AMG on one device, and who has which rows of its levels: the finer levels are shared out, from one on
/// every rank has the whole.
#pragma once

#include "solvers/amg/hierarchy.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "tessera/amg.hpp"
#include "tessera/array.hpp"
#include "tessera/several_devices.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::detail {

/// Rows of the coarser level, so that an aggregate lies where its fine rows lie, as far as consecutive rows allow: a
/// part begins with as many aggregates before it as have their middle row in earlier parts. No part is empty.
/// O(fine rows) \param aggregate_of_node of fine rows in nodes of `block` \param coarse_rows at least one per part
[[nodiscard]] Partition partition_of_coarse(const Partition& fine, const Array<index_t>& aggregate_of_node,
                                            index_t block, index_t aggregates, index_t coarse_rows);

template <class T>
struct SharedHierarchy {
  /// Its finest A is the caller's, if one device has set it up. After a set-up by ranks A, P and R of shared levels
  /// have the rows of this rank, and some beside them.
  AmgHierarchy<T> whole;
  std::vector<Partition> partitions;  ///< of the levels that are shared out and, where there is one, of the next
  std::size_t shared_levels = 0;      ///< 0: every rank has the whole hierarchy
  AmgInfo info;
  bool is_symmetric = false;

  [[nodiscard]] bool has_replicated() const noexcept { return shared_levels < whole.levels.size(); }
};

/// Sets up a hierarchy as Amg does, with the same bits. \param matrix on `device`, where set-up runs; outlives the
/// result \param finest partition of the rows \param least_rows of a level that is shared out \throws as Amg
template <class T>
[[nodiscard]] SharedHierarchy<T> set_up_shared(const CsrView<T>& matrix, const AmgOptions& options,
                                               const Device& device, const Partition& finest, index_t least_rows);
/// By ranks at once. \param device of this rank
template <class T>
[[nodiscard]] SharedHierarchy<T> set_up_shared(SetupRanks<T>& ranks, const AmgOptions& options, const Device& device);

}  // namespace tessera::detail

namespace tessera::cuda {
/// Aggregates whose middle row lies before each part but the first; one without rows lies before all. On the GPU of
/// `aggregate_of_node`. O(nodes + parts · aggregates)
[[nodiscard]] std::vector<std::int64_t> aggregates_before_parts(const Partition& fine,
                                                                const Array<index_t>& aggregate_of_node, index_t block,
                                                                index_t aggregates);
}  // namespace tessera::cuda
