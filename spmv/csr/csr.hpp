/// \file
/// Rows in parallel; nothing is prepared.
#pragma once

#include "spmv/common/gather_access.hpp"
#include "spmv/kernel.hpp"

#include <memory>

namespace tessera {

/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr_kernel(const CsrView<T>& a, const SpmvOptions& options);

namespace host {

/// y = α A x + β y. Threads take shares of rows that hold like amounts of rows and nonzeros; every row is summed by one
/// thread in one order.
template <class T>
void csr_apply(const Device& device, const CsrView<T>& a, GatherAccess access, T alpha, std::span<const T> x, T beta,
               std::span<T> y);

/// y = A x with <w, y> and <y, y>.
template <class T>
[[nodiscard]] ProductDots csr_apply_and_dot(const Device& device, const CsrView<T>& a, GatherAccess access,
                                            std::span<const T> x, std::span<T> y, std::span<const T> w);

/// r = 2^exponent b - A x with products and sums in double, rounded to T once at the end. Rows are shared out as in
/// csr_apply(). \returns ‖r‖₂² from the unrounded values
template <class T>
[[nodiscard]] double csr_residual(const Device& device, const CsrView<T>& a, int exponent, std::span<const T> b,
                                  std::span<const T> x, std::span<T> r);

}  // namespace host
}  // namespace tessera
