/// \file
/// Values of a plan: taken over from the host or from the plan's GPU, for A and for Aᵀ.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/common/kernel.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::detail {

/// Where an array lies that a plan on `device` is given: there, or on the host.
/// \throws InvalidArgument for memory of another GPU
[[nodiscard]] Device location_of(const Device& device, const void* data);

/// kept = values, O(nnz). Allocates only where `kept` is empty. Whatever can throw comes before anything is changed.
/// \param values on the host or on `device` \param rounds double values are rounded to float
/// \throws InvalidMatrix for a finite value that no float holds; InvalidArgument, OutOfMemory
template <class T>
void keep_values(const Device& device, std::span<const T> values, bool rounds, Array<T>& kept);

/// Aᵀ where A lies, with a kernel for it. New values are gathered by a map, made at the first update.
template <class T>
class TransposedProduct {
 public:
  /// Forms Aᵀ on the device, or on the host where it does not fit there. \param a on `device` \throws OutOfMemory
  TransposedProduct(const Device& device, const CsrView<T>& a);

  [[nodiscard]] CsrView<T> view() const noexcept;
  [[nodiscard]] const SpmvKernel<T>& kernel() const noexcept { return *kernel_; }
  void set_kernel(std::unique_ptr<SpmvKernel<T>> kernel) noexcept { kernel_ = std::move(kernel); }
  /// Of Aᵀ and the map.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// Makes the map, if it is not there yet. \param a on the device \returns false for 2^31 nonzeros and more, which a
  /// map does not number \throws OutOfMemory
  [[nodiscard]] bool prepare_map(const CsrView<T>& a);
  /// New values by the map. \param a on the device
  void gather(const CsrView<T>& a);
  /// New values without a map: Aᵀ once more, beside the old one. \throws OutOfMemory
  void form_anew(const CsrView<T>& a);

 private:
  Device device_;
  Csr<T> matrix_;
  Array<index_t> positions_;  ///< in A, of each nonzero of Aᵀ; empty before the first update, and beyond 2^31
  Array<T> updated_;          ///< the same
  std::unique_ptr<SpmvKernel<T>> kernel_;
};

extern template class TransposedProduct<float>;
extern template class TransposedProduct<double>;

}  // namespace tessera::detail
