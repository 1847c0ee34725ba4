/// HITS, hubs and authorities, by the power method.
///
/// J. M. Kleinberg, Authoritative sources in a hyperlinked environment, J. ACM 46(5), 1999. Both vectors are scaled to
/// sum 1, so the change of h in the 1-norm is also the relative residual of A Aᵀ h = λ h.
///
/// Memory movement per iteration besides the two products, which write q and read ones beside their vector:
///   a = q / Σ q with the change    3n    reads q, a; writes a
///   h = q / Σ q with the change    3n    reads q, h; writes h
#include "core/device/operands.hpp"
#include "preprocess/transition.hpp"
#include "solvers/centrality.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace tessera {

namespace {

using detail::HitsState;

/// Changes up to so many machine epsilons may be rounding alone.
constexpr double rounding_level = 1000.0;

template <class T>
class Hits {
 public:
  Hits(const SpmvPlan<T>& plan, std::span<T> hubs, std::span<T> authorities, const CentralityOptions& options)
      : options_(options),
        device_(plan.device()),
        a_(plan),
        transposed_(PlanInternals::transposed(plan)),
        hubs_(hubs),
        authorities_(authorities),
        hub_image_(plan.make_output()),
        authority_image_(transposed_->make_output()),
        ones_(std::max(plan.rows(), plan.cols()), Init::none, device_),
        loop_(device_, detail::EnqueuedProduct<T>::of(plan) != nullptr &&
                           detail::EnqueuedProduct<T>::of(*transposed_) != nullptr),
        progress_(options, report_) {
    detail::fill(device_, ones_.span(), 1.0);
  }

  [[nodiscard]] HitsReport solve() {
    begin();
    Status status = Status::interrupted;
    bool is_running = progress_.note({0, std::numeric_limits<double>::infinity(), 0.0});
    if (is_running && options_.max_iterations == 0) {
      is_running = false;
      status = Status::max_iterations;
    }
    while (is_running) {
      loop_.run([this](Loop& loop) { iterate(loop); },
                [this](const fused::LoopEntry& entry) { return progress_.note(entry); });
      status = verdict();
      is_running = !state().halted() && status == Status::converged && report_.residual > options_.tolerance;
    }
    return take_report(status);
  }

 private:
  using Loop = fused::Loop<HitsState>;

  [[nodiscard]] HitsState& state() noexcept { return loop_.state(); }

  void begin() {
    state().tolerance = options_.tolerance;
    state().max_iterations = options_.max_iterations;
    state().rounding = rounding_level * static_cast<double>(std::numeric_limits<T>::epsilon());
    detail::fill(device_, hubs_, 1.0 / static_cast<double>(hubs_.size()));
    detail::fill(device_, authorities_, 0.0);
  }

  void iterate(Loop& loop) {
    const auto ones = std::as_const(ones_).span();
    // a = Aᵀ h
    loop.template product<T>(*transposed_, hubs_, authority_image_, ones.first(authorities_.size()));
    loop.apply(std::ssize(authorities_),
               detail::HitsScale<T>{
                   .ends_iteration = false, .product = authority_image_.current().data(), .x = authorities_.data()});
    // h = A a
    loop.template product<T>(a_, authorities_, hub_image_, ones.first(hubs_.size()));
    loop.apply(std::ssize(hubs_),
               detail::HitsScale<T>{.ends_iteration = true, .product = hub_image_.current().data(), .x = hubs_.data()});
  }

  /// Why the loop has returned. `converged` with a residual above the tolerance means: go on.
  [[nodiscard]] Status verdict() {
    const bool claims = state().halt == fused::Halt::check;
    if (state().halted() && !claims) return state().status;
    compute_residual();
    if (report_.residual <= options_.tolerance) return Status::converged;
    if (progress_.interrupted()) return Status::interrupted;
    if (progress_.time_is_up()) return Status::time_limit;
    if (state().iteration >= options_.max_iterations) return Status::max_iterations;
    state().halt = fused::Halt::none;
    return Status::converged;
  }

