/// \file
/// The factors of a plan on a GPU, and the check that other factors have their structures.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/cuda/job.hpp"
#include "tessera/csr.hpp"

#include <memory>
#include <span>

namespace tessera::cuda {

template <class T>
class PlannedFactors {
 public:
  /// Copies factors of the host. \param b the same pointer as `a` for a square
  PlannedFactors(const std::shared_ptr<const Csr<T>>& a, const std::shared_ptr<const Csr<T>>& b, const Device& device)
      : a_(on_device(a, device)), b_(b == a ? a_ : on_device(b, device)), device_(device) {}

  [[nodiscard]] const Csr<T>& a() const noexcept { return *a_; }
  [[nodiscard]] const Csr<T>& b() const noexcept { return *b_; }

  /// Calls product(view of A, view of B) with other factors of the planned structures. \param a, b null: the planned
  /// ones \param values where the product goes
  /// \throws NotSupported for memory on another device, InvalidMatrix naming the first difference of a structure
  template <class Product>
  void multiply(const Csr<T>* a, const Csr<T>* b, std::span<T> values, Product product) const {
    const DeviceGuard current(device_);
    require_values(values);
    if (a != nullptr) require_reachable(*a, device_, "A");
    if (b != nullptr) require_reachable(*b, device_, "B");
    const LocalFactor<T> left(a == nullptr ? *a_ : *a, device_);
    const LocalFactor<T> right(b == nullptr ? *b_ : *b, device_);
    if (a != nullptr) require_planned(*a_, left.view());
    if (b != nullptr) require_planned(*b_, right.view());
    product(left.view(), right.view());
  }

 private:
  [[nodiscard]] static std::shared_ptr<const Csr<T>> on_device(const std::shared_ptr<const Csr<T>>& matrix,
                                                               const Device& device) {
    return matrix->device() == device ? matrix : std::make_shared<const Csr<T>>(matrix->to(device));
  }
  void require_values(std::span<T> values) const;
  /// Compares on the device; what differs is found on the host.
  void require_planned(const Csr<T>& planned, const CsrView<T>& given) const;

  std::shared_ptr<const Csr<T>> a_;
  std::shared_ptr<const Csr<T>> b_;
  Device device_;
};

}  // namespace tessera::cuda
