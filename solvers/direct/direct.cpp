/// Direct solution as a preconditioner.
#include "tessera/direct.hpp"

#include "core/stopwatch.hpp"
#include "solvers/direct/analysis.hpp"
#include "solvers/direct/column_matrix.hpp"
#include "solvers/direct/direct_solver.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

using namespace detail;

namespace {

template <class T>
DirectSystem system_of(const CsrView<T>& matrix, DirectMethod method) {
  if (!matrix.is_square()) {
    throw DimensionError(fmt::format("a direct solution needs a square matrix, got {} x {}", matrix.rows, matrix.cols));
  }
  DirectSystem system{
      .columns_of = {matrix.row_offsets, matrix.columns}, .columns = columns_of(matrix), .is_symmetric = false};
  system.is_symmetric = is_symmetric(matrix, system.columns);
  if (method == DirectMethod::cholesky && !system.is_symmetric) {
    throw InvalidMatrix(
        fmt::format("Cholesky (L D Lᵀ) needs a symmetric matrix; this one of {0} x {0} with {1} nonzeros differs from "
                    "its transpose",
                    matrix.rows, matrix.nnz()));
  }
  return system;
}

/// y = α z + β y
template <class T>
void take_solution(T alpha, std::span<const double> z, T beta, std::span<T> y) {
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double old = beta == T{0} ? 0.0 : static_cast<double>(beta) * static_cast<double>(y[i]);
    y[i] = static_cast<T>(static_cast<double>(alpha) * z[i] + old);
  }
}

}  // namespace

std::string_view to_string(DirectMethod method) {
  switch (method) {
    case DirectMethod::automatic:
      return "auto";
    case DirectMethod::cholesky:
      return "cholesky";
    case DirectMethod::lu_amd:
      return "lu-amd";
    case DirectMethod::lu_colamd:
      return "lu-colamd";
  }
  return "unknown";
}

template <class T>
DirectPrediction predict_direct(const CsrView<T>& matrix, DirectMethod method, const DirectLimits& limits) {
  const Stopwatch watch;
  // Meshes and circuits take 2 to 20 steps, graphs of power laws up to 75 where their factors are affordable.
  constexpr double most_steps_per_entry = 80.0;
  const DirectSystem system = system_of(matrix, method);
  auto analysis = std::make_shared<DirectAnalysis>(
      analyze_direct(system, traits_of(system), method,
                     {.entries = limits.factor_nnz, .flops = limits.flops, .steps_per_entry = most_steps_per_entry}));
  DirectPrediction prediction = analysis->prediction;
  prediction.analysis = std::move(analysis);
  prediction.ms = watch.milliseconds();
  return prediction;
}

template <class T>
struct DirectFactors<T>::Impl {
  DirectSolver solver;
  PreconditionerInfo info{.name = "direct"};

  void update_info(const Stopwatch& watch) {
    info.setup_ms = watch.milliseconds();
    info.bytes = solver.bytes();
    info.is_symmetric = solver.info().prediction.method == DirectMethod::cholesky && solver.info().negative_pivots == 0;
  }
};

template <class T>
DirectFactors<T>::DirectFactors(const CsrView<T>& matrix, const DirectOptions& options) {
  const Stopwatch watch;
  impl_ = std::make_unique<Impl>(Impl{.solver = DirectSolver(system_of(matrix, options.method), options)});
  impl_->update_info(watch);
}
template <class T>
DirectFactors<T>::~DirectFactors() = default;
template <class T>
DirectFactors<T>::DirectFactors(DirectFactors&&) noexcept = default;
template <class T>
DirectFactors<T>& DirectFactors<T>::operator=(DirectFactors&&) noexcept = default;

template <class T>
std::int64_t DirectFactors<T>::rows() const {
  return impl_->solver.size();
}

template <class T>
const PreconditionerInfo& DirectFactors<T>::info() const noexcept {
  return impl_->info;
}

template <class T>
const DirectInfo& DirectFactors<T>::factors() const noexcept {
  return impl_->solver.info();
}

template <class T>
void DirectFactors<T>::refresh(const CsrView<T>& matrix) {
  const Stopwatch watch;
  if (matrix.rows != rows() || matrix.cols != rows()) {
    throw DimensionError(
        fmt::format("direct factors were made for {0} x {0}, got {1} x {2}", rows(), matrix.rows, matrix.cols));
  }
  // Where automatic took Cholesky, values that are not symmetric any more are refused too.
  impl_->solver.refresh(system_of(matrix, factors().prediction.method));
  impl_->update_info(watch);
}

template <class T>
void DirectFactors<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  std::vector<double> z(x.begin(), x.end());
  impl_->solver.solve(z);
  take_solution(alpha, z, beta, y);
}

template <class T>
void DirectFactors<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  std::vector<double> z(x.begin(), x.end());
  impl_->solver.solve_transposed(z);
  take_solution(alpha, z, beta, y);
}

template DirectPrediction predict_direct(const CsrView<float>&, DirectMethod, const DirectLimits&);
template DirectPrediction predict_direct(const CsrView<double>&, DirectMethod, const DirectLimits&);
template class DirectFactors<float>;
template class DirectFactors<double>;

}  // namespace tessera
