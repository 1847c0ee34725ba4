/// \file
/// Signs of a diagonal on a GPU.
#include "preprocess/symmetry.hpp"

#include "core/cuda/reduce.cuh"
#include "core/sums.hpp"

namespace tessera::cuda {

template <class T>
std::int64_t first_row_without_positive_diagonal(const Device& device, std::int64_t rows,
                                                 const detail::CsrPointers<T>& a) {
  return fused_values<detail::FirstIndex>(device, rows,
                                          [=] __device__(std::int64_t i, detail::FirstIndex & first) {
                                            if (!detail::has_positive_diagonal(a, i)) first += detail::FirstIndex{i};
                                          })
      .index;
}

template std::int64_t first_row_without_positive_diagonal(const Device&, std::int64_t,
                                                          const detail::CsrPointers<float>&);
template std::int64_t first_row_without_positive_diagonal(const Device&, std::int64_t,
                                                          const detail::CsrPointers<double>&);

}  // namespace tessera::cuda
