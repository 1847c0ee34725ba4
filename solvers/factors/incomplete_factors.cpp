/// Incomplete factors as a preconditioner: checks, preparation, factorization, and the operator of both triangles.
#include "tessera/incomplete_factors.hpp"

#include "core/borrowed_csr.hpp"
#include "core/device/matrix_place.hpp"
#include "core/enqueued_product.hpp"
#include "core/stopwatch.hpp"
#include "solvers/factors/device_factors.hpp"
#include "solvers/factors/factorization.hpp"
#include "solvers/factors/matrix_checks.hpp"
#include "solvers/factors/preparation.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {

namespace {

using detail::FactorBudget;
using detail::Factorization;
using detail::FactorPermutations;
using detail::FactorRows;
using detail::PreparedFactors;
using detail::PreparedMatrix;

bool is_cholesky(FactorKind kind) { return kind == FactorKind::ic0 || kind == FactorKind::ict; }

/// What a refresh keeps.
struct KeptOrders {
  FactorPermutations permutations;
  std::vector<index_t> column_order;  ///< of ILUTP
};

/// A set of factors with its operator.
template <class T>
struct FactorSet {
  KeptOrders orders;
  IncompleteFactorInfo info;
  std::unique_ptr<detail::FactorSolve<T>> solve;
};

template <class T>
void require_square(const CsrView<T>& a) {
  if (a.is_square()) return;
  throw DimensionError(fmt::format("incomplete factors need a square matrix, got {} x {}", a.rows, a.cols));
}

template <class T>
void check_matrix(const CsrView<T>& a, FactorKind kind, const Device& threads) {
  detail::require_finite_values(a, threads);
  if (!is_cholesky(kind)) return;
  detail::require_symmetric(a);
  detail::require_positive_diagonal(a);
}

Factorization factorize(const FactorRows& a, const IncompleteFactorOptions& options,
                        const std::vector<index_t>& column_order, const FactorBudget& budget, const Device& threads) {
  const host::ShiftOptions shifts{options.smallest_shift, options.largest_shift};
  switch (options.kind) {
    case FactorKind::ilu0:
      return host::ilu_on_pattern(a, 0, budget, threads);
    case FactorKind::iluk:
      return host::ilu_on_pattern(a, options.level, budget, threads);
    case FactorKind::ilut:
      return host::ilut(a, {options.drop_tolerance, options.max_row_entries, 0.0}, budget);
    case FactorKind::ilutp:
      return host::ilut(a,
                        {options.drop_tolerance, options.max_row_entries,
                         column_order.empty() ? options.pivot_tolerance : 0.0, column_order},
                        budget);
    case FactorKind::ic0:
      return host::ic0(a, shifts, budget, threads);
    case FactorKind::ict:
      return host::ict(a, options.drop_tolerance, options.max_row_entries, shifts, budget);
  }
  throw InvalidArgument("IncompleteFactorOptions::kind has no such value");
}

template <class T>
Array<T> rounded(const std::vector<double>& values, const Device& device) {
  Array<T> result(static_cast<std::int64_t>(values.size()), Init::none);
  std::transform(values.begin(), values.end(), result.begin(), [](double value) { return static_cast<T>(value); });
  return device.is_host() ? std::move(result) : result.to(device);
}

template <class T>
Csr<T> strict_triangle(const FactorRows& rows, const Device& device) {
  return Csr<T>(rows.rows(), rows.rows(), Array<offset_t>::copy_of(rows.offsets, device),
                Array<index_t>::copy_of(rows.columns, device), rounded<T>(rows.values, device), Check::trusted);
}

/// scales[order[k]], or scales[k] without an order.
template <class T>
Array<T> ordered(const std::vector<double>& scales, const std::vector<index_t>& order, const Device& device) {
  if (scales.empty() || order.empty()) return rounded<T>(scales, device);
  std::vector<double> result(scales.size());
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = scales[static_cast<std::size_t>(order[k])];
  return rounded<T>(result, device);
}

/// The columns of A by the steps that eliminate them: first ordered by `outer`, then by `inner`.
std::vector<index_t> composed(const std::vector<index_t>& outer, const std::vector<index_t>& inner) {
  if (outer.empty() || inner.empty()) return outer.empty() ? inner : outer;
  std::vector<index_t> result(outer.size());
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = outer[static_cast<std::size_t>(inner[k])];
  return result;
}

template <class T>
PreparedFactors<T> prepared_factors(const Factorization& factors, const PreparedMatrix& prepared,
                                    const Device& device) {
  std::vector<double> inverse(factors.diagonal.size());
  std::transform(factors.diagonal.begin(), factors.diagonal.end(), inverse.begin(),
                 [](double value) { return 1.0 / value; });
  const std::vector<index_t> column_to = composed(prepared.permutations.column_to, factors.column_order);
  return {.lower = {strict_triangle<T>(factors.lower, device),
                    factors.is_symmetric ? rounded<T>(inverse, device) : Array<T>(0, Init::none, device)},
          .upper = {strict_triangle<T>(factors.upper, device), rounded<T>(inverse, device)},
          .row_from = Array<index_t>::copy_of(prepared.permutations.row_from, device),
          .row_scale = ordered<T>(prepared.scales.row, prepared.permutations.row_from, device),
          .column_to = Array<index_t>::copy_of(column_to, device),
          .column_scale = ordered<T>(prepared.scales.column, column_to, device)};
}

template <class T>
std::unique_ptr<detail::FactorSolve<T>> make_solve(PreparedFactors<T> factors, TriangularSolve wanted,
                                                   const Device& device) {
  if (device.is_host()) return host::make_factor_solve(std::move(factors), device);
  return cuda::make_factor_solve(std::move(factors), wanted, device);
}

template <class T>
void note_solve(const detail::FactorSolve<T>& solve, IncompleteFactorInfo& info) {
  info.solve = solve.kind();
  info.lower_levels = solve.lower_levels();
  info.upper_levels = solve.upper_levels();
}

void note_factors(const Factorization& factors, offset_t matrix_entries, IncompleteFactorInfo& info) {
  const auto n = static_cast<offset_t>(factors.diagonal.size());
  info.lower_nnz = factors.lower.nnz() + (factors.is_symmetric ? n : 0);
  info.upper_nnz = factors.is_symmetric ? 0 : factors.upper.nnz() + n;
  info.fill = matrix_entries == 0 ? 0.0 : static_cast<double>(factors.entries()) / static_cast<double>(matrix_entries);
  info.zero_pivots = factors.zero_pivots;
  info.shift = factors.shift;
  info.condition_estimate = host::condition_estimate(factors);
}

/// \param a on the host \param kept of earlier factors; null: none
template <class T>
FactorSet<T> factors_by_host(const CsrView<T>& a, const IncompleteFactorOptions& options, const KeptOrders* kept,
                             const Device& device) {
  const Device threads = device.is_host() ? device : Device{};
  const Stopwatch watch;
  check_matrix(a, options.kind, threads);
  const FactorBudget budget(options, a.rows, a.nnz());
  PreparedMatrix prepared = detail::prepare_matrix(a, options, kept == nullptr ? nullptr : &kept->permutations);
  FactorSet<T> set;
  set.info.ordering = detail::chosen_ordering(options);
  set.info.scaling = prepared.scales.name;
  set.info.permuted = prepared.permutations.is_matched;
  set.info.smallest_diagonal = prepared.smallest_diagonal;
  set.info.prepare_ms = watch.milliseconds();
  budget.check_time();

  const Stopwatch factor_watch;
  Factorization factors = factorize(prepared.matrix, options,
                                    kept == nullptr ? std::vector<index_t>{} : kept->column_order, budget, threads);
  set.info.factor_ms = factor_watch.milliseconds();

  const Stopwatch analysis_watch;
  note_factors(factors, a.nnz(), set.info);
  set.solve = make_solve(prepared_factors<T>(factors, prepared, device), options.solve, device);
  note_solve(*set.solve, set.info);
  set.info.analysis_ms = analysis_watch.milliseconds();
  set.orders = {std::move(prepared.permutations), std::move(factors.column_order)};
  return set;
}

}  // namespace

