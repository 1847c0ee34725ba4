#include "spgemm/cuda/planned_factors.hpp"

#include "core/cuda/memory.hpp"
#include "core/cuda/reduce.cuh"
#include "spmv/same_structure.hpp"
#include "tessera/error.hpp"

#include <cstdint>
#include <type_traits>

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

/// Sizes, storage, row offsets and columns. O(rows + nnz); waits.
template <class T>
bool same_structure(const Device& device, const CsrView<T>& one, const CsrView<T>& other) {
  if (one.rows != other.rows || one.cols != other.cols || one.storage != other.storage || one.nnz() != other.nnz()) {
    return false;
  }
  return same_entries(device, one.row_offsets, other.row_offsets) && same_entries(device, one.columns, other.columns);
}

}  // namespace

template <class T>
void PlannedFactors<T>::require_values(std::span<T> values) const {
  if (values.empty() || is_reachable(device_, values.data())) return;
  throw NotSupported("the values of a product on " + device_.name() + " must lie there");
}

template <class T>
void PlannedFactors<T>::require_planned(const Csr<T>& planned, const CsrView<T>& given) const {
  if (same_structure(device_, planned.view(), given)) return;
  const auto here = [&](const auto& source) {
    using E = std::remove_cvref_t<decltype(source[0])>;
    Array<E> result(static_cast<std::int64_t>(source.size()), Init::none);
    copy_bytes(Device{}, result.data(), device_, source.data(), result.bytes());
    return result;
  };
  const Csr<T> expected = planned.to(Device{});
  const Array<offset_t> offsets = here(given.row_offsets);
  const Array<index_t> columns = here(given.columns);
  CsrView<T> found{given.rows, given.cols, given.storage, offsets.span(), columns.span(), given.values};
  require_same_structure(Device{}, expected.view(), found);
}

template class PlannedFactors<float>;
template class PlannedFactors<double>;

}  // namespace tessera::cuda
