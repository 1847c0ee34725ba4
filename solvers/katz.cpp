/// Katz centrality by its series, x = β Σ (α Aᵀ)^k 1.
///
/// L. Katz, A new status index derived from sociometric analysis, Psychometrika 18(1), 1953; the matrix form after
/// P. Bonacich, Power and centrality: a family of measures, Am. J. Sociol. 92(5), 1987. The bound of ρ(A) after
/// L. Collatz, Einschließungssatz für die charakteristischen Zahlen von Matrizen, Math. Z. 48, 1942: A w <= θ w for
/// some w > 0 means ρ(A) <= θ.
///
/// Why the residual bounds the error: with B = α Aᵀ >= 0, ρ(B) < 1, and r = β 1 + B x - x, |r| <= ε β 1 gives
/// |x* - x| = |(I - B)⁻¹ r| <= ε (I - B)⁻¹ β 1 = ε x*.
///
/// Memory movement per iteration besides the product, which writes q:
///   term = α q, x = x + term    4n    reads q, x; writes term, x
#include "preprocess/transition.hpp"
#include "solvers/centrality.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/pagerank.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

namespace {

using detail::BoundState;
using detail::KatzState;

/// A correction that does not halve the residual is rounding.
constexpr double useful_correction = 0.5;

/// No x_i is below 1, so terms below this many machine epsilons change nothing.
constexpr double negligible = 0.01;

/// Works with β = 1; the scores are scaled at the end.
template <class T>
class Katz {
 public:
  Katz(const SpmvPlan<T>& in_links, std::span<T> scores, const KatzOptions& options)
      : options_(options),
        device_(in_links.device()),
        in_links_(in_links),
        scores_(scores),
        n_(std::ssize(scores)),
        image_(in_links.make_output()),
        term_(n_, Init::none, device_),
        is_enqueueable_(detail::EnqueuedProduct<T>::of(in_links) != nullptr),
        loop_(device_, is_enqueueable_),
        progress_(options, report_) {}

  [[nodiscard]] KatzReport solve() {
    choose_alpha();
    state().tolerance = std::max(options_.tolerance, least_tolerance);
    state().max_iterations = options_.max_iterations;
    state().alpha = report_.alpha;
    detail::fill(device_, scores_, 1.0);
    detail::fill(device_, term_.span(), 1.0);
    Status status = Status::interrupted;
    bool is_running = progress_.note({0, 1.0, 0.0});
    if (is_running && options_.max_iterations == 0) {
      is_running = false;
      status = Status::max_iterations;
    }
    while (is_running) {
      loop_.run([this](Loop& loop) { iterate(loop); },
                [this](const fused::LoopEntry& entry) { return progress_.note(entry); });
      status = verdict();
      is_running = status == Status::converged && report_.error_bound > options_.tolerance;
    }
    return take_report(status);
  }

 private:
  using Loop = fused::Loop<KatzState>;
  static constexpr double least_tolerance = negligible * static_cast<double>(std::numeric_limits<T>::epsilon());
  using BoundLoop = fused::Loop<BoundState>;

  [[nodiscard]] KatzState& state() noexcept { return loop_.state(); }

  void choose_alpha() {
    report_.alpha = options_.alpha;
    if (options_.alpha > 0.0) return;
    compute_bound();
    is_proven_ = true;
    // Without links any α will do.
    report_.alpha = report_.spectral_bound > 0.0 ? katz_share / report_.spectral_bound : katz_share;
    if (std::isfinite(report_.alpha)) return;
    throw InvalidMatrix(fmt::format("link weights are too small: rho(A) <= {:.3g}", report_.spectral_bound));
  }

  void iterate(Loop& loop) {
    const std::span<T> term = term_.span();
    // q = Aᵀ term
    loop.template product<T>(in_links_, term, image_, term);
    loop.apply(n_, detail::KatzTerm<T>{.product = image_.current().data(), .term = term.data(), .x = scores_.data()});
  }

  /// Why the loop has returned. `converged` with an error bound above the tolerance means: go on.
  [[nodiscard]] Status verdict() {
    const bool claims = state().halt == fused::Halt::check;
    // The terms of a correction prove nothing, but then the series has.
    is_proven_ = is_proven_ || state().norm < 1.0;
    if (is_proven_ && std::isfinite(state().norm)) {
      const double before = report_.error_bound;
      compute_residual();
      if (report_.error_bound <= options_.tolerance) return Status::converged;
      if (claims && !(report_.error_bound < useful_correction * before)) return Status::stagnated;
    }
    if (state().halted() && !claims) return state().status;
    if (progress_.interrupted()) return Status::interrupted;
    if (progress_.time_is_up()) return Status::time_limit;
    if (state().iteration >= options_.max_iterations) return Status::max_iterations;
    // The series of the residual corrects x. Where terms rise and fall in turn, the residual is a large one after the
    // small one that ended the loop: so the next one has to be smaller.
    fused::axpy<T>(device_, T{1}, std::as_const(term_).span(), scores_);
    const double excess = report_.error_bound / options_.tolerance;
    if (claims && excess > 1.0) state().tolerance = std::max(0.5 * state().tolerance / excess, least_tolerance);
    state().halt = fused::Halt::none;
    return Status::converged;
  }

