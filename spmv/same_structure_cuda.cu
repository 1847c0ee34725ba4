/// \file
/// Comparison of the structures of two matrices on a GPU.
#include "core/cuda/reduce.cuh"
#include "core/sums.hpp"
#include "spmv/same_structure.hpp"

namespace tessera::cuda {

using namespace detail;

template <class I>
std::int64_t first_difference(const Device& device, std::span<const I> a, std::span<const I> b) {
  const I* const one = a.data();
  const I* const other = b.data();
  return fused_values<FirstIndex>(device, static_cast<std::int64_t>(a.size()),
                                  [=] __device__(std::int64_t i, FirstIndex & first) {
                                    if (one[i] != other[i]) first += FirstIndex{i};
                                  })
      .index;
}

template std::int64_t first_difference(const Device&, std::span<const index_t>, std::span<const index_t>);
template std::int64_t first_difference(const Device&, std::span<const offset_t>, std::span<const offset_t>);

}  // namespace tessera::cuda
