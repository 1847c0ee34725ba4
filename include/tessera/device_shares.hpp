/// \file
/// Shares of a matrix per device of a partition: rows, halo and bytes, counted before anything of it lies there.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <vector>

namespace tessera {

/// The share of one device. Plans, vectors of a solver and preconditioners come on top.
struct DeviceShare {
  index_t first_row = 0;
  index_t rows = 0;
  offset_t nnz = 0;                ///< of its rows
  offset_t halo_nnz = 0;           ///< of these, in columns of other devices
  index_t boundary_rows = 0;       ///< rows with such entries
  index_t halo = 0;                ///< elements of a vector that it gets from others for a product
  index_t sent = 0;                ///< elements that it gives them
  int neighbours = 0;              ///< devices that it gets elements from
  std::uint64_t matrix_bytes = 0;  ///< its rows in CSR; of a graph the weights and degrees of its vertices too
  std::uint64_t halo_bytes = 0;    ///< what an exchange by copies keeps
  std::uint64_t peer_bytes = 0;    ///< besides, on GPUs that reach each other's memory
};

/// Those that a DistributedMatrix of this partition would have. O(nnz), and four bytes per row beside the result.
/// \param matrix square, on the host \throws DimensionError for a matrix that does not fit the partition,
/// InvalidArgument for more than 16 parts
template <class T>
[[nodiscard]] std::vector<DeviceShare> device_shares(const CsrView<T>& matrix, const Partition& partition);

/// Those that a DistributedTransitionMatrix would have, with the in-links of its vertices.
/// \param transition on the host \throws as above
template <class T>
[[nodiscard]] std::vector<DeviceShare> rank_shares(const TransitionMatrix<T>& transition, const Partition& partition);

extern template std::vector<DeviceShare> device_shares(const CsrView<float>&, const Partition&);
extern template std::vector<DeviceShare> device_shares(const CsrView<double>&, const Partition&);
extern template std::vector<DeviceShare> rank_shares(const TransitionMatrix<float>&, const Partition&);
extern template std::vector<DeviceShare> rank_shares(const TransitionMatrix<double>&, const Partition&);

}  // namespace tessera
