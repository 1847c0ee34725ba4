/// \file
/// A sample of tile rows counted on a GPU: one thread merges the rows of each.
#include "core/cuda/reduce.cuh"
#include "preprocess/tile_estimate.hpp"

namespace tessera::cuda {

using namespace detail;

TwoSums count_sample(const CsrStructurePointers& a, const SampledTileRows& sample, offset_t most,
                     const Device& device) {
  return fused_values<TwoSums>(device, sample.count, [=] __device__(std::int64_t number, TwoSums & sum) {
    sum += count_tile_row(a, sample[number], most);
  });
}

}  // namespace tessera::cuda
