#include "tessera/spgemm.hpp"

#include "spgemm/common/backends.hpp"

namespace tessera {

template <class T>
SpgemmResult<T> spgemm(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  detail::check_product(a, b, options);
  if (!options.device.is_host()) return cuda::multiply<T>(a, b, options);
  return host::multiply<T>(a, b, options);
}

template <class T>
SpgemmResult<T> spgemm_pattern(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  detail::check_product(a, b, options);
  if (!options.device.is_host()) return cuda::multiply<detail::NoValue>(a, b, options);
  return host::multiply<detail::NoValue>(a, b, options);
}

template SpgemmResult<float> spgemm(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<double> spgemm(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);
template SpgemmResult<float> spgemm_pattern(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<double> spgemm_pattern(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);

}  // namespace tessera
