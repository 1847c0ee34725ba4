#include "core/fused_adapter.hpp"

#include "core/cuda/stream_work.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/enqueued_product.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace tessera::detail {

namespace {

/// An operator with a product alone.
template <class T>
class FusedAdapter final : public FusedOperator<T>, private EnqueuedProduct<T> {
 public:
  explicit FusedAdapter(const LinearOperator<T>& a)
      : a_(a), device_(a.device()), is_enqueueable_(!device_.is_host() && a.can_enqueue()) {}

  [[nodiscard]] std::int64_t rows() const override { return a_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return a_.cols(); }
  [[nodiscard]] Device device() const override { return device_; }
  [[nodiscard]] bool has_transpose() const override { return a_.has_transpose(); }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override { a_.apply(alpha, x, beta, y); }
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    a_.apply_transposed(alpha, x, beta, y);
  }

 private:
  [[nodiscard]] const EnqueuedProduct<T>* enqueued_product() const noexcept override {
    return is_enqueueable_ ? this : nullptr;
  }

  // EnqueuedProduct.

  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    const auto work = [&](CUstream_st* stream) { a_.enqueue(x, y, stream); };
    cuda::work_in_stream(device_, std::cref(work));
    cuda::enqueue_dots<T>(device_, y, w, sums);
  }

  const LinearOperator<T>& a_;
  Device device_;
  bool is_enqueueable_;
};

}  // namespace

template <class T>
std::shared_ptr<const FusedOperator<T>> fused_operator(const LinearOperator<T>& a) {
  if (const auto* const fused = dynamic_cast<const FusedOperator<T>*>(&a)) {
    return {std::shared_ptr<const void>(), fused};
  }
  return std::make_shared<const FusedAdapter<T>>(a);
}

template std::shared_ptr<const FusedOperator<float>> fused_operator(const LinearOperator<float>&);
template std::shared_ptr<const FusedOperator<double>> fused_operator(const LinearOperator<double>&);

}  // namespace tessera::detail
