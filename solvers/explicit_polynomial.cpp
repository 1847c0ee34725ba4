/// The polynomial p(D⁻¹ A) D⁻¹ as a sparse matrix.
#include "solvers/explicit_polynomial.hpp"

#include "core/borrowed_csr.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/statistics.hpp"

#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

template <class T>
Csr<T> diagonal_matrix(const Device& device, const Array<T>& inverse, double beta) {
  const std::int64_t n = inverse.size();
  Array<offset_t> offsets(n + 1, n == 0 ? Init::zero : Init::none, device);
  Array<index_t> columns(n, Init::none, device);
  Array<T> values(n, Init::none, device);
  fused::transform_reduce(device, n,
                          ExplicitStart<T>{.beta = static_cast<T>(beta),
                                           .inverse = inverse.data(),
                                           .rows = n,
                                           .offsets = offsets.data(),
                                           .columns = columns.data(),
                                           .values = values.data()});
  return Csr<T>(n, n, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
Csr<T> drop_entries(const Device& device, Csr<T> x, const PolynomialOptions& options, bool is_symmetric) {
  const index_t n = x.rows();
  const CsrPointers<T> entries = pointers_of(x.view());
  Array<double> roots(n, Init::none, device);
  fused::transform_reduce(device, n, ExplicitRoots<T>{.x = entries, .roots = roots.data()});
  ExplicitKeepRule<T> rule{.x = entries,
                           .roots = roots.data(),
                           .tolerance = options.drop_tolerance,
                           .limits = nullptr,
                           .is_symmetric = is_symmetric};
  Array<float> limits;
  if (options.max_row_entries < n) {
    limits = Array<float>(n, Init::none, device);
    fused::transform_reduce(
        device, n, ExplicitRowLimits<T>{.rule = rule, .most = options.max_row_entries, .limits = limits.data()});
    rule.limits = limits.data();
  }
  Array<offset_t> offsets(std::int64_t{n} + 1, Init::none, device);
  transform_rows(device, all_rows(x.view()), CountExplicit<T>{.rule = rule, .counts = offsets.data()});
  const offset_t kept = sum_to_offsets(device, offsets.span());
  if (kept == x.nnz()) return x;
  Array<index_t> columns(kept, Init::none, device);
  Array<T> values(kept, Init::none, device);
  fused::transform_reduce(
      device, n,
      CopyExplicit<T>{.rule = rule, .offsets = offsets.data(), .columns = columns.data(), .values = values.data()});
  return Csr<T>(n, n, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

}  // namespace

template <class T>
Csr<T> explicit_polynomial(const Device& device, const CsrView<T>& a, const DiagonalSpectrum<T>& spectrum,
                           const std::vector<PolynomialStepWeights>& weights, const PolynomialOptions& options,
                           PolynomialInfo& info) {
  const Csr<T> matrix = borrow_csr(a, device);
  SpgemmOptions product_options;
  product_options.device = device;
  product_options.determinism = Determinism::gpu_to_gpu;
  product_options.memory_limit_bytes = options.memory_limit_bytes;
  Csr<T> x = diagonal_matrix(device, spectrum.inverse, weights[0].beta);
  Csr<T> before;
  for (std::size_t k = 1; k < weights.size(); ++k) {
    const Stopwatch product_watch;
    const auto alpha = static_cast<T>(weights[k].alpha);
    const auto beta = static_cast<T>(weights[k].beta);
    Array<T> factor(a.nnz(), Init::none, device);
    transform_rows(device, all_rows(a),
                   ExplicitFactor<T>{.a = pointers_of(a),
                                     .inverse = spectrum.inverse.data(),
                                     .alpha = alpha,
                                     .beta = beta,
                                     .values = factor.data()});
    const Csr<T> product = spgemm(matrix.with_values(std::move(factor)), x, product_options).matrix;
    info.products_ms += product_watch.milliseconds();
    const Stopwatch drop_watch;
    const Csr<T> mirrored = spectrum.is_symmetric ? transpose(product.view(), device) : Csr<T>{};
    const bool uses_before = k > 1 && alpha != T{0};
    Array<T> values(product.nnz(), Init::none, device);
    transform_rows(device, all_rows(product.view()),
                   ExplicitStep<T>{.product = pointers_of(product.view()),
                                   .mirrored = spectrum.is_symmetric ? pointers_of(mirrored.view()) : CsrPointers<T>{},
                                   .before = uses_before ? pointers_of(before.view()) : CsrPointers<T>{},
                                   .inverse = spectrum.inverse.data(),
                                   .alpha = alpha,
                                   .beta = beta,
                                   .values = values.data()});
    before =
        std::exchange(x, drop_entries(device, product.with_values(std::move(values)), options, spectrum.is_symmetric));
    info.drop_ms += drop_watch.milliseconds();
  }
  return x;
}

template Csr<float> explicit_polynomial(const Device&, const CsrView<float>&, const DiagonalSpectrum<float>&,
                                        const std::vector<PolynomialStepWeights>&, const PolynomialOptions&,
                                        PolynomialInfo&);
template Csr<double> explicit_polynomial(const Device&, const CsrView<double>&, const DiagonalSpectrum<double>&,
                                         const std::vector<PolynomialStepWeights>&, const PolynomialOptions&,
                                         PolynomialInfo&);

}  // namespace tessera::detail