template <class T>
struct IncompleteFactors<T>::Impl {
  Device device;
  IncompleteFactorOptions options;
  index_t rows;
  FactorSet<T> set;
  PreconditionerInfo info;

  Impl(const CsrView<T>& matrix, const IncompleteFactorOptions& wanted, const Device& where)
      : device(where), options(wanted), rows(matrix.rows) {
    detail::check_factor_options(options);
    require_square(matrix);
    info.name = to_string(options.kind);
    info.is_symmetric = is_cholesky(options.kind);
    set_up(matrix, nullptr);
  }

  void refresh(const CsrView<T>& matrix) {
    require_square(matrix);
    if (matrix.rows != rows) {
      throw DimensionError(fmt::format("incomplete factors were made for {0} x {0}, got {1} x {1}", rows, matrix.rows));
    }
    set_up(matrix, &set.orders);
  }

  void set_up(const CsrView<T>& matrix, const KeptOrders* kept) {
    const Stopwatch watch;
    set = make_set(matrix, kept);
    info.bytes = set.solve->bytes();
    info.setup_ms = watch.milliseconds();
  }

  FactorSet<T> make_set(const CsrView<T>& matrix, const KeptOrders* kept) const {
    if (device.is_host()) return factors_by_host(matrix, options, kept, device);
    if (detail::factorizes_on_device(options, device)) {
      FactorSet<T> made;
      made.solve = detail::factor_and_analyse_on_device(matrix, options, device, made.info);
      note_solve(*made.solve, made.info);
      return made;
    }
    const Csr<T> copy = detail::borrow_csr(matrix, device).to(Device{});
    return factors_by_host(copy.view(), options, kept, device);
  }
};

