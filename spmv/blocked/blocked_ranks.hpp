/// \file
/// PageRank's fused iteration by the blocked product on a GPU.
#pragma once

#include "spmv/blocked/halo_lists.hpp"
#include "spmv/common/rank_product.hpp"
#include "spmv/merbit/merbit_arrays.hpp"

#include <memory>

namespace tessera::cuda {

/// One vector. \param tiles, halos outlive the result; it has slots of its own, apart from those of products
template <class T>
[[nodiscard]] std::unique_ptr<detail::RankProduct<T>> make_blocked_rank_product(const Device& device,
                                                                                const MerbitTileArrays& tiles,
                                                                                const HaloLists& halos, offset_t nnz);

}  // namespace tessera::cuda
