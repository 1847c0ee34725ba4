/// Direct solution: scaling by powers of two, an order, factors in double, and their use as a preconditioner.
#include "tessera/direct.hpp"

#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "solvers/direct/analysis.hpp"
#include "solvers/direct/column_matrix.hpp"
#include "solvers/direct/eigen_solvers.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

template <class T>
PatternLists rows_of(const CsrView<T>& matrix) {
  return {matrix.row_offsets, matrix.columns};
}

/// A with what is needed of it before its factorization.
struct DirectSystem {
  ColumnMatrix columns;
  PowerScaling scaling;
  DirectTraits traits;
};

template <class T>
void require_square(const CsrView<T>& matrix) {
  if (matrix.is_square()) return;
  throw DimensionError(fmt::format("a direct solution needs a square matrix, got {} x {}", matrix.rows, matrix.cols));
}

template <class T>
DirectSystem system_of(const CsrView<T>& matrix, DirectMethod method) {
  require_square(matrix);
  DirectSystem system{.columns = columns_of(matrix), .scaling = {}, .traits = {}};
  system.scaling = power_scaling(system.columns);
  system.traits = traits_of(system.columns, system.scaling, is_symmetric(matrix, system.columns));
  if (method == DirectMethod::cholesky && !system.traits.is_symmetric) {
    throw InvalidMatrix(fmt::format(
        "Cholesky (L D Lᵀ) needs a symmetric matrix; this one of {0} x {0} with {1} nonzeros differs from its "
        "transpose",
        matrix.rows, matrix.nnz()));
  }
  return system;
}

void require_within(const DirectPrediction& prediction, const DirectOptions& options) {
  const auto refuse = [&](const std::string& limit) {
    throw BudgetExceeded(
        fmt::format("direct factors ({}) are predicted to need {} entries, {:.3g} flops and {} bytes; {}",
                    to_string(prediction.method), prediction.factor_nnz, prediction.flops, prediction.bytes, limit));
  };
  if (prediction.factor_nnz > options.factor_nnz_limit) {
    refuse(fmt::format("the limit is {} entries", options.factor_nnz_limit));
  }
  if (prediction.flops > options.flops_limit) refuse(fmt::format("the limit is {:.3g} flops", options.flops_limit));
  if (options.memory_limit_bytes != 0 && prediction.bytes > options.memory_limit_bytes) {
    refuse(fmt::format("the limit is {} bytes", options.memory_limit_bytes));
  }
  const bool is_cholesky = prediction.method == DirectMethod::cholesky;
  if (is_cholesky && prediction.factor_nnz / 2 > std::numeric_limits<std::int32_t>::max()) {
    throw NotSupported(fmt::format("Cholesky factors of more than 2^31 - 1 entries: {} are predicted; take lu-amd",
                                   prediction.factor_nnz / 2));
  }
}

std::unique_ptr<EigenSolver> make_solver(DirectMethod method) {
  if (method == DirectMethod::cholesky) return make_eigen_cholesky();
  return make_eigen_lu(method == DirectMethod::lu_amd);
}

/// y = B x and the size of its rounding errors' terms, |B| |x|.
void multiply(const ColumnMatrix& b, std::span<const double> x, std::span<double> y, std::span<double> terms) {
  std::fill(y.begin(), y.end(), 0.0);
  std::fill(terms.begin(), terms.end(), 0.0);
  for (std::size_t j = 0; j < x.size(); ++j) {
    for (auto k = at(b.offsets[j]); k < at(b.offsets[j + 1]); ++k) {
      const double term = b.values[k] * x[j];
      y[at(b.rows[k])] += term;
      terms[at(b.rows[k])] += std::abs(term);
    }
  }
}