template <class T>
IncompleteFactors<T>::IncompleteFactors(const CsrView<T>& matrix, const IncompleteFactorOptions& options,
                                        const Device& device)
    : impl_((detail::require_within_reach(matrix, device, "an incomplete factorization"),
             std::make_unique<Impl>(matrix, options, device))) {}
template <class T>
IncompleteFactors<T>::~IncompleteFactors() = default;
template <class T>
IncompleteFactors<T>::IncompleteFactors(IncompleteFactors&&) noexcept = default;
template <class T>
IncompleteFactors<T>& IncompleteFactors<T>::operator=(IncompleteFactors&&) noexcept = default;

template <class T>
std::int64_t IncompleteFactors<T>::rows() const {
  return impl_->rows;
}
template <class T>
Device IncompleteFactors<T>::device() const {
  return impl_->device;
}
template <class T>
bool IncompleteFactors<T>::has_transpose() const {
  return impl_->info.is_symmetric || impl_->set.solve->has_transpose();
}
template <class T>
const PreconditionerInfo& IncompleteFactors<T>::info() const noexcept {
  return impl_->info;
}
template <class T>
const IncompleteFactorInfo& IncompleteFactors<T>::factors() const noexcept {
  return impl_->set.info;
}
template <class T>
void IncompleteFactors<T>::refresh(const CsrView<T>& matrix) {
  impl_->refresh(matrix);
}
template <class T>
void IncompleteFactors<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->set.solve->apply(alpha, x, beta, y);
}
template <class T>
void IncompleteFactors<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  if (impl_->info.is_symmetric) return do_apply(alpha, x, beta, y);
  impl_->set.solve->apply_transposed(alpha, x, beta, y);
}
template <class T>
std::string_view IncompleteFactors<T>::transpose_remedy() const {
  return "on a GPU ic0 and ict have one; on the host all incomplete factors";
}
template <class T>
const detail::EnqueuedProduct<T>* IncompleteFactors<T>::enqueued_product() const noexcept {
  return detail::EnqueuedProduct<T>::of(*impl_->set.solve);
}

template class IncompleteFactors<float>;
template class IncompleteFactors<double>;

}  // namespace tessera
