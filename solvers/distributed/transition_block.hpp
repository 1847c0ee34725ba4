/// \file
/// PageRank's in-links of the vertices of one device. A product reads one vector: the own vertices, then the halo.
#pragma once

#include "solvers/distributed/halo_columns.hpp"
#include "tessera/several_devices.hpp"

namespace tessera::detail {

/// Where others need at least this part of a device's vertices, they get all of them: one piece travels faster than
/// elements that are gathered.
inline constexpr double least_share_of_whole = 0.875;

template <class T>
struct TransitionBlock : HaloColumns {
  Csr<T> in_links;            ///< own vertices x (own vertices, halo)
  offset_t halo_nnz = 0;      ///< entries in the halo
  index_t boundary_rows = 0;  ///< rows with such entries
};

/// Rows of `part`. O(columns + nnz of its rows), by the threads of `host`; bytes of one index per column beside the
/// result. \param in_links square, on the host
template <class T>
[[nodiscard]] TransitionBlock<T> make_transition_block(const CsrView<T>& in_links, const Partition& partition, int part,
                                                       const Device& host);

extern template TransitionBlock<float> make_transition_block(const CsrView<float>&, const Partition&, int,
                                                             const Device&);
extern template TransitionBlock<double> make_transition_block(const CsrView<double>&, const Partition&, int,
                                                              const Device&);

}  // namespace tessera::detail
