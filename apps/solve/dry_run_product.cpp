// Forecasts of a product of sparse matrices and of a comparison.
#include "compare_command.hpp"
#include "dry_run.hpp"
#include "interrupt.hpp"
#include "problem.hpp"
#include "spgemm_command.hpp"
#include "summary_text.hpp"

#include "core/memory_budget.hpp"
#include "support/amg_prediction.hpp"
#include "support/factor_precond.hpp"
#include "support/plan_memory.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::cli {

namespace {

/// A and B, in memory.
template <class T>
struct Operands {
  ForecastMatrix<T> left;
  ForecastMatrix<T> right;  ///< that of `left` for a power
};

/// The same matrix the other way round, held beside it.
template <class T>
[[nodiscard]] ForecastMatrix<T> transpose_of(const ForecastMatrix<T>& input, const MachineSettings& machine) {
  ForecastMatrix<T> result = input;
  result.matrix = std::make_shared<const Csr<T>>(transposed(*input.matrix, input.sizes.name, machine));
  std::swap(result.sizes.rows, result.sizes.cols);
  result.sizes.transposed = true;
  result.sizes.bytes = result.matrix->bytes();
  result.reading = {"transpose", result.sizes.bytes, 0, std::nullopt, "of A, beside it"};
  return result;
}

template <class T>
[[nodiscard]] Operands<T> look_at_factors(const SpgemmSettings& settings, Progress& progress, Forecast& forecast) {
  const MachineSettings& machine = settings.machine;
  Operands<T> result;
  result.left = look_at_matrix<T>(settings.left, machine, false, progress);
  forecast.phases.push_back(result.left.reading);
  result.right = result.left;
  if (!settings.has_two_factors()) {
    forecast.matrices = {result.left.sizes};
    return result;
  }
  if (settings.right) {
    result.right = look_at_matrix<T>(*settings.right, machine, false, progress);
  } else {
    result.right = transpose_of(result.left, machine);
  }
  forecast.phases.push_back(result.right.reading);
  if (!settings.right && settings.transposed == Factor::left) std::swap(result.left, result.right);
  forecast.matrices = {result.left.sizes, result.right.sizes};
  return result;
}

/// Three standard errors above, or below, a predicted number of entries.
constexpr double standard_errors = 3.0;

[[nodiscard]] std::int64_t entries_at_most(const ProductPrediction& size) {
  const double most = size.nnz.value * (1.0 + standard_errors * size.nnz.error);
  return std::llround(std::min(most, size.products.value));
}

[[nodiscard]] std::int64_t entries_at_least(const ProductPrediction& size) {
  return std::llround(size.nnz.value * std::max(0.0, 1.0 - standard_errors * size.nnz.error));
}

/// Entries of the buffer that the rows of C stand in before they are copied.
[[nodiscard]] double buffer_entries(const SpgemmSettings& settings, const ProductPrediction& size) {
  constexpr double few_per_row = 64.0;
  constexpr double counted_first = 1 << 21;
  constexpr double reserve = 1.5;  // of estimates over what they estimate
  const double products = size.products.value;
  switch (settings.product.workflow) {
    case SpgemmWorkflow::symbolic:
      return 0.0;
    case SpgemmWorkflow::automatic:
      if (!settings.product.device.is_host()) return 0.0;
      if (products < few_per_row * static_cast<double>(size.rows)) return products;
      return products <= counted_first ? 0.0 : std::min(products, reserve * static_cast<double>(entries_at_most(size)));
    default:
      return products;
  }
}

/// \param other_bytes of products that are still needed
[[nodiscard]] ForecastPhase product_phase(const SpgemmSettings& settings, const ProductPrediction& size,
                                          std::size_t value_bytes, std::uint64_t other_bytes) {
  constexpr double per_row = 64.0;
  constexpr double per_column = 24.0;  // of the accumulators of a thread
  constexpr double small = 1 << 20;
  const int threads = settings.machine.host.threads();
  ForecastPhase phase{"product", detail::csr_bytes(size.rows, entries_at_most(size), value_bytes), 0, std::nullopt, {}};
  phase.passing_bytes =
      other_bytes +
      static_cast<std::uint64_t>(buffer_entries(settings, size) * static_cast<double>(sizeof(index_t) + value_bytes) +
                                 per_row * static_cast<double>(size.rows) +
                                 threads * (small + per_column * static_cast<double>(size.cols)));
  const PredictedTime time = size.total();
  phase.ms = time.ms;
  const std::string products =
      size.products.error == 0.0
          ? fmt::format("{:.0f}", size.products.value)
          : fmt::format("about {:.3g} (+- {:.2g} %)", size.products.value, 100.0 * size.products.error);
  const std::string entries = size.nnz.error == 0.0 ? fmt::format("{:.0f}", size.nnz.value)
                                                    : fmt::format("about {:.3g} (+- {:.2g} %, by sketches)",
                                                                  size.nnz.value, 100.0 * size.nnz.error);
  phase.rests_on = fmt::format(
      "{}: {} products, {} entries; memory for three standard errors more; two times of three "
      "within a factor {:.2g}, by products on record",
      size.name, products, entries, time.factor);
  return phase;
}

void add_verification(const SpgemmSettings& settings, std::int64_t longest, Forecast& forecast) {
  if (!settings.verify) return;
  constexpr std::uint64_t checked_vectors = 9;
  std::uint64_t moved = 0;
  for (const ForecastPhase& phase : forecast.phases) moved += phase.held_bytes;
  forecast.phases.push_back({"verify", 0, checked_vectors * static_cast<std::uint64_t>(longest) * sizeof(double),
                             settings.machine.host.threads() * ms_of_bytes(forecast, static_cast<double>(moved)),
                             "factors and product once more, by one thread"});
}

/// A^0, A^1, or what follows the first square.
[[nodiscard]] bool is_small_power(const SpgemmSettings& settings) {
  return !settings.has_two_factors() && settings.power < 2;
}

template <class T>
void add_product(const SpgemmSettings& settings, const Operands<T>& factors, Forecast& forecast) {
  const MatrixForecast& a = factors.left.sizes;
  const MatrixForecast& b = factors.right.sizes;
  if (a.cols != b.rows) {
    throw DimensionError(fmt::format("A is {} x {} and B is {} x {}", a.rows, a.cols, b.rows, b.cols));
  }
  if (is_small_power(settings)) {
    const std::uint64_t bytes = settings.power == 1 ? a.bytes : detail::csr_bytes(a.rows, a.rows, sizeof(T));
    forecast.phases.push_back({"product", bytes, 0, ms_of_bytes(forecast, static_cast<double>(2 * bytes)),
                               settings.power == 1 ? "a copy of A" : "the identity"});
    return;
  }
  constexpr int most_predicted = 8;
  if (!settings.has_two_factors() && settings.power > most_predicted) {
    forecast.is_open = true;
    forecast.later.push_back({fmt::format("A^{}", settings.power), std::nullopt,
                              fmt::format("powers beyond A^{} are not predicted", most_predicted)});
    return;
  }
  const ChainPrediction prediction = predict_product(settings, *factors.left.matrix, *factors.right.matrix);
  stop_if_interrupted();
  // The product of two patterns counts.
  const std::size_t value = sizeof(T);
  std::uint64_t held = 0;
  for (const ForecastPhase& phase : forecast.phases) held += phase.held_bytes;
  forecast.least_peak_bytes = held + detail::csr_bytes(a.rows, entries_at_least(prediction.products.back()), value);
  std::uint64_t factors_so_far = 0;
  for (std::size_t k = 0; k < prediction.products.size(); ++k) {
    ForecastPhase phase = product_phase(settings, prediction.products[k], value, factors_so_far);
    if (k + 1 < prediction.products.size()) {
      // Let go when the last product is there.
      factors_so_far += phase.held_bytes;
      phase.passing_bytes += phase.held_bytes;
      phase.held_bytes = 0;
    }
    forecast.phases.push_back(std::move(phase));
  }
}

template <class T>
[[nodiscard]] Forecast product_forecast(const SpgemmSettings& settings, Progress& progress) {
  Forecast forecast;
  const Operands<T> factors = look_at_factors<T>(settings, progress, forecast);
  progress.phase("measuring the speed of memory");
  measure_speed(settings.machine, factors.left.sizes.bytes + factors.right.sizes.bytes, forecast);
  progress.phase("predicting the product");
  add_product(settings, factors, forecast);
  const MatrixForecast& a = factors.left.sizes;
  add_verification(settings, std::max({a.rows, a.cols, factors.right.sizes.cols}), forecast);
  if (settings.output.vector) {
    constexpr std::uint64_t pieces = std::uint64_t{8} << 20;
    forecast.phases.push_back({"output", 0, pieces, std::nullopt, "by pieces; the speed of the disk is not measured"});
  }
  return forecast;
}

/// Whether the sizes tell what a comparison holds: not where a hierarchy or factors take part.
[[nodiscard]] bool header_is_enough(const CompareSettings& settings) {
  const bool solves = std::any_of(settings.comparison.solvers.begin(), settings.comparison.solvers.end(),
                                  [](compare::Solver solver) { return solver != compare::Solver::pagerank; });
  if (settings.ordering.value_or(Ordering::natural) != Ordering::natural) return false;
  return !solves || std::none_of(settings.preconds.begin(), settings.preconds.end(), [](const PrecondSettings& each) {
    return each.precond == Precond::amg || each.precond == Precond::factors || each.precond == Precond::fsai ||
           each.precond == Precond::spai;
  });
}

template <class T>
[[nodiscard]] std::uint64_t precond_bytes(const PrecondSettings& precond, const ForecastMatrix<T>& matrix) {
  const MatrixStatistics& facts = matrix.sizes.facts;
  if (precond.precond == Precond::amg) {
    constexpr std::uint64_t uncertain = 3;  // with the products of its set-up
    const double neighbours = support::strong_neighbours(matrix.matrix->view(), precond.amg.strength_threshold);
    return uncertain *
           support::predicted_bytes(support::predict_amg(facts, neighbours, precond.amg), sizeof(T), precond.amg);
  }
  if (precond.precond == Precond::polynomial && precond.polynomial.explicit_matrix) {
    return static_cast<std::uint64_t>(precond.polynomial.degree) * matrix.sizes.bytes;
  }
  if (precond.precond == Precond::factors) {
    const double entries = precond.factors.fill_limit * static_cast<double>(facts.nnz);
    return support::factor_workspace_bytes(facts) + static_cast<std::uint64_t>(entries * (sizeof(T) + sizeof(index_t)));
  }
  if (precond.precond == Precond::fsai || precond.precond == Precond::spai) {
    support::PrecondRequest request;
    request.precond = precond.precond;
    request.fsai = precond.fsai;
    request.spai = precond.spai;
    return support::inverse_bytes(request, facts, sizeof(T)).held;
  }
  return static_cast<std::uint64_t>(matrix.sizes.rows) * sizeof(T);
}

template <class T>
void add_solves(const CompareSettings& settings, const ForecastMatrix<T>& matrix, Forecast& forecast) {
  const compare::Settings& comparison = settings.comparison;
  if (comparison.solvers.empty()) return;
  const auto n = static_cast<std::uint64_t>(matrix.sizes.rows);
  std::uint64_t held = compare::solver_vectors(comparison, matrix.sizes.rows) * n * sizeof(T);
  const bool ranks = std::find(comparison.solvers.begin(), comparison.solvers.end(), compare::Solver::pagerank) !=
                     comparison.solvers.end();
  if (ranks) held += matrix.sizes.bytes + n * (sizeof(T) + 2 * sizeof(index_t));
  std::uint64_t largest = 0;
  for (const PrecondSettings& each : settings.preconds) largest = std::max(largest, precond_bytes(each, matrix));
  forecast.phases.push_back({"solves", held, 2 * largest, std::nullopt,
                             "vectors and preconditioner of the solver that needs the most; how many iterations it "
                             "takes is not known before"});
}

template <class T>
[[nodiscard]] Forecast comparison_forecast(const CompareSettings& settings, Progress& progress) {
  Forecast forecast;
  const compare::Settings& comparison = settings.comparison;
  const auto candidates = choose_candidates(compare::registered_candidates<T>(comparison.device), settings.kernels);
  ForecastMatrix<T> matrix =
      look_at_matrix<T>(settings.problem, settings.machine, header_is_enough(settings), progress);
  const MatrixForecast& sizes = matrix.sizes;
  if (settings.ordering.value_or(Ordering::natural) != Ordering::natural) require_square(sizes);
  progress.phase("measuring the speed of memory");
  measure_speed(settings.machine, sizes.bytes, forecast);
  forecast.matrices = {sizes};
  forecast.phases.push_back(matrix.reading);
  add_ordering(settings.ordering, matrix, progress, forecast);
  const auto ends = static_cast<std::uint64_t>(sizes.rows + sizes.cols) * sizeof(T);
  const std::uint64_t workspace = compare::product_workspace_bytes(
      comparison, {sizes.rows, sizes.cols, sizeof(T), sizes.bytes + ends}, candidates.size());
  forecast.phases.push_back({"oracle", workspace, 0, std::nullopt, "the product in long double, and all outputs"});
  ForecastPhase plans{"plans", 0, 0, std::nullopt, {}};
  for (const compare::Candidate<T>& each : candidates) {
    const std::uint64_t plan =
        support::most_plan_bytes(each.options.algorithm, sizes.rows, sizes.nnz, sizes.pattern ? 0 : sizeof(T));
    plans.held_bytes += plan;
    // A second one while its set-up is timed.
    plans.passing_bytes = std::max(plans.passing_bytes, 2 * plan);
  }
  plans.rests_on = fmt::format("of {}", counted(static_cast<std::int64_t>(candidates.size()), "kernel"));
  forecast.phases.push_back(std::move(plans));
  constexpr double ms_per_second = 1e3;
  const double kinds = comparison.timing.cold ? 2.0 : 1.0;
  forecast.phases.push_back({"timing", 0, 0, kinds * ms_per_second * comparison.timing.min_seconds,
                             "--min-time of products; up to 10 times as long while they are not quiet, and set-ups "
                             "besides"});
  add_solves(settings, matrix, forecast);
  return forecast;
}

}  // namespace

ExitCode forecast_spgemm(const SpgemmSettings& settings, const Options& options, const Invocation& invocation) {
  return forecast_command(settings, options, invocation, product_forecast<double>, product_forecast<float>);
}

ExitCode forecast_compare(const CompareSettings& settings, const Options& options, const Invocation& invocation) {
  return forecast_command(settings, options, invocation, comparison_forecast<double>, comparison_forecast<float>);
}

}  // namespace tessera::cli
