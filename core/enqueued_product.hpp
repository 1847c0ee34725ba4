/// \file
/// Products that are put into the stream of a GPU without waiting for them, so that a solver may record its loop into a
/// CUDA graph. A capability of the library's own operators, FusedOperator::enqueued_product(), and through
/// core/fused_adapter.hpp of others that can_enqueue().
#pragma once

#include "tessera/fused_operator.hpp"

#include <atomic>
#include <cstdint>
#include <span>

namespace tessera::detail {

/// Operands lie on the operator's device and have the sizes of its products; y overlaps neither x nor w. Calls return
/// before the product is done, allocate nothing, and leave the host out. For what a call puts into the stream to be
/// repeated, all operands have to stay where they are.
template <class T>
class EnqueuedProduct {
 public:
  EnqueuedProduct() noexcept = default;
  EnqueuedProduct(const EnqueuedProduct&) = delete;
  EnqueuedProduct& operator=(const EnqueuedProduct&) = delete;
  virtual ~EnqueuedProduct() = default;

  /// y = A x with <w, y> and <y, y> to *sums. \param sums on the device \throws CudaError
  virtual void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const = 0;

  /// The same for a caller that adds up parts of the inner products: less waiting between the kernels of a small
  /// product. By default enqueue(), which adds them up itself. \param halted on the device: not 0 once the loop has
  /// halted, when long products had better do nothing \returns the parts, on the device, valid until the next product;
  /// or {sums, 1} where there are no parts
  [[nodiscard]] virtual std::span<const ProductDots> enqueue_parts(std::span<const T> x, std::span<T> y,
                                                                   std::span<const T> w, ProductDots* sums,
                                                                   const std::int32_t* /*halted*/) const {
    enqueue(x, y, w, sums);
    return {sums, 1};
  }

  /// Names what a call puts into the stream: another one after memory or kernels have changed, so that what was
  /// recorded before must be recorded anew.
  [[nodiscard]] std::uint64_t recording_id() const noexcept { return recording_id_; }

  /// \returns null for operators without the capability: their products are called from the host, one by one
  [[nodiscard]] static const EnqueuedProduct* of(const FusedOperator<T>& a) noexcept { return a.enqueued_product(); }

 protected:
  /// After a change of memory or kernels.
  void renew_recording_id() noexcept { recording_id_ = next_recording_id(); }

 private:
  /// Never twice the same in a process.
  [[nodiscard]] static std::uint64_t next_recording_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  std::uint64_t recording_id_ = next_recording_id();
};

}  // namespace tessera::detail
