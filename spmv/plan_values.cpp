/// \file
/// Values of a plan: rounding, new values, new values of Aᵀ.
#include "spmv/plan_values.hpp"

#include "core/borrowed_csr.hpp"
#include "core/cuda/memory.hpp"
#include "core/value_passes.hpp"
#include "preprocess/transpose_map.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <limits>
#include <type_traits>
#include <utility>

namespace tessera::detail {

namespace {

/// \param at where the values lie
void require_floats(const Device& at, std::span<const double> values) {
  const std::int64_t k = first_beyond_float(at, values);
  if (k < 0) return;
  double value = 0.0;
  copy_bytes(Device{}, &value, at, values.data() + k, sizeof(value));
  throw InvalidMatrix(fmt::format("fp32_values: nonzero {} is {:g}, too large for a float", k, value));
}

/// \param a on `device`
template <class T>
Csr<T> transposed_on(const Device& device, const CsrView<T>& a) {
  try {
    return tessera::transpose(a, device);
  } catch (const NotSupported&) {  // too many columns and nonzeros for its keys
    if (device.is_host()) throw;
  } catch (const OutOfMemory&) {  // sorting takes twice the memory of the result
    if (device.is_host()) throw;
  }
  return tessera::transpose(borrow_csr(a, device).to(Device{}).view(), Device{}).to(device);
}

}  // namespace

Device location_of(const Device& device, const void* data) {
  if (!cuda::lies_on_a_gpu(data)) return device.is_host() ? device : Device{};
  if (!device.is_host() && cuda::is_reachable(device, data)) return device;
  throw InvalidArgument("the plan is on " + device.name() + ": values must lie there or on the host");
}

template <class T>
void keep_values(const Device& device, std::span<const T> values, bool rounds, Array<T>& kept) {
  const Device from = location_of(device, values.data());
  if constexpr (std::is_same_v<T, double>) {
    if (rounds) require_floats(from, values);
  }
  if (kept.empty()) kept = Array<T>(static_cast<std::int64_t>(values.size()), Init::none, device);
  copy_bytes(device, kept.data(), from, values.data(), kept.bytes());
  if constexpr (std::is_same_v<T, double>) {
    if (rounds) round_to_float(device, kept.span());
  }
}

template <class T>
TransposedProduct<T>::TransposedProduct(const Device& device, const CsrView<T>& a)
    : device_(device), matrix_(transposed_on(device, a)) {}

template <class T>
CsrView<T> TransposedProduct<T>::view() const noexcept {
  CsrView<T> result = matrix_.view();
  if (!updated_.empty()) result.values = updated_.span();
  return result;
}

template <class T>
std::uint64_t TransposedProduct<T>::bytes() const noexcept {
  return matrix_.bytes() + positions_.bytes() + updated_.bytes();
}

template <class T>
bool TransposedProduct<T>::prepare_map(const CsrView<T>& a) {
  if (a.nnz() > std::numeric_limits<index_t>::max()) return false;
  if (!updated_.empty() || a.nnz() == 0) return true;
  Array<T> values(a.nnz(), Init::none, device_);
  positions_ = transpose_map(a, device_).positions;
  gather_values<T>(device_, positions_.span(), a.values, values.span());
  updated_ = std::move(values);
  return true;
}

template <class T>
void TransposedProduct<T>::gather(const CsrView<T>& a) {
  gather_values<T>(device_, positions_.span(), a.values, updated_.span());
  kernel_->update_values(view().values);
}

template <class T>
void TransposedProduct<T>::form_anew(const CsrView<T>& a) {
  Csr<T> fresh = transposed_on(device_, a);
  // The streamed kernel refers to offsets and columns.
  matrix_ = device_.is_host() ? matrix_.with_values(fresh.values().to(device_)) : std::move(fresh);
  kernel_->update_values(view().values);
}

template void keep_values(const Device&, std::span<const float>, bool, Array<float>&);
template void keep_values(const Device&, std::span<const double>, bool, Array<double>&);
template class TransposedProduct<float>;
template class TransposedProduct<double>;

}  // namespace tessera::detail