/// Backward error of one solve with a scattered right-hand side, max |y - B x| / max(|B| |x| + |y|). NaN where x is
/// not finite.
double backward_error_of(const EigenSolver& solver, const ColumnMatrix& b) {
  const auto n = at(b.size());
  std::vector<double> y(n);
  SplitMix64 random(1);
  std::generate(y.begin(), y.end(), [&] { return random.uniform() - 0.5; });
  std::vector<double> x = y;
  solver.solve(x);
  std::vector<double> product(n);
  std::vector<double> terms(n);
  multiply(b, x, product, terms);
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(product[i])) return std::numeric_limits<double>::quiet_NaN();
    error = std::max(error, std::abs(y[i] - product[i]));
    size = std::max(size, terms[i] + std::abs(y[i]));
  }
  return n == 0 ? 0.0 : error / size;
}

/// Above this, L D Lᵀ has lost too many digits to its missing pivoting.
constexpr double acceptable_backward_error = 1e-10;

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
DirectPrediction predict_direct(const CsrView<T>& matrix, DirectMethod method) {
  const Stopwatch watch;
  const DirectSystem system = system_of(matrix, method);
  DirectPrediction prediction = analyze_direct(rows_of(matrix), system.columns, system.traits, method).prediction;
  prediction.ms = watch.milliseconds();
  return prediction;
}

/// Everything but the type of the vectors.
template <class T>
struct DirectFactors<T>::Impl {
  DirectOptions options;
  DirectInfo factors;
  PreconditionerInfo info{.name = "direct"};
  std::vector<index_t> order;
  PowerScaling scaling;
  std::unique_ptr<EigenSolver> solver;

  Impl(const CsrView<T>& matrix, const DirectOptions& direct_options) : options(direct_options) {
    const Stopwatch watch;
    const DirectSystem system = system_of(matrix, options.method);
    analyze(matrix, system, options.method);
    factors.prediction.ms = watch.milliseconds();
    factorize_or_fall_back(matrix, system);
    info.setup_ms = watch.milliseconds();
  }

  void refresh(const CsrView<T>& matrix) {
    const Stopwatch watch;
    if (matrix.rows != static_cast<index_t>(order.size()) || !matrix.is_square()) {
      throw DimensionError(
          fmt::format("direct factors were made for {0} x {0}, got {1} x {2}", order.size(), matrix.rows, matrix.cols));
    }
    Impl next(*this, system_of(matrix, factors.prediction.method), matrix);
    *this = std::move(next);
    info.setup_ms = watch.milliseconds();
  }

  void solve(std::span<const T> r, std::span<double> z) const;

 private:
  /// With the order of `other`.
  Impl(const Impl& other, const DirectSystem& system, const CsrView<T>& matrix)
      : options(other.options), factors(other.factors), info(other.info), order(other.order) {
    factorize_or_fall_back(matrix, system);
  }

  void analyze(const CsrView<T>& matrix, const DirectSystem& system, DirectMethod method) {
    DirectAnalysis analysis = analyze_direct(rows_of(matrix), system.columns, system.traits, method);
    require_within(analysis.prediction, options);
    factors.prediction = analysis.prediction;
    order = std::move(analysis.order);
  }

  /// Where automatic took Cholesky and its pivots are not good enough, LU follows.
  void factorize_or_fall_back(const CsrView<T>& matrix, const DirectSystem& system) {
    const Stopwatch watch;
    const bool may_fall_back =
        options.method == DirectMethod::automatic && factors.prediction.method == DirectMethod::cholesky;
    scaling = system.scaling;
    if (!factorize(system, may_fall_back)) {
      DirectSystem general{.columns = {}, .scaling = {}, .traits = system.traits};
      general.traits.has_one_sign = false;
      const double before = factors.prediction.ms;
      DirectAnalysis analysis =
          analyze_direct(rows_of(matrix), system.columns, general.traits, DirectMethod::automatic);
      require_within(analysis.prediction, options);
      factors.prediction = analysis.prediction;
      factors.prediction.ms += before;
      order = std::move(analysis.order);
      factorize(system, false);
    }
    factors.factor_ms = watch.milliseconds();
  }

