/// \file
/// What the tests of enqueue_wide set besides what it is given everywhere.
#pragma once

#include "spgemm/accumulate/accumulators_cuda.hpp"

#include <cstddef>

namespace tessera::cuda {

/// enqueue_wide with bitmaps of at most `bytes`. \param bytes at least 8, at most Tuning::tiled_bytes
template <class V>
void enqueue_wide(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered, std::size_t bytes);

}  // namespace tessera::cuda
