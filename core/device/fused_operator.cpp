#include "tessera/fused_operator.hpp"

#include "core/cuda/vector_ops.hpp"
#include "core/device/operands.hpp"
#include "core/group_rank.hpp"
#include "core/parallel.hpp"
#include "core/power_of_two.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera {

namespace {

/// A kernel that fuses <w, y> reads w while it writes y.
template <class T>
void check_weights(const LinearOperator<T>& a, std::span<const T> w, std::span<const T> y) {
  detail::check_size(a, "w", w.size(), a.rows());
  if (detail::overlap(w, y)) throw InvalidArgument("w and y of a product must not overlap");
}

/// Both vectors of a dual buffer are written: one receives the result, the other is partly cleared for the next
/// product.
template <class T>
void check_not_in_buffer(const char* name, std::span<const T> vector, DualBuffer<T>& out) {
  if (detail::overlap<T>(vector, out.current()) || detail::overlap<T>(vector, out.next())) {
    throw InvalidArgument(fmt::format("{} must not lie in the buffer that receives the product", name));
  }
}

/// Both sums in one pass.
template <class T>
ProductDots dots_of(const Device& device, std::span<const T> y, std::span<const T> w) {
  if (!device.is_host()) return cuda::dots(device, y, w);
  return host::parallel_sum<ProductDots>(device, static_cast<std::int64_t>(y.size()), [&](host::Range range) {
    ProductDots sums;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      const auto value = static_cast<double>(y[i]);
      sums.wy += static_cast<double>(w[i]) * value;
      sums.yy += value * value;
    }
    return sums;
  });
}

/// r = 2^exponent b - r. \returns ‖r‖₂²
template <class T>
double subtract_from(const Device& device, int exponent, std::span<const T> b, std::span<T> r) {
  if (!device.is_host()) return cuda::subtract_from(device, exponent, b, r);
  return host::parallel_sum<double>(
      device, static_cast<std::int64_t>(r.size()), [=, scaled = host::PowerOfTwo<T>(exponent)](host::Range range) {
        double sum = 0.0;
        for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
          r[i] = scaled(b[i]) - r[i];
          sum += static_cast<double>(r[i]) * static_cast<double>(r[i]);
        }
        return sum;
      });
}

}  // namespace

template <class T>
ProductDots FusedOperator<T>::apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const {
  detail::check_operands<T>(*this, x, y);
  check_weights<T>(*this, w, y);
  if (y.empty()) return {};
  return do_apply_and_dot(x, y, w);
}

template <class T>
void FusedOperator<T>::apply(std::span<const T> x, DualBuffer<T>& out) const {
  detail::check_operands<T>(*this, x, out.current());
  check_not_in_buffer<T>("x", x, out);
  if (this->rows() > 0) do_apply_buffered(x, out);
}

template <class T>
ProductDots FusedOperator<T>::apply_and_dot(std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) const {
  detail::check_operands<T>(*this, x, out.current());
  check_weights<T>(*this, w, out.current());
  check_not_in_buffer<T>("x", x, out);
  check_not_in_buffer<T>("w", w, out);
  if (this->rows() == 0) return {};
  return do_apply_and_dot_buffered(x, out, w);
}

template <class T>
ProductDots FusedOperator<T>::do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const {
  this->do_apply(T{1}, x, T{0}, y);
  return detail::sum_over_ranks(this->device(), dots_of<T>(this->device(), y, w));
}

template <class T>
double FusedOperator<T>::residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  detail::check_operands<T>(*this, x, r);
  detail::check_size<T>(*this, "b", b.size(), this->rows());
  if (detail::overlap<T>(b, r)) throw InvalidArgument("b and r of a residual must not overlap");
  return r.empty() ? 0.0 : do_residual(exponent, b, x, r);
}

template <class T>
double FusedOperator<T>::do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  this->do_apply(T{1}, x, T{0}, r);
  return detail::sum_over_ranks(this->device(), subtract_from<T>(this->device(), exponent, b, r));
}

template <class T>
void FusedOperator<T>::do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const {
  out.set_prepared_for(0);
  this->do_apply(T{1}, x, T{0}, out.current());
}

template <class T>
ProductDots FusedOperator<T>::do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out,
                                                        std::span<const T> w) const {
  out.set_prepared_for(0);
  return do_apply_and_dot(x, out.current(), w);
}

template <class T>
void IdentityOperator<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  detail::combine(device_, alpha, x, beta, y);
}

template class FusedOperator<float>;
template class FusedOperator<double>;
template class IdentityOperator<float>;
template class IdentityOperator<double>;

}  // namespace tessera
