#include "tessera/linear_operator.hpp"

#include "core/cuda/stream_work.hpp"
#include "core/device/operands.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace tessera {

namespace {

void require_size(std::int64_t rows, std::int64_t cols) {
  if (rows < 0 || cols < 0) throw InvalidArgument(fmt::format("operator of size {} x {}", rows, cols));
}

}  // namespace

template <class T>
void LinearOperator<T>::apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  detail::check_operands<T>(*this, x, y);
  if (y.empty()) return;
  if (alpha == T{0}) {
    detail::scale(device(), beta, y);
  } else {
    do_apply(alpha, x, beta, y);
  }
}

template <class T>
void LinearOperator<T>::apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  if (!has_transpose()) {
    throw NotSupported(
        fmt::format("this {} x {} operator offers no transposed product: {}", rows(), cols(), transpose_remedy()));
  }
  detail::check_transposed_operands<T>(*this, x, y);
  if (y.empty()) return;
  if (alpha == T{0}) {
    detail::scale(device(), beta, y);
  } else {
    do_apply_transposed(alpha, x, beta, y);
  }
}

template <class T>
void LinearOperator<T>::do_apply_transposed(T /*alpha*/, std::span<const T> /*x*/, T /*beta*/,
                                            std::span<T> /*y*/) const {
  throw NotSupported("an operator that says has_transpose() must override do_apply_transposed()");
}

template <class T>
std::string_view LinearOperator<T>::transpose_remedy() const {
  return "its class has to override has_transpose() and do_apply_transposed()";
}

template <class T>
void LinearOperator<T>::enqueue(std::span<const T> x, std::span<T> y, CUstream_st* stream) const {
  if (!can_enqueue() || device().is_host()) {
    throw NotSupported(fmt::format(
        "this {} x {} operator on {} cannot be enqueued: {}", rows(), cols(), device().name(),
        can_enqueue() ? "only a GPU has streams" : "its class has to override can_enqueue() and do_enqueue()"));
  }
  detail::check_operands<T>(*this, x, y);
  if (!y.empty()) do_enqueue(x, y, stream);
}

template <class T>
void LinearOperator<T>::do_enqueue(std::span<const T> /*x*/, std::span<T> /*y*/, CUstream_st* /*stream*/) const {
  throw NotSupported("an operator that says can_enqueue() must override do_enqueue()");
}

template <class T>
void LinearOperator<T>::apply_by_enqueue(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  const auto product = [this](std::span<const T> from, std::span<T> to) {
    const auto work = [&](CUstream_st* stream) { enqueue(from, to, stream); };
    cuda::work_in_stream(device(), std::cref(work));
  };
  detail::apply_overwriting(device(), product, alpha, x, beta, y);
}

template <class T>
FunctionOperator<T>::FunctionOperator(std::int64_t rows, std::int64_t cols, Function function, const Device& device)
    : rows_(rows), cols_(cols), function_(std::move(function)), device_(device) {
  require_size(rows, cols);
  if (!function_) throw InvalidArgument("FunctionOperator needs a function to call");
}

template <class T>
FunctionOperator<T>::FunctionOperator(std::int64_t rows, std::int64_t cols, Function function, Function transposed,
                                      const Device& device)
    : FunctionOperator(rows, cols, std::move(function), device) {
  transposed_ = std::move(transposed);
  if (!transposed_) throw InvalidArgument("FunctionOperator with a transpose needs a second function to call");
}

template <class T>
FunctionOperator<T>::FunctionOperator(std::int64_t rows, std::int64_t cols, StreamFunction function,
                                      const Device& device)
    : rows_(rows), cols_(cols), device_(device), enqueued_(std::move(function)) {
  require_size(rows, cols);
  if (!enqueued_) throw InvalidArgument("FunctionOperator needs a function to call");
  if (device.is_host()) throw InvalidArgument("a FunctionOperator on the host cannot take a stream: it has none");
}

template <class T>
void FunctionOperator<T>::do_enqueue(std::span<const T> x, std::span<T> y, CUstream_st* stream) const {
  enqueued_(x, y, stream);
}

template <class T>
void FunctionOperator<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  if (enqueued_) return this->apply_by_enqueue(alpha, x, beta, y);
  detail::apply_overwriting(device_, function_, alpha, x, beta, y);
}

template <class T>
void FunctionOperator<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  detail::apply_overwriting(device_, transposed_, alpha, x, beta, y);
}

template <class T>
std::string_view FunctionOperator<T>::transpose_remedy() const {
  return "give FunctionOperator a second function, for the transpose";
}

template class LinearOperator<float>;
template class LinearOperator<double>;
template class FunctionOperator<float>;
template class FunctionOperator<double>;

}  // namespace tessera
