/// \file
/// The steps of PageRank by fused products on a GPU, with the state kept there.
#pragma once

#include "solvers/rank/rank_loop.hpp"
#include "spmv/rank_product.hpp"

#include <memory>
#include <span>

namespace tessera {

/// \param product on `device`; the kernel and matrix that it was made for outlive the loop
/// \param degrees number of out-links a vertex, on the host
/// \param teleport one distribution a vector, interleaved as in detail::RankVectors, on `device`; empty when all are
/// uniform \param vectors that the product was made for \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<detail::RankProduct<T>> product,
                                                                std::span<const index_t> degrees,
                                                                const detail::RankRules& rules, Array<T> teleport,
                                                                int vectors, const Device& device);

extern template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<detail::RankProduct<float>>,
                                                                      std::span<const index_t>,
                                                                      const detail::RankRules&, Array<float>, int,
                                                                      const Device&);
extern template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<detail::RankProduct<double>>,
                                                                       std::span<const index_t>,
                                                                       const detail::RankRules&, Array<double>, int,
                                                                       const Device&);

}  // namespace tessera
