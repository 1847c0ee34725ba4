// Products of more than two factors.
#include "core/parallel.hpp"
#include "spgemm/common/backends.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace tessera {

namespace {

template <class T>
Csr<T> identity_like(const Csr<T>& a) {
  const std::int64_t n = a.rows();
  Array<offset_t> offsets(n + 1, Init::none);
  Array<index_t> columns(n, Init::none);
  Array<T> values(a.is_pattern() ? 0 : n, Init::none);
  for (std::int64_t i = 0; i < n; ++i) {
    offsets[i] = i;
    columns[i] = static_cast<index_t>(i);
  }
  offsets[n] = n;
  if (a.is_pattern()) return Csr<T>::pattern(n, n, std::move(offsets), std::move(columns), Check::trusted);
  for (T& value : values) value = T{1};
  return Csr<T>(n, n, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
Csr<T> on_device(Csr<T> matrix, const Device& device) {
  return matrix.device() == device ? std::move(matrix) : matrix.to(device);
}

}  // namespace

template <class T>
GalerkinResult<T> galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, const GalerkinOptions& options) {
  // Both products are checked before the first is formed; A P has the rows of A.
  detail::check_product(a, p, options.a_p, "A", "P");
  detail::check_product(r, a, options.r_ap, "R", "A");
  if (!(options.a_p.device == options.r_ap.device)) {
    throw NotSupported(fmt::format("A P is to be formed on {}, R (A P) on {}: both products need one device",
                                   options.a_p.device.name(), options.r_ap.device.name()));
  }
  SpgemmResult<T> a_p = spgemm(a, p, options.a_p);
  SpgemmResult<T> r_ap = spgemm(r, a_p.matrix, options.r_ap);
  GalerkinResult<T> result{std::move(r_ap.matrix), std::move(a_p.report), std::move(r_ap.report), Csr<T>{}};
  if (options.keep_a_p) result.a_p_matrix = std::move(a_p.matrix);
  return result;
}

template <class T>
GalerkinResult<T> galerkin(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, const SpgemmOptions& options) {
  return galerkin(r, a, p, GalerkinOptions{options, options, false});
}

template <class T>
MatrixPower<T> matrix_power(const Csr<T>& a, int k, const SpgemmOptions& options) {
  if (a.rows() != a.cols()) {
    throw DimensionError(fmt::format("powers need a square matrix, A is {} x {}", a.rows(), a.cols()));
  }
  if (k < 0) throw InvalidArgument(fmt::format("the power of a matrix must be at least 0, got {}", k));
  detail::check_product(a, a, options);
  MatrixPower<T> result;
  if (k == 0) {
    result.matrix = on_device(identity_like(a), options.device);
    return result;
  }
  const auto multiply = [&](const Csr<T>& left, const Csr<T>& right) {
    SpgemmOptions remaining = options;
    if (options.memory_limit_bytes != 0) {
      // The power so far is a factor and stays until the product is there.
      const std::uint64_t held = result.matrix.bytes();
      if (held >= options.memory_limit_bytes) {
        throw OutOfMemory(held, options.memory_limit_bytes, "power of a sparse matrix");
      }
      remaining.memory_limit_bytes -= held;
    }
    SpgemmResult<T> product = spgemm(left, right, remaining);
    result.products.push_back(std::move(product.report));
    result.matrix = std::move(product.matrix);
  };
  const auto exponent = static_cast<unsigned>(k);
  bool first = true;
  for (int bit = static_cast<int>(std::bit_width(exponent)) - 2; bit >= 0; --bit) {
    const Csr<T>& power = first ? a : result.matrix;
    multiply(power, power);
    first = false;
    if ((exponent >> bit & 1U) != 0) multiply(result.matrix, a);
  }
  if (first) result.matrix = a.to(options.device);
  return result;
}

template GalerkinResult<float> galerkin(const Csr<float>&, const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template GalerkinResult<double> galerkin(const Csr<double>&, const Csr<double>&, const Csr<double>&,
                                         const SpgemmOptions&);
template GalerkinResult<float> galerkin(const Csr<float>&, const Csr<float>&, const Csr<float>&,
                                        const GalerkinOptions&);
template GalerkinResult<double> galerkin(const Csr<double>&, const Csr<double>&, const Csr<double>&,
                                         const GalerkinOptions&);
template MatrixPower<float> matrix_power(const Csr<float>&, int, const SpgemmOptions&);
template MatrixPower<double> matrix_power(const Csr<double>&, int, const SpgemmOptions&);

}  // namespace tessera
