// Products of more than two factors.
#include "core/parallel.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/common/powering.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

namespace {

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
  detail::check_power(a, k);
  detail::check_product(a, a, options);
  MatrixPower<T> result;
  if (k == 0) {
    result.matrix = on_device(detail::identity<T>(a.rows(), a.is_pattern()), options.device);
  } else if (k == 1) {
    result.matrix = a.to(options.device);
  } else {
    result.matrix = detail::power_of<SpgemmResult<T>>(a, k, options, result.products);
  }
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
