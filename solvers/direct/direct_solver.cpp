/// Direct solution of B = P R A C Q: R and C are powers of two, P and Q come from a matching and a fill-reducing order.
#include "solvers/direct/direct_solver.hpp"

#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

namespace tessera::detail {

namespace {

std::size_t at(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

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
}

/// How to make factors, until some of them are good.
struct PivotSettings {
  double threshold;  ///< of diagonal pivots
  double most_fill;  ///< entries over those predicted
};
constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Small thresholds first: off-diagonal pivots spoil the order, the more the larger the matrix, while pivots that are
/// too small are rare after the matching, and mended by refinement. Circuits of 2e5 rows: threshold 1e-3 fills over 8
/// times as much as 1e-8. The last one serves diagonals that are weak everywhere: only after inaccurate factors.
constexpr std::array<PivotSettings, 4> settings_of_lu{
    {{1e-8, 2.0}, {1e-12, 2.0}, {1e-12, unlimited}, {1e-2, unlimited}}};
constexpr std::array<PivotSettings, 1> partial_pivoting{{{1.0, unlimited}}};

std::span<const PivotSettings> attempts(DirectMethod method) {
  if (method == DirectMethod::lu_amd) return settings_of_lu;
  return partial_pivoting;
}

std::unique_ptr<EigenSolver> make_solver(DirectMethod method, double threshold) {
  return method == DirectMethod::cholesky ? make_eigen_cholesky() : make_eigen_lu(threshold);
}

/// Backward error of one solve with a scattered right-hand side, max |y - B x| / max(|B| |x| + |y|). NaN where x is
/// not finite.
double probe_backward_error(const EigenSolver& solver, const ColumnMatrix& b) {
  const auto n = at(b.size());
  std::vector<double> y(n);
  SplitMix64 random(1);
  std::generate(y.begin(), y.end(), [&] { return random.uniform() - 0.5; });
  std::vector<double> x = y;
  solver.solve(x);
  std::vector<double> sizes(n);
  std::transform(y.begin(), y.end(), sizes.begin(), [](double value) { return std::abs(value); });
  for (std::size_t j = 0; j < n; ++j) {
    for (auto k = at(b.offsets[j]); k < at(b.offsets[j + 1]); ++k) {
      const double term = b.values[k] * x[j];
      y[at(b.rows[k])] -= term;
      sizes[at(b.rows[k])] += std::abs(term);
    }
  }
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(sizes[i])) return std::numeric_limits<double>::quiet_NaN();
    error = std::max(error, std::abs(y[i]));
    size = std::max(size, sizes[i]);
  }
  return error / size;
}

/// Above this, factors have lost too many digits to pivots that were too small. Below, one step of refinement mends it.
constexpr double acceptable_backward_error = 1e-8;

}  // namespace

DirectSolver::DirectSolver(const DirectSystem& system, const DirectOptions& options) : options_(options) {
  options_.prediction.reset();
  const bool is_given = options.prediction && options.prediction->analysis != nullptr &&
                        at(system.columns.size()) == options.prediction->analysis->order.columns.size();
  if (is_given) {
    take(*options.prediction->analysis);
  } else {
    analyze(system, traits_of(system), options.method);
  }
  factorize_or_fall_back(system);
}

void DirectSolver::refresh(const DirectSystem& system) {
  DirectSolver next = DirectSolver(options_, info_, order_);
  next.scaling_ = scaling_like(system, order_);
  next.factorize_or_fall_back(system);
  *this = std::move(next);
}

void DirectSolver::analyze(const DirectSystem& system, const DirectTraits& traits, DirectMethod method) {
  // An order that passes a limit by far is not finished; what is near is predicted, and refused with all numbers.
  constexpr double by_far = 2.0;
  take(analyze_direct(
      system, traits, method,
      {.entries = by_far * static_cast<double>(options_.factor_nnz_limit), .flops = by_far * options_.flops_limit}));
}

void DirectSolver::take(const DirectAnalysis& analysis) {
  require_within(analysis.prediction, options_);
  info_.prediction = analysis.prediction;
  order_ = analysis.order;
  scaling_ = analysis.scaling;
}

/// Where automatic took Cholesky and that is of no use, LU follows.
void DirectSolver::factorize_or_fall_back(const DirectSystem& system) {
  const Stopwatch watch;
  const bool may_fail = options_.method == DirectMethod::automatic && info_.prediction.method == DirectMethod::cholesky;
  if (!factorize(system, may_fail)) {
    const double ms = info_.prediction.ms;
    DirectTraits traits = traits_of(system);
    traits.has_one_sign = false;
    analyze(system, traits, DirectMethod::automatic);
    info_.prediction.ms += ms;
    static_cast<void>(factorize(system, false));
  }
  info_.factor_ms = watch.milliseconds();
}

