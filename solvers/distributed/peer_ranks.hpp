/// \file
/// PageRank on GPUs that reach each other's memory: the end of an iteration, inside the loop of every rank.
#pragma once

#include "solvers/distributed/halo_columns.hpp"
#include "spmv/common/rank_exchange.hpp"
#include "spmv/common/rank_product.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>

namespace tessera::cuda {

/// Made by all ranks at once. \param lists of the rank \param rows its vertices \param vectors of its loop, each with
/// its vertices, then its halo \param device of the rank \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists& lists, index_t rows,
                                                                    const detail::RankVectors<T>& vectors,
                                                                    const Device& device);

extern template std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists&, index_t,
                                                                      const detail::RankVectors<float>&, const Device&);
extern template std::unique_ptr<detail::RankExchange> make_peer_ranks(const detail::ExchangeLists&, index_t,
                                                                      const detail::RankVectors<double>&,
                                                                      const Device&);

}  // namespace tessera::cuda
