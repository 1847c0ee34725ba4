/// \file
/// Interface of an SpMV kernel: one class per family, made by the registry for one matrix on one device.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/common/cg_product.hpp"
#include "spmv/common/rank_product.hpp"
#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/multi_vector.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera::detail {

/// A kernel prepared for the structure of one matrix. Every call passes the matrix: its values may have changed, its
/// structure not. Calls may run concurrently. Arguments arrive checked, rows > 0.
template <class T>
class SpmvKernel {
 public:
  SpmvKernel() = default;
  SpmvKernel(const SpmvKernel&) = delete;
  SpmvKernel& operator=(const SpmvKernel&) = delete;
  virtual ~SpmvKernel() = default;

  /// y = α A x + β y; the old y is not read when β = 0.
  virtual void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const = 0;
  /// y = A x with <w, y> and <y, y>.
  virtual ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                    std::span<const T> w) const = 0;

  /// Y = α A X + β Y, α ≠ 0, of at least one column; the old Y is not read when β = 0. \returns false, with nothing
  /// done, where the kernel has no better way than a product per column
  virtual bool apply_many(const CsrView<T>& /*a*/, T /*alpha*/, const MultiVectorView<const T>& /*x*/, T /*beta*/,
                          const MultiVectorView<T>& /*y*/) const {
    return false;
  }

  /// y = A x with its inner products, without waiting, the sums to *sums on the device. \returns false, with nothing
  /// done, where the kernel has no better way than apply() and a pass for the sums. On a GPU no product ever waits or
  /// allocates.
  virtual bool enqueue_apply_and_dot(const CsrView<T>& /*a*/, std::span<const T> /*x*/, std::span<T> /*y*/,
                                     std::span<const T> /*w*/, ProductDots* /*sums*/) const {
    return false;
  }

  /// The same with the sums left in parts. \returns them, on the device, until the next product; none, with nothing
  /// done, where the kernel adds up by itself
  virtual std::span<const ProductDots> enqueue_apply_and_dot_parts(const CsrView<T>& /*a*/, std::span<const T> /*x*/,
                                                                   std::span<T> /*y*/, std::span<const T> /*w*/) const {
    return {};
  }

  /// New values for the same structure, nnz of them in the order of the matrix, for kernels that keep a copy. Never
  /// allocates; not concurrent with products. Not called for pattern matrices.
  virtual void update_values(std::span<const T> /*values*/) {}

  /// What make_output() hands out. A kernel that says dual also overrides the two products below.
  [[nodiscard]] virtual typename DualBuffer<T>::Mode output_mode() const { return DualBuffer<T>::Mode::single; }
  /// y = A x, where the rows of y that several blocks share are zero already; clears them in `other`.
  virtual void apply_dual(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> /*other*/) const {
    apply(a, T{1}, x, T{0}, y);
  }
  virtual ProductDots apply_dual_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                         std::span<T> /*other*/, std::span<const T> w) const {
    return apply_and_dot(a, x, y, w);
  }
  /// Makes y fit for apply_dual().
  virtual void prepare_dual(std::span<T> /*y*/) const {}

  /// PageRank iterations fused into the product, for kernels that offer it. The kernel and `a` outlive the result.
  /// \param vectors 1, 2, 4 or 8 \returns null where the kernel, the matrix or the number of vectors does not suit
  /// \throws OutOfMemory, CudaError
  [[nodiscard]] virtual std::unique_ptr<detail::RankProduct<T>> make_rank_product(const CsrView<T>& /*a*/,
                                                                                  int /*vectors*/) const {
    return nullptr;
  }

  /// Conjugate gradients in two products per iteration, for kernels of a GPU that offer it. The kernel and `a`, which
  /// is square, outlive the result, and keep their values meanwhile. \param of_rank whether `a` is the diagonal block
  /// of one of several ranks, whose operations take more kernels \returns null where the kernel or the matrix does not
  /// suit: then products and vector operations do as well \throws OutOfMemory, CudaError
  [[nodiscard]] virtual std::unique_ptr<detail::CgProduct<T>> make_cg_product(const CsrView<T>& /*a*/,
                                                                              bool /*of_rank*/) const {
    return nullptr;
  }

  /// Fills the fields that only the kernel knows, and may add to the reason.
  virtual void describe(PlanInfo& info) const = 0;
};

}  // namespace tessera::detail
