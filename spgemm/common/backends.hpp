/// \file
/// The two backends of SpGEMM as spgemm() and SpgemmPlan call them, and what both refuse.
#pragma once

#include "spgemm/common/factors.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::detail {

/// What SpgemmPlan does, on the host or on a GPU.
template <class T>
class ProductPlan {
 public:
  ProductPlan() = default;
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;
  virtual ~ProductPlan() = default;

  /// Where products are formed and C's structure lies.
  [[nodiscard]] virtual const Device& device() const noexcept = 0;
  [[nodiscard]] virtual const Csr<T>& structure() const noexcept = 0;
  [[nodiscard]] virtual const SpgemmReport& report() const noexcept = 0;
  /// Beside the factors.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  /// The values of C. \param a, b null: the planned ones; else of the planned structures \param values nnz of them
  /// \throws InvalidMatrix naming the first difference of a structure, NotSupported for memory on another device
  virtual void multiply_into(const Csr<T>* a, const Csr<T>* b, std::span<T> values) = 0;
};

/// \param name_a, name_b how a message calls the factors
/// \throws DimensionError naming both sizes, NotSupported for matrices on another device than the options' and for
/// accumulators that it does not have, InvalidArgument
template <class T>
void check_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options, const char* name_a = "A",
                   const char* name_b = "B");

/// \throws NotSupported for a matrix neither on the host nor on `device`
template <class T>
void require_reachable(const Csr<T>& matrix, const Device& device, const char* name);

}  // namespace tessera::detail

namespace tessera::host {

using detail::ProductPlan;
using detail::require_reachable;

/// C = A B on the host, checked before. \tparam V T, or NoValue for the pattern \throws as spgemm()
template <class V, class T>
[[nodiscard]] SpgemmResult<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options);

/// \throws as SpgemmPlan
template <class T>
[[nodiscard]] std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a,
                                                                std::shared_ptr<const Csr<T>> b,
                                                                const SpgemmOptions& options);

}  // namespace tessera::host

namespace tessera::cuda {

using detail::ProductPlan;
using detail::require_reachable;

/// C = A B on a GPU. \param a, b on the host or on the device of the options, where C will lie
/// \tparam V T, or NoValue for the pattern \throws DeviceUnavailable in a build without CUDA; else as spgemm()
template <class V, class T>
[[nodiscard]] SpgemmResult<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options);

/// \param a, b on the host or on the device of the options \throws as SpgemmPlan
template <class T>
[[nodiscard]] std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a,
                                                                std::shared_ptr<const Csr<T>> b,
                                                                const SpgemmOptions& options);

}  // namespace tessera::cuda
