#include "tessera/linear_operator.hpp"

#include "core/cuda/vector_ops.hpp"
#include "core/parallel.hpp"
#include "core/power_of_two.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace tessera {

namespace {

template <class T>
bool overlap(std::span<const T> a, std::span<const T> b) {
  if (a.empty() || b.empty()) return false;
  const std::less<const T*> before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

template <class T>
void check_size(const LinearOperator<T>& a, const char* name, std::size_t size, std::int64_t expected) {
  if (static_cast<std::int64_t>(size) == expected) return;
  throw DimensionError(fmt::format("operator is {} x {}: vector {} must have {} elements, has {}", a.rows(), a.cols(),
                                   name, expected, size));
}

template <class T>
void check_operands(const LinearOperator<T>& a, std::span<const T> x, std::span<const T> y) {
  check_size(a, "x", x.size(), a.cols());
  check_size(a, "y", y.size(), a.rows());
  if (overlap(x, y)) throw InvalidArgument("x and y of a product must not overlap");
}

template <class T>
void check_transposed_operands(const LinearOperator<T>& a, std::span<const T> x, std::span<const T> y) {
  check_size(a, "x of the transposed product", x.size(), a.rows());
  check_size(a, "y of the transposed product", y.size(), a.cols());
  if (overlap(x, y)) throw InvalidArgument("x and y of a product must not overlap");
}

/// A kernel that fuses <w, y> reads w while it writes y.
template <class T>
void check_weights(const LinearOperator<T>& a, std::span<const T> w, std::span<const T> y) {
  check_size(a, "w", w.size(), a.rows());
  if (overlap(w, y)) throw InvalidArgument("w and y of a product must not overlap");
}

/// Both vectors of a dual buffer are written: one receives the result, the other is partly cleared for the next
/// product.
template <class T>
void check_not_in_buffer(const char* name, std::span<const T> vector, DualBuffer<T>& out) {
  if (overlap<T>(vector, out.current()) || overlap<T>(vector, out.next())) {
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

/// y = β y; β = 0 overwrites NaN and infinity too.
template <class T>
void scale(const Device& device, T beta, std::span<T> y) {
  if (beta == T{1}) return;
  if (!device.is_host()) return cuda::scale(device, beta, y);
  host::parallel_for(device, static_cast<std::int64_t>(y.size()), [=](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      y[i] = beta == T{0} ? T{0} : beta * y[i];
    }
  });
}

/// y = α x + β y; the old y is not read when β = 0.
template <class T>
void combine(const Device& device, T alpha, std::span<const T> x, T beta, std::span<T> y) {
  if (!device.is_host()) return cuda::combine(device, alpha, x, beta, y);
  host::parallel_for(device, static_cast<std::int64_t>(y.size()), [=](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      y[i] = beta == T{0} ? alpha * x[i] : alpha * x[i] + beta * y[i];
    }
  });
}

/// y = α f(x) + β y for a function that overwrites; scratch space only when β ≠ 0.
template <class T>
void apply_function(const typename FunctionOperator<T>::Function& function, const Device& device, T alpha,
                    std::span<const T> x, T beta, std::span<T> y) {
  if (beta == T{0}) {
    function(x, y);
    if (alpha != T{1}) scale(device, alpha, y);
    return;
  }
  Array<T> product(static_cast<std::int64_t>(y.size()), Init::none, device);
  function(x, product.span());
  combine<T>(device, alpha, product.span(), beta, y);
}

void require_size(std::int64_t rows, std::int64_t cols) {
  if (rows < 0 || cols < 0) throw InvalidArgument(fmt::format("operator of size {} x {}", rows, cols));
}

}  // namespace

template <class T>
void LinearOperator<T>::apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  check_operands<T>(*this, x, y);
  if (y.empty()) return;
  if (alpha == T{0}) {
    scale(device(), beta, y);
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
  check_transposed_operands<T>(*this, x, y);
  if (y.empty()) return;
  if (alpha == T{0}) {
    scale(device(), beta, y);
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
ProductDots LinearOperator<T>::apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const {
  check_operands<T>(*this, x, y);
  check_weights<T>(*this, w, y);
  if (y.empty()) return {};
  return do_apply_and_dot(x, y, w);
}

template <class T>
void LinearOperator<T>::apply(std::span<const T> x, DualBuffer<T>& out) const {
  check_operands<T>(*this, x, out.current());
  check_not_in_buffer<T>("x", x, out);
  if (rows() > 0) do_apply_buffered(x, out);
}

template <class T>
ProductDots LinearOperator<T>::apply_and_dot(std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) const {
  check_operands<T>(*this, x, out.current());
  check_weights<T>(*this, w, out.current());
  check_not_in_buffer<T>("x", x, out);
  check_not_in_buffer<T>("w", w, out);
  if (rows() == 0) return {};
  return do_apply_and_dot_buffered(x, out, w);
}

template <class T>
ProductDots LinearOperator<T>::do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const {
  do_apply(T{1}, x, T{0}, y);
  return dots_of<T>(device(), y, w);
}

template <class T>
double LinearOperator<T>::residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  check_operands<T>(*this, x, r);
  check_size(*this, "b", b.size(), rows());
  if (overlap<T>(b, r)) throw InvalidArgument("b and r of a residual must not overlap");
  return r.empty() ? 0.0 : do_residual(exponent, b, x, r);
}

template <class T>
double LinearOperator<T>::do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  do_apply(T{1}, x, T{0}, r);
  if (!device().is_host()) return cuda::subtract_from(device(), exponent, b, r);
  return host::parallel_sum<double>(
      device(), static_cast<std::int64_t>(r.size()), [=, scaled = host::PowerOfTwo<T>(exponent)](host::Range range) {
        double sum = 0.0;
        for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
          r[i] = scaled(b[i]) - r[i];
          sum += static_cast<double>(r[i]) * static_cast<double>(r[i]);
        }
        return sum;
      });
}

template <class T>
void LinearOperator<T>::do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const {
  out.set_prepared_for(0);
  do_apply(T{1}, x, T{0}, out.current());
}

template <class T>
ProductDots LinearOperator<T>::do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out,
                                                         std::span<const T> w) const {
  out.set_prepared_for(0);
  return do_apply_and_dot(x, out.current(), w);
}

template <class T>
void IdentityOperator<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  combine(device_, alpha, x, beta, y);
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
void FunctionOperator<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  apply_function(function_, device_, alpha, x, beta, y);
}

template <class T>
void FunctionOperator<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  apply_function(transposed_, device_, alpha, x, beta, y);
}

template <class T>
std::string_view FunctionOperator<T>::transpose_remedy() const {
  return "give FunctionOperator a second function, for the transpose";
}

template class LinearOperator<float>;
template class LinearOperator<double>;
template class IdentityOperator<float>;
template class IdentityOperator<double>;
template class FunctionOperator<float>;
template class FunctionOperator<double>;

}  // namespace tessera
