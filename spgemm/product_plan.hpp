/// \file
/// What SpgemmPlan does, on the host or on a GPU.
#pragma once

#include "tessera/spgemm.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera {

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

namespace host {
/// \throws as SpgemmPlan
template <class T>
[[nodiscard]] std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a,
                                                                std::shared_ptr<const Csr<T>> b,
                                                                const SpgemmOptions& options);
}  // namespace host

namespace cuda {
/// \param a, b on the host or on the device of the options \throws as SpgemmPlan
template <class T>
[[nodiscard]] std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a,
                                                                std::shared_ptr<const Csr<T>> b,
                                                                const SpgemmOptions& options);
}  // namespace cuda

}  // namespace tessera
