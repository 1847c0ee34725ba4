/// \file
/// PageRank's fused product by row patterns on a GPU.
#pragma once

#include "spmv/common/rank_product.hpp"
#include "spmv/patterns/pattern_product.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <memory>

namespace tessera::cuda {

/// \param operand of a kernel for `a`; both outlive the result \param a the in-links, a pattern, on `device`
/// \param vectors 1, 2, 4 or 8 \returns null for other numbers of vectors \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<detail::RankProduct<T>> make_pattern_rank_product(const Device& device,
                                                                                const PatternOperand<T>& operand,
                                                                                const CsrView<T>& a, int vectors);

}  // namespace tessera::cuda