  /// Both changes that one more iteration would make, by products of the scores as they are.
  void compute_residual() {
    report_.residual = std::max(distance(*transposed_, hubs_, authority_image_, authorities_),
                                distance(a_, authorities_, hub_image_, hubs_));
    report_.spmv_count += 2;
    if (!report_.history.empty()) report_.history.back().true_residual = report_.residual;
  }

  /// ‖A from / Σ(A from) - to‖₁
  [[nodiscard]] double distance(const FusedOperator<T>& a, std::span<const T> from, DualBuffer<T>& image,
                                std::span<const T> to) {
    const double sum = a.apply_and_dot(from, image.current(), std::as_const(ones_).span().first(to.size())).wy;
    image.set_prepared_for(0);
    const detail::HitsResidual<T> op{.scale = 1.0 / sum, .product = image.current().data(), .x = to.data()};
    return fused::transform_reduce(device_, std::ssize(to), op);
  }

  [[nodiscard]] HitsReport take_report(Status status) {
    report_.spmv_count += state().products;
    report_.iterations = state().iteration;
    report_.status = status;
    if (state().has_no_links) {
      detail::fill(device_, hubs_, 0.0);
      detail::fill(device_, authorities_, 0.0);
      report_.residual = 0.0;
      report_.reason = "the graph has no links: all scores are 0";
    } else {
      report_.reason = progress_.cause(status) + inequality(status);
    }
    constexpr std::int64_t first_quotient = 3;  // the first change of a is that from 0
    if (state().iteration >= first_quotient && state().previous > 0.0) {
      report_.contraction = state().norm / state().previous;
    }
    progress_.finish();
    return std::move(report_);
  }

  [[nodiscard]] std::string inequality(Status status) {
    if (status == Status::stagnated) {
      return fmt::format("attainable accuracy of the type reached: no lower change within {} iterations; ",
                         detail::hits_stagnation_window) +
             inequality(Status::max_iterations);
    }
    if (state().iteration == 0) return "no iteration was made";
    const double change = status == Status::converged ? report_.residual : state().norm;
    return fmt::format("max(||h' - h||_1, ||a' - a||_1) = {:.6g} {} tolerance = {:.6g}", change,
                       change <= options_.tolerance ? "<=" : ">", options_.tolerance);
  }

  const CentralityOptions& options_;
  Device device_;
  const SpmvPlan<T>& a_;
  std::shared_ptr<const FusedOperator<T>> transposed_;
  std::span<T> hubs_;
  std::span<T> authorities_;
  DualBuffer<T> hub_image_;        // A a
  DualBuffer<T> authority_image_;  // Aᵀ h
  Array<T> ones_;
  Loop loop_;
  HitsReport report_;
  detail::CentralityProgress progress_;
};

}  // namespace

template <class T>
HitsReport hits(const SpmvPlan<T>& plan, std::span<std::type_identity_t<T>> hubs,
                std::span<std::type_identity_t<T>> authorities, const CentralityOptions& options) {
  detail::check_centrality_options(options);
  if (!plan.has_transpose()) plan.apply_transposed({}, {});  // the refusal names the remedy
  detail::check_scores<T>(plan.device(), "hubs", hubs, plan.rows());
  detail::check_scores<T>(plan.device(), "authorities", authorities, plan.cols());
  if (detail::overlap<T>(hubs, authorities)) throw InvalidArgument("hubs and authorities must not overlap");
  if (!plan.matrix().is_pattern()) static_cast<void>(detail::survey_links(plan.matrix(), plan.matrix_device()));
  if (hubs.empty() || authorities.empty()) {
    HitsReport report;
    report.status = Status::converged;
    report.reason = "the graph is empty";
    report.residual = 0.0;
    if (!hubs.empty()) detail::fill(plan.device(), hubs, 0.0);
    if (!authorities.empty()) detail::fill(plan.device(), authorities, 0.0);
    return report;
  }
  return Hits<T>(plan, hubs, authorities, options).solve();
}

template HitsReport hits(const SpmvPlan<float>&, std::span<float>, std::span<float>, const CentralityOptions&);
template HitsReport hits(const SpmvPlan<double>&, std::span<double>, std::span<double>, const CentralityOptions&);

}  // namespace tessera
