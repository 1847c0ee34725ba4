#include "core/cuda/reduce.cuh"
#include "spgemm/cuda/same_arrays.hpp"

namespace tessera::cuda {

namespace {

template <class E>
bool same_entries(const Device& device, std::span<const E> one, std::span<const E> other) {
  const E* const left = one.data();
  const E* const right = other.data();
  if (left == right) return true;
  return fused_sum<1>(device, static_cast<std::int64_t>(one.size()), [=] __device__(std::int64_t i, double(&sum)[1]) {
           sum[0] += left[i] == right[i] ? 0.0 : 1.0;
         })[0] == 0.0;
}

}  // namespace

template <class T>
bool same_structure(const Device& device, const CsrView<T>& one, const CsrView<T>& other) {
  if (one.rows != other.rows || one.cols != other.cols || one.storage != other.storage || one.nnz() != other.nnz()) {
    return false;
  }
  return same_entries(device, one.row_offsets, other.row_offsets) && same_entries(device, one.columns, other.columns);
}

template bool same_structure(const Device&, const CsrView<float>&, const CsrView<float>&);
template bool same_structure(const Device&, const CsrView<double>&, const CsrView<double>&);

}  // namespace tessera::cuda
