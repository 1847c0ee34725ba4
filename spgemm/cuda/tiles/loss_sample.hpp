/// \file
/// The sample of spgemm/common/loss_sample.hpp on a GPU.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/common/loss_sample.hpp"

namespace tessera::cuda {

/// Writes LossSample::row_entries entries per sampled row. \param entries on the device
template <class V>
void enqueue_loss_sample(const Context& context, const LossSample& sample, const detail::Factors<V>& factors,
                         const offset_t* c_offsets, const index_t* c_columns, const V* c_values, SampledEntry* entries);

}  // namespace tessera::cuda
