/// ILU(0) and IC(0) on a GPU: factorization with the shifts that it needs, and the solve.
#include "solvers/factors/device_factors.hpp"

#include "core/borrowed_csr.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/matrix_checks.hpp"
#include "solvers/factors/preparation.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// <A u, v> = <u, A v> for random u and v, to rounding.
template <class T>
void require_symmetric_by_probe(const CsrView<T>& a, const Device& device) {
  DeviceValue<AsymmetrySums> sums(device);
  transform_rows(device, all_rows(a), AsymmetryProbe<T>{.a = pointers_of(a)}, sums.data());
  const AsymmetrySums found = sums.get();
  // NaN is left to the check of the factors.
  const double rounding = 1e4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(found.squares);
  if (!(std::abs(found.difference) > rounding)) return;
  throw InvalidMatrix(fmt::format(
      "incomplete Cholesky needs a symmetric matrix: for random vectors <A u, v> and <u, A v> differ by {:.3g}",
      std::abs(found.difference)));
}

/// Names what is wrong with a matrix whose factors are not as they should be. Copies it to the host.
template <class T>
void find_fault(const CsrView<T>& a, bool cholesky, const Device& device) {
  const Csr<T> copy = borrow_csr(a, device).to(Device{});
  require_finite_values(copy.view(), Device{});
  if (!cholesky) return;
  require_symmetric(copy.view());
  require_positive_diagonal(copy.view());
}

template <class T>
cuda::DeviceFactors<T> with_shifts(const CsrView<T>& a, const IncompleteFactorOptions& options, const Device& device,
                                   double& shift) {
  const bool cholesky = options.kind == FactorKind::ic0;
  for (shift = 0.0;;) {
    cuda::DeviceFactors<T> factors = cuda::factor_on_device(a, cholesky, shift, device);
    if (!cholesky || factors.positive) return factors;
    if (shift == 0.0) find_fault(a, cholesky, device);
    shift = host::next_shift(shift, {options.smallest_shift, options.largest_shift}, "a pivot");
  }
}

/// ‖(L U)⁻¹ e‖∞ by the operator, which neither scales nor permutes.
template <class T>
double estimate_by_solve(const FactorSolve<T>& solve, const Device& device) {
  const std::vector<T> ones(static_cast<std::size_t>(solve.rows()), T{1});
  const Array<T> e = Array<T>::copy_of(ones, device);
  Array<T> z(solve.rows(), Init::none, device);
  solve.apply(e.span(), z.span());
  const Array<T> solution = fused::to_host(device, std::as_const(z).span());
  Largest largest;
  for (const T value : solution) largest += Largest{std::abs(static_cast<double>(value))};
  return largest.value;
}

}  // namespace

bool factorizes_on_device(const IncompleteFactorOptions& options, const Device& device) {
  const bool is_known = options.kind == FactorKind::ilu0 || options.kind == FactorKind::ic0;
  const bool is_plain = options.scaling == FactorScaling::automatic || options.scaling == FactorScaling::none;
  const bool is_matched = options.matching == FactorMatching::scale || options.matching == FactorMatching::permute;
  return !device.is_host() && is_known && is_plain && !is_matched && options.blocks == 1 &&
         chosen_ordering(options) == Ordering::natural;
}

template <class T>
std::unique_ptr<FactorSolve<T>> factor_and_analyse_on_device(const CsrView<T>& matrix,
                                                             const IncompleteFactorOptions& options,
                                                             const Device& device, IncompleteFactorInfo& info) {
  const bool cholesky = options.kind == FactorKind::ic0;
  const Stopwatch watch;
  const FactorBudget budget(options, matrix.rows, matrix.nnz());
  if (cholesky) require_symmetric_by_probe(matrix, device);
  info.scaling = "none";
  info.ordering = Ordering::natural;
  info.prepare_ms = watch.milliseconds();

  cuda::DeviceFactors<T> factors = with_shifts(matrix, options, device, info.shift);
  const offset_t n = matrix.rows;
  info.lower_nnz = factors.lower.strict.nnz() + (cholesky ? n : 0);
  info.upper_nnz = cholesky ? 0 : factors.upper.strict.nnz() + n;
  const offset_t entries = factors.lower.strict.nnz() + factors.upper.strict.nnz() + n;
  info.fill = matrix.nnz() == 0 ? 0.0 : static_cast<double>(entries) / static_cast<double>(matrix.nnz());
  info.zero_pivots = factors.zero_pivots;
  budget.check(matrix.rows, entries);
  budget.check_time();
  info.factor_ms = watch.milliseconds() - info.prepare_ms;

  PreparedFactors<T> prepared;
  prepared.lower = std::move(factors.lower);
  prepared.upper = std::move(factors.upper);
  auto solve = cuda::make_factor_solve(std::move(prepared), options.solve, device);
  info.condition_estimate = estimate_by_solve(*solve, device);
  if (!std::isfinite(info.condition_estimate) || info.zero_pivots > 0) find_fault(matrix, cholesky, device);
  info.analysis_ms = watch.milliseconds() - info.prepare_ms - info.factor_ms;
  return solve;
}

template std::unique_ptr<FactorSolve<float>> factor_and_analyse_on_device(const CsrView<float>&,
                                                                          const IncompleteFactorOptions&, const Device&,
                                                                          IncompleteFactorInfo&);
template std::unique_ptr<FactorSolve<double>> factor_and_analyse_on_device(const CsrView<double>&,
                                                                           const IncompleteFactorOptions&,
                                                                           const Device&, IncompleteFactorInfo&);

}  // namespace tessera::detail