  /// The residual, into the term: it bounds the error.
  void compute_residual() {
    const std::span<const T> x = scores_;
    in_links_.apply(x, image_.current());
    image_.set_prepared_for(0);
    ++report_.spmv_count;
    const detail::KatzResidual<T> op{
        .alpha = report_.alpha, .product = image_.current().data(), .x = x.data(), .r = term_.data()};
    report_.error_bound = fused::transform_reduce(device_, n_, op).value;
    if (!report_.history.empty()) report_.history.back().true_residual = report_.error_bound;
  }

  /// The least quotient max (Aᵀw)_i / w_i on the way of the power method. Uses the term.
  void compute_bound() {
    BoundLoop loop(device_, is_enqueueable_);
    loop.state().sum = static_cast<double>(n_);
    const Array<T> ones = make_ones();
    detail::fill(device_, term_.span(), 1.0);
    loop.run(
        [&, w = term_.span()](BoundLoop& l) {
          l.template product<T>(in_links_, w, image_, ones.span());
          l.apply(n_, detail::BoundStep<T>{.product = image_.current().data(), .w = w.data()});
        },
        [](const fused::LoopEntry& /*entry*/) { return true; });
    report_.spmv_count += loop.state().products;
    report_.spectral_bound = loop.state().bound;
  }

  [[nodiscard]] Array<T> make_ones() const {
    Array<T> ones(n_, Init::none, device_);
    detail::fill(device_, ones.span(), 1.0);
    return ones;
  }

  [[nodiscard]] KatzReport take_report(Status status) {
    report_.spmv_count += state().products;
    report_.iterations = state().iteration;
    report_.status = status;
    if (status != Status::converged && !is_proven_ && state().iteration > 0) {
      compute_bound();
      is_proven_ = report_.alpha * report_.spectral_bound < 1.0;
    }
    report_.reason = progress_.cause(status) + inequality(status);
    scale();
    progress_.finish();
    return std::move(report_);
  }

  void scale() {
    const std::span<const T> x = scores_;
    const double norm = std::sqrt(fused::dot<T>(device_, x, x));
    const double factor = options_.normalized ? 1.0 / norm : options_.beta;
    const detail::PagerankScale<T> op{
        .scale = std::isfinite(norm) ? factor : 1.0, .from = x.data(), .x = scores_.data()};
    report_.sum = fused::transform_reduce(device_, n_, op).value();
  }

  [[nodiscard]] std::string inequality(Status status) {
    if (state().iteration == 0) return "no iteration was made";
    std::string text;
    if (status == Status::stagnated) text = "attainable accuracy of the type reached; ";
    if (status == Status::diverged) text = "the terms of the series grow: ";
    if (!is_proven_) {
      text += fmt::format("alpha = {:.6g} must be below 1 / rho(A), and rho(A) <= {:.6g}; ", report_.alpha,
                          report_.spectral_bound);
    }
    if (!std::isfinite(report_.error_bound)) {
      return text + fmt::format("largest term = {:.6g} > tolerance = {:.6g}", state().norm, options_.tolerance);
    }
    return text + fmt::format("max|1 + alpha A'x - x| = {:.6g} {} tolerance = {:.6g}", report_.error_bound,
                              report_.error_bound <= options_.tolerance ? "<=" : ">", options_.tolerance);
  }

  const KatzOptions& options_;
  Device device_;
  const SpmvPlan<T>& in_links_;
  std::span<T> scores_;
  std::int64_t n_;
  DualBuffer<T> image_;  // Aᵀ term
  Array<T> term_;
  bool is_enqueueable_;
  Loop loop_;
  KatzReport report_;
  detail::CentralityProgress progress_;
  bool is_proven_ = false;  // α ρ(A) < 1
};

}  // namespace

template <class T>
KatzReport katz(const SpmvPlan<T>& in_links, std::span<std::type_identity_t<T>> scores, const KatzOptions& options) {
  detail::check_centrality_options(options);
  if (!(options.alpha >= 0.0) || !std::isfinite(options.alpha)) {
    throw InvalidArgument(fmt::format("alpha must be >= 0 (0: chosen) and finite, got {}", options.alpha));
  }
  if (!(options.beta > 0.0) || !std::isfinite(options.beta)) {
    throw InvalidArgument(fmt::format("beta must be > 0 and finite, got {}", options.beta));
  }
  if (in_links.rows() != in_links.cols()) {
    throw DimensionError(
        fmt::format("an adjacency matrix is square, but this one is {} x {}", in_links.cols(), in_links.rows()));
  }
  detail::check_scores<T>(in_links.device(), "scores", scores, in_links.rows());
  if (!in_links.matrix().is_pattern()) {
    static_cast<void>(detail::survey_links(in_links.matrix(), in_links.matrix_device(), true));
  }
  if (scores.empty()) {
    KatzReport report;
    report.status = Status::converged;
    report.reason = "the graph is empty";
    report.alpha = options.alpha > 0.0 ? options.alpha : katz_share;
    report.error_bound = 0.0;
    return report;
  }
  return Katz<T>(in_links, scores, options).solve();
}

template KatzReport katz(const SpmvPlan<float>&, std::span<float>, const KatzOptions&);
template KatzReport katz(const SpmvPlan<double>&, std::span<double>, const KatzOptions&);

}  // namespace tessera
