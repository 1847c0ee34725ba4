/// \file
/// Estimates of the sizes of rows on a GPU: the counterpart of estimate.hpp.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/row_batch.hpp"
#include "tessera/array.hpp"
#include "tessera/spgemm.hpp"

namespace tessera::cuda {

/// Estimated entries of every row of C, put into the device's stream: a sketch for every row of B, merged over the rows
/// that a row of A names. O((nnz(A) + nnz(B) + rows(B)) registers / 4) bytes are moved.
/// \param inner rows of B \param workflow hll or cohen \param registers 32, 64 or 128 \returns on the device
[[nodiscard]] Array<float> enqueue_estimates(const Context& context, const Device& device,
                                             const Factors<NoValue>& factors, index_t rows, index_t inner,
                                             SpgemmWorkflow workflow, int registers);

/// Sum of the estimates, rounded up each. Waits.
[[nodiscard]] double sum_of_estimates(const Device& device, const Array<float>& estimates);

/// Mean of |estimate - entries| / entries over the rows that have some. Waits. \param offsets of C
[[nodiscard]] double mean_estimate_error(const Device& device, const Array<float>& estimates,
                                         const Array<offset_t>& offsets);

}  // namespace tessera::cuda
