/// \file
/// The steps of PageRank by fused products on a GPU, with the state kept there.
#pragma once

#include "solvers/rank/rank_loop.hpp"
#include "solvers/rank/rank_product.hpp"

#include <memory>
#include <span>

namespace tessera {

/// \param product on `device`; the kernel and matrix that it was made for outlive the loop
/// \param degrees number of out-links a vertex, on the host \param teleport sums to 1, on `device`; empty when uniform
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<RankLoop<T>> make_fused_rank_loop(std::unique_ptr<RankProduct<T>> product,
                                                                std::span<const index_t> degrees,
                                                                const RankRules& rules, Array<T> teleport,
                                                                const Device& device);

extern template std::unique_ptr<RankLoop<float>> make_fused_rank_loop(std::unique_ptr<RankProduct<float>>,
                                                                      std::span<const index_t>, const RankRules&,
                                                                      Array<float>, const Device&);
extern template std::unique_ptr<RankLoop<double>> make_fused_rank_loop(std::unique_ptr<RankProduct<double>>,
                                                                       std::span<const index_t>, const RankRules&,
                                                                       Array<double>, const Device&);

}  // namespace tessera
