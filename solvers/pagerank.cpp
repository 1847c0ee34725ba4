/// PageRank by the power method.
///
/// L. Page, S. Brin, R. Motwani, T. Winograd, The PageRank Citation Ranking: Bringing Order to the Web, 1999; policies
/// for vertices without out-links after A. N. Langville, C. D. Meyer, Deeper Inside PageRank, Internet Math. 1(3),
/// 2004.
///
/// Memory movement per iteration, n elements each, besides the columns of the matrix: the product reads y and writes q
/// (2n); one pass reads q, x and the inverse out weights and writes x and y (5n; 1n more with a personalization).
#include "tessera/pagerank.hpp"

#include "core/stopwatch.hpp"
#include "solvers/rank_vector.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

namespace tessera {

namespace {

constexpr std::int64_t reserved_history = 65536;

/// Iterations without a lower change after which rounding is to blame, and the size in machine epsilons below which it
/// can be. A step contracts the L1 distance of distributions by the damping, so above that size the change falls.
constexpr std::int64_t stagnation_window = 50;
constexpr double rounding_level = 1000.0;

/// Largest distance of two distributions.
double diameter(RankNorm norm) {
  switch (norm) {
    case RankNorm::l1:
      return 2.0;
    case RankNorm::l2:
      return std::numbers::sqrt2;
    case RankNorm::linf:
      break;
  }
  return 1.0;
}

void check_options(const PageRankOptions& options) {
  if (!(options.damping >= 0.0 && options.damping < 1.0)) {
    throw InvalidArgument(fmt::format("damping must be in [0, 1), got {}", options.damping));
  }
  const double limit = diameter(options.norm);
  if (!(options.tolerance >= 0.0 && options.tolerance < limit)) {
    throw InvalidArgument(
        fmt::format("tolerance must be in [0, {:.6g}) in the norm {}, in which no two distributions are further apart; "
                    "got {}",
                    limit, to_string(options.norm), options.tolerance));
  }
  if (options.max_iterations < 0) {
    throw InvalidArgument(fmt::format("max_iterations must be >= 0, got {}", options.max_iterations));
  }
  if (!(options.time_limit_seconds >= 0.0)) {
    throw InvalidArgument(fmt::format("time_limit_seconds must be >= 0, got {}", options.time_limit_seconds));
  }
}

/// Sums to 1; empty when uniform. On the host.
template <class T>
Array<T> teleport_distribution(std::span<const double> weights, index_t vertices) {
  if (weights.empty()) return {};
  if (static_cast<std::int64_t>(weights.size()) != vertices) {
    throw DimensionError(
        fmt::format("personalization must have one weight a vertex: {}, got {}", vertices, weights.size()));
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0.0) || std::isinf(weights[i])) {
      throw InvalidArgument(fmt::format(
          "personalization must be finite and not negative, but vertex {} (counted from 0) has {}", i, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0.0) throw InvalidArgument("personalization sums to 0");
  // Divided by the largest first, so that neither the sum nor its inverse leaves the range of the type.
  passes::CompensatedSum sum;
  for (const double weight : weights) sum.add(weight / largest);
  Array<T> result(vertices, Init::none);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    result.data()[i] = static_cast<T>(weights[i] / largest / sum.value());
  }
  return result;
}

/// What the steps read besides the matrix, where they run.
template <class T>
struct RankInputs {
  Array<T> out_inverse;  ///< a copy on a GPU; empty on the host, where that of the transition matrix serves
  Array<T> teleport;
  double upload_ms = 0.0;

  RankInputs(const TransitionMatrix<T>& transition, const PageRankOptions& options, const Device& device)
      : teleport(teleport_distribution<T>(options.personalization, transition.vertices())) {
    if (device.is_host()) return;
    const Stopwatch watch;
    out_inverse = Array<T>::copy_of(transition.inverse_out_weight(), device);
    teleport = teleport.to(device);
    upload_ms = watch.milliseconds();
  }
};

template <class T>
class PageRank {
 public:
  PageRank(const TransitionMatrix<T>& transition, const PageRankOptions& options)
      : options_(options),
        plan_(transition.in_links(), options.spmv),
        product_(plan_.make_output()),
        inputs_(transition, options, plan_.device()),
        ranks_(plan_.device().is_host() ? transition.inverse_out_weight() : std::as_const(inputs_.out_inverse).span(),
               std::move(inputs_.teleport), plan_.device()) {
    result_.plan = plan_.info();
    result_.timings.plan_ms = result_.plan.build_ms;
    result_.timings.upload_ms = result_.plan.upload_ms + inputs_.upload_ms;
    result_.dangling_count = static_cast<index_t>(transition.dangling().size());
    result_.change = std::numeric_limits<double>::infinity();
    if (options.keep_history) {
      result_.history.reserve(static_cast<std::size_t>(std::min(options.max_iterations, reserved_history)));
    }
  }

  [[nodiscard]] PageRankResult<T> run();

 private:
  void iterate();
  void download();
  [[nodiscard]] std::optional<Status> verdict();
  [[nodiscard]] Control show();
  [[nodiscard]] std::string reason() const;

