/// \file
/// PageRank's fused product by MERBIT kernels on a GPU.
#pragma once

#include "spmv/common/rank_product.hpp"
#include "spmv/merbit/merbit_arrays.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <memory>

namespace tessera::cuda {

/// \param tiles of a MERBIT kernel for `a`; both outlive the result \param a the in-links, on `device`
/// \param vectors 1, 2, 4 or 8
/// \returns null for matrices with values, several vectors with the layout `exact`, and other numbers of vectors
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<detail::RankProduct<T>> make_merbit_rank_product(const Device& device,
                                                                               const MerbitTileArrays& tiles,
                                                                               const CsrView<T>& a, int vectors);

}  // namespace tessera::cuda