  /// \returns false, when that is allowed, for factors that are of no use \throws InvalidMatrix
  bool factorize(const DirectSystem& system, bool may_fail) {
    const ColumnMatrix b = permuted(system.columns, scaling, order);
    const DirectMethod method = factors.prediction.method;
    try {
      solver = make_solver(method);
      FactorFacts facts;
      if (b.size() > 0) facts = solver->factorize(b, factors.prediction.factor_nnz);
      const double error = b.size() == 0 ? 0.0 : facts.is_complete ? backward_error_of(*solver, b) : std::nan("");
      if (may_fail && !(error <= acceptable_backward_error)) return false;
      if (std::isnan(error)) {
        const index_t column = facts.smallest_column < 0 ? 0 : order[at(facts.smallest_column)];
        throw SingularMatrix(fmt::format(
            "the matrix is singular to rounding: the pivot of column {} (counted from 0) is {:.3g} after scaling, in "
            "{}",
            column, facts.smallest_pivot, to_string(method)));
      }
      factors.factor_nnz = facts.factor_nnz;
      factors.negative_pivots = facts.negative_pivots;
    } catch (const std::bad_alloc&) {
      throw OutOfMemory(factors.prediction.bytes, available_host_memory_bytes(), "direct factors");
    }
    const auto nnz = static_cast<std::uint64_t>(factors.factor_nnz);
    const auto n = static_cast<std::uint64_t>(order.size());
    info.bytes = (method == DirectMethod::cholesky ? nnz / 2 * 12 : nnz * 16) + n * 64;
    info.is_symmetric = method == DirectMethod::cholesky && factors.negative_pivots == 0;
    return true;
  }
};

/// z = A⁻¹ r = C Q B⁻¹ Qᵀ R r. r is brought to a size of about 1 first: the row factors would overflow large entries.
template <class T>
void DirectFactors<T>::Impl::solve(std::span<const T> r, std::span<double> z) const {
  constexpr int none = std::numeric_limits<int>::min();
  int largest = none;
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (r[i] != T{0} && std::isfinite(r[i])) largest = std::max(largest, std::ilogb(r[i]) + scaling.row[i]);
  }
  const int shift = largest == none ? 0 : largest;
  std::vector<double> w(r.size());
  for (std::size_t k = 0; k < w.size(); ++k) {
    const auto row = at(order[k]);
    w[k] = std::ldexp(static_cast<double>(r[row]), scaling.row[row] - shift);
  }
  if (!w.empty()) solver->solve(w);
  for (std::size_t k = 0; k < w.size(); ++k) {
    const auto column = at(order[k]);
    z[column] = std::ldexp(w[k], scaling.column[column] + shift);
  }
}

template <class T>
DirectFactors<T>::DirectFactors(const CsrView<T>& matrix, const DirectOptions& options)
    : impl_(std::make_unique<Impl>(matrix, options)) {}
template <class T>
DirectFactors<T>::~DirectFactors() = default;
template <class T>
DirectFactors<T>::DirectFactors(DirectFactors&&) noexcept = default;
template <class T>
DirectFactors<T>& DirectFactors<T>::operator=(DirectFactors&&) noexcept = default;

template <class T>
std::int64_t DirectFactors<T>::rows() const {
  return static_cast<std::int64_t>(impl_->order.size());
}

template <class T>
const PreconditionerInfo& DirectFactors<T>::info() const noexcept {
  return impl_->info;
}

template <class T>
const DirectInfo& DirectFactors<T>::factors() const noexcept {
  return impl_->factors;
}

template <class T>
void DirectFactors<T>::refresh(const CsrView<T>& matrix) {
  impl_->refresh(matrix);
}

template <class T>
void DirectFactors<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  std::vector<double> z(x.size());
  impl_->solve(x, z);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double old = beta == T{0} ? 0.0 : static_cast<double>(beta) * static_cast<double>(y[i]);
    y[i] = static_cast<T>(static_cast<double>(alpha) * z[i] + old);
  }
}

template DirectPrediction predict_direct(const CsrView<float>&, DirectMethod);
template DirectPrediction predict_direct(const CsrView<double>&, DirectMethod);
template class DirectFactors<float>;
template class DirectFactors<double>;

}  // namespace tessera
