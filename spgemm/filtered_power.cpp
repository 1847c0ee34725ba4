/// \file
/// Powers of a matrix whose products are filtered.
#include "spgemm/common/backends.hpp"
#include "spgemm/common/powering.hpp"
#include "tessera/spgemm_slices.hpp"

#include <utility>

namespace tessera {

namespace {

/// Appends the report of a product and filters it.
template <class T>
[[nodiscard]] Csr<T> filtered(SpgemmResult<T> product, const Keep& keep, FilteredPower<T>& result) {
  result.products.push_back(std::move(product.report));
  Csr<T> kept = keep.is_all() ? std::move(product.matrix) : keep_entries(product.matrix, keep);
  result.dropped.push_back(result.products.back().nnz - kept.nnz());
  return kept;
}

}  // namespace

template <class T>
FilteredPower<T> matrix_power(const Csr<T>& a, int k, const Keep& keep, const SpgemmOptions& options) {
  detail::check_power(a, k);
  detail::check_product(a, a, options);
  detail::check_keep(keep);
  FilteredPower<T> result;
  if (k == 0) {
    result.matrix = detail::identity<T>(a.rows(), a.is_pattern()).to(options.device);
    return result;
  }
  result.matrix = a.to(options.device);
  for (const detail::PowerProduct& step : detail::binary_steps(k)) {
    Csr<T>& power = result.matrix;
    const Csr<T>& right = step.left == step.right ? power : a;
    power = filtered(spgemm(power, right, detail::beside(options, power.bytes())), keep, result);
  }
  return result;
}

template FilteredPower<float> matrix_power(const Csr<float>&, int, const Keep&, const SpgemmOptions&);
template FilteredPower<double> matrix_power(const Csr<double>&, int, const Keep&, const SpgemmOptions&);

}  // namespace tessera
