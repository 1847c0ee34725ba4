/// \file
/// What the tests of enqueue_wide set besides what it is given everywhere.
#pragma once

#include "spgemm/accumulate/accumulators_cuda.hpp"

#include <cstddef>

namespace tessera::cuda {

/// Shared memory that a block's bitmap may take: one block a multiprocessor of 227 KB at the most.
inline constexpr std::size_t wide_bytes = std::size_t{200} * 1024;

/// enqueue_wide with bitmaps of at most `bytes`. \param bytes at least 8, at most wide_bytes
template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered, std::size_t bytes);

}  // namespace tessera::cuda