/// \returns false, where that is allowed, for factors that are of no use
bool DirectSolver::factorize(const DirectSystem& system, bool may_fail) {
  if (size() == 0) return true;
  try {
    const ColumnMatrix b = permuted(system.columns, scaling_, order_);
    bool is_inaccurate = false;
    const std::span<const PivotSettings> all = attempts(info_.prediction.method);
    for (const PivotSettings& attempt : all) {
      const bool is_last = &attempt == &all.back();
      if (is_inaccurate && !is_last) continue;  // smaller pivots do not help
      solver_ = make_solver(info_.prediction.method, attempt.threshold);
      const FactorFacts facts = solver_->factorize(b, info_.prediction.factor_nnz, most_nnz(attempt.most_fill));
      if (facts.is_overfull && attempt.most_fill == unlimited) refuse_fill();
      if (facts.is_overfull) continue;
      const double error =
          facts.is_complete ? probe_backward_error(*solver_, b) : std::numeric_limits<double>::quiet_NaN();
      is_inaccurate = !(error <= acceptable_backward_error);
      if (is_inaccurate && may_fail) return false;
      if (is_inaccurate && !is_last) continue;
      if (std::isnan(error)) refuse_singular(facts);
      info_.factor_nnz = facts.factor_nnz;
      info_.negative_pivots = facts.negative_pivots;
      break;
    }
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(info_.prediction.bytes, available_host_memory_bytes(), "direct factors");
  }
  return true;
}

/// Entries that factors may have, within the limit of memory. Supernodes store zeros that are not predicted.
offset_t DirectSolver::most_nnz(double most_fill) const {
  constexpr double with_zeros = 1.1;
  if (options_.memory_limit_bytes != 0) {
    most_fill = std::min(most_fill, with_zeros * static_cast<double>(options_.memory_limit_bytes) /
                                        static_cast<double>(std::max<std::uint64_t>(info_.prediction.bytes, 1)));
  }
  constexpr double any = 0x1p62;
  return static_cast<offset_t>(std::min(most_fill * static_cast<double>(info_.prediction.factor_nnz), any));
}

void DirectSolver::refuse_fill() const {
  throw BudgetExceeded(
      fmt::format("direct factors ({}) were predicted to need {} entries and {} bytes; row exchanges "
                  "fill them beyond the limit of {} bytes",
                  to_string(info_.prediction.method), info_.prediction.factor_nnz, info_.prediction.bytes,
                  options_.memory_limit_bytes));
}

void DirectSolver::refuse_singular(const FactorFacts& facts) const {
  throw SingularMatrix(
      fmt::format("the matrix is singular to rounding: the pivot of column {} is {:.3g} after scaling, "
                  "in {}",
                  order_.columns[at(std::max(facts.smallest_column, index_t{0}))] + 1, facts.smallest_pivot,
                  to_string(info_.prediction.method)));
}

std::uint64_t DirectSolver::bytes() const noexcept {
  const auto nnz = static_cast<std::uint64_t>(info_.factor_nnz);
  const auto n = static_cast<std::uint64_t>(size());
  return (info_.prediction.method == DirectMethod::cholesky ? nnz / 2 * 16 : nnz * 16) + n * 64;
}

namespace {

/// A permutation, and the exponents of a scaling.
struct ScaledPermutation {
  std::span<const index_t> permutation;
  std::span<const int> exponents;
};

/// x = C Q inverse(P R x) for R and P of `from`, C and Q of `to`. R x is brought to a size of about 1: large factors
/// would overflow large entries.
template <class Inverse>
void solve_between(const ScaledPermutation& from, const ScaledPermutation& to, std::span<double> x,
                   const Inverse& inverse) {
  constexpr int none = std::numeric_limits<int>::min();
  int largest = none;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0.0 && std::isfinite(x[i])) largest = std::max(largest, exponent_of(x[i]) + from.exponents[i]);
  }
  const int shift = largest == none ? 0 : largest;
  std::vector<double> w(x.size());
  for (std::size_t k = 0; k < w.size(); ++k) {
    const auto i = at(from.permutation[k]);
    w[k] = scale_by_power(x[i], from.exponents[i] - shift);
  }
  if (!w.empty()) inverse(std::span<double>(w));
  for (std::size_t k = 0; k < w.size(); ++k) {
    const auto j = at(to.permutation[k]);
    x[j] = scale_by_power(w[k], to.exponents[j] + shift);
  }
}

}  // namespace

/// A⁻¹ = C Q B⁻¹ P R
void DirectSolver::solve(std::span<double> x) const {
  solve_between({order_.rows, scaling_.row}, {order_.columns, scaling_.column}, x,
                [this](std::span<double> w) { solver_->solve(w); });
}

/// A⁻ᵀ = R Pᵀ B⁻ᵀ Qᵀ C
void DirectSolver::solve_transposed(std::span<double> x) const {
  solve_between({order_.columns, scaling_.column}, {order_.rows, scaling_.row}, x,
                [this](std::span<double> w) { solver_->solve_transposed(w); });
}

}  // namespace tessera::detail
