/// \file
/// Epilogues of the host kernels: what happens to a row sum s, y = α s, y = α s + β y, or y = s with the inner
/// products. Each is a type with the same operations, so that loops contain no branch:
///   store(i, s, dots)   row i is complete: write it, and add its terms to the inner products
///   store_shared(i, s)  row i is complete except for later calls of add(): write it
///   add(i, s)           another part of row i
///   finish(i, dots)     all parts of row i were added: add its terms to the inner products
#pragma once

#include "tessera/fused_operator.hpp"

#include <atomic>

namespace tessera::host {

/// y = α s. Never reads the old y.
template <class T>
struct Overwrite {
  T* y;
  T alpha;
  void store(index_t i, T sum, ProductDots& /*dots*/) const noexcept { store_shared(i, sum); }
  void store_shared(index_t i, T sum) const noexcept { y[i] = alpha * sum; }
  void add(index_t i, T sum) const noexcept { y[i] += alpha * sum; }
  void add_atomic(index_t i, T sum) const noexcept {
    std::atomic_ref<T>(y[i]).fetch_add(alpha * sum, std::memory_order_relaxed);
  }
  void clear_shared(index_t i) const noexcept { y[i] = T{0}; }
  void finish(index_t /*i*/, ProductDots& /*dots*/) const noexcept {}
};

/// y = α s + β y.
template <class T>
struct Accumulate {
  T* y;
  T alpha;
  T beta;
  void store(index_t i, T sum, ProductDots& /*dots*/) const noexcept { store_shared(i, sum); }
  void store_shared(index_t i, T sum) const noexcept { y[i] = alpha * sum + beta * y[i]; }
  void add(index_t i, T sum) const noexcept { y[i] += alpha * sum; }
  void add_atomic(index_t i, T sum) const noexcept {
    std::atomic_ref<T>(y[i]).fetch_add(alpha * sum, std::memory_order_relaxed);
  }
  void clear_shared(index_t i) const noexcept { y[i] *= beta; }
  void finish(index_t /*i*/, ProductDots& /*dots*/) const noexcept {}
};

/// y = s with <w, y> and <y, y>, summed in double from the values as they stand in y.
template <class T>
struct OverwriteAndDot {
  T* y;
  const T* w;
  void store(index_t i, T sum, ProductDots& dots) const noexcept {
    y[i] = sum;
    finish(i, dots);
  }
  void store_shared(index_t i, T sum) const noexcept { y[i] = sum; }
  void add(index_t i, T sum) const noexcept { y[i] += sum; }
  void add_atomic(index_t i, T sum) const noexcept {
    std::atomic_ref<T>(y[i]).fetch_add(sum, std::memory_order_relaxed);
  }
  void clear_shared(index_t i) const noexcept { y[i] = T{0}; }
  void finish(index_t i, ProductDots& dots) const noexcept {
    const auto value = static_cast<double>(y[i]);
    dots.wy += static_cast<double>(w[i]) * value;
    dots.yy += value * value;
  }
};

/// function(epilogue) for y = α A x + β y.
template <class T, class Function>
void with_epilogue(T alpha, T beta, std::span<T> y, Function&& function) {
  if (beta == T{0}) {
    function(Overwrite<T>{y.data(), alpha});
  } else {
    function(Accumulate<T>{y.data(), alpha, beta});
  }
}

}  // namespace tessera::host