  const PageRankOptions& options_;
  SpmvPlan<T> plan_;
  DualBuffer<T> product_;
  RankInputs<T> inputs_;
  RankVector<T> ranks_;
  PageRankResult<T> result_;
  Stopwatch watch_;
  double best_change_ = std::numeric_limits<double>::infinity();
  std::int64_t best_iteration_ = 0;
};

template <class T>
PageRankResult<T> PageRank<T>::run() {
  watch_ = Stopwatch{};
  if (plan_.rows() == 0) {
    result_.status = Status::converged;
    result_.reason = "the graph is empty";
    result_.change = 0.0;
    return std::move(result_);
  }
  iterate();
  result_.reason = reason();
  result_.sum = ranks_.normalise();
  result_.timings.solve_ms = watch_.milliseconds();
  result_.ranks = ranks_.take_ranks();
  if (!plan_.device().is_host()) download();
  return std::move(result_);
}

/// The ranks to the host.
template <class T>
void PageRank<T>::download() {
  const Stopwatch watch;
  result_.ranks = result_.ranks.to(Device{});
  result_.timings.download_ms = watch.milliseconds();
}

template <class T>
void PageRank<T>::iterate() {
  if (show() == Control::stop) {
    result_.status = Status::interrupted;
    return;
  }
  result_.status = Status::max_iterations;
  while (result_.iterations < options_.max_iterations) {
    // q = Wᵀ D⁻¹ x,  x' = d (q + dangling(x)) + (1 - d) v
    plan_.apply(ranks_.source(), product_);
    ranks_.step(std::as_const(product_).current(), options_.damping, options_.dangling);
    ++result_.spmv_count;
    ++result_.iterations;
    result_.change = change_of(ranks_.sums(), options_.norm);
    const Control control = show();
    if (const auto status = verdict()) {
      result_.status = *status;
      return;
    }
    if (control == Control::stop) {
      result_.status = Status::interrupted;
      return;
    }
  }
}

/// Why to end after this step; nothing means go on.
template <class T>
std::optional<Status> PageRank<T>::verdict() {
  const passes::RankSums& sums = ranks_.sums();
  if (!std::isfinite(sums.total.value())) return Status::not_finite;
  if (result_.change <= options_.tolerance) return Status::converged;
  if (sums.l1 < best_change_) {
    best_change_ = sums.l1;
    best_iteration_ = result_.iterations;
  }
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const bool no_progress = result_.iterations - best_iteration_ >= stagnation_window;
  if (no_progress && sums.l1 <= rounding_level * epsilon) return Status::stagnated;
  if (watch_.seconds() > options_.time_limit_seconds) return Status::time_limit;
  return std::nullopt;
}

/// History and observer.
template <class T>
Control PageRank<T>::show() {
  const double seconds = watch_.seconds();
  if (options_.keep_history && result_.iterations > 0) {
    result_.history.push_back({result_.iterations, seconds, result_.change, std::numeric_limits<double>::quiet_NaN()});
  }
  if (!options_.observer) return Control::proceed;
  return options_.observer({result_.iterations, options_.max_iterations, result_.change, options_.tolerance, seconds});
}

template <class T>
std::string PageRank<T>::reason() const {
  std::string cause;
  switch (result_.status) {
    case Status::max_iterations:
      cause = fmt::format("iteration limit {} reached; ", options_.max_iterations);
      break;
    case Status::time_limit:
      cause = fmt::format("time limit {} s passed; ", options_.time_limit_seconds);
      break;
    case Status::interrupted:
      cause = fmt::format("stopped by the observer after iteration {}; ", result_.iterations);
      break;
    case Status::not_finite:
      cause = "a rank is not finite; ";
      break;
    case Status::stagnated:
      cause = fmt::format("attainable accuracy of the type reached: no lower change within {} iterations; ",
                          stagnation_window);
      break;
    default:
      break;
  }
  if (result_.iterations == 0) return cause + "no step was made";
  return fmt::format("{}||x' - x||_{} = {:.6g} {} tolerance = {:.6g}", cause, to_string(options_.norm), result_.change,
                     result_.change <= options_.tolerance ? "<=" : ">", options_.tolerance);
}

}  // namespace

std::string_view to_string(Dangling dangling) {
  switch (dangling) {
    case Dangling::teleport:
      return "teleport";
    case Dangling::uniform:
      return "uniform";
    case Dangling::self:
      return "self";
    case Dangling::drop:
      return "drop";
  }
  return "unknown";
}

std::string_view to_string(RankNorm norm) {
  switch (norm) {
    case RankNorm::l1:
      return "l1";
    case RankNorm::l2:
      return "l2";
    case RankNorm::linf:
      return "linf";
  }
  return "unknown";
}

template <class T>
PageRankResult<T> pagerank(const TransitionMatrix<T>& transition, const PageRankOptions& options) {
  check_options(options);
  return PageRank<T>(transition, options).run();
}

template PageRankResult<float> pagerank<float>(const TransitionMatrix<float>&, const PageRankOptions&);
template PageRankResult<double> pagerank<double>(const TransitionMatrix<double>&, const PageRankOptions&);

}  // namespace tessera
