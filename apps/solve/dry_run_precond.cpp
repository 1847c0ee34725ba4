#include "dry_run_precond.hpp"

#include "interrupt.hpp"
#include "ladder_run.hpp"

#include "core/interruption.hpp"
#include "support/amg_prediction.hpp"
#include "support/factor_precond.hpp"
#include "support/precond.hpp"
#include "tessera/direct.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tessera::cli {

namespace {

template <class T>
[[nodiscard]] double amg_complexity(const ForecastMatrix<T>& matrix, const AmgOptions& options, std::uint64_t& bytes) {
  const double neighbours = support::strong_neighbours(matrix.matrix->view(), options.strength_threshold);
  const support::AmgPrediction prediction = support::predict_amg(matrix.sizes.facts, neighbours, options);
  bytes = support::predicted_bytes(prediction, sizeof(T), options);
  return prediction.operator_complexity;
}

/// Entries of both factors: as many as A has, or within the limits on a row and on fill.
[[nodiscard]] double most_factor_entries(const MatrixStatistics& facts, const IncompleteFactorOptions& options) {
  const auto nnz = static_cast<double>(facts.nnz);
  const auto rows = static_cast<double>(facts.rows);
  const double by_fill = options.fill_limit * nnz;
  switch (options.kind) {
    case FactorKind::ilu0:
    case FactorKind::ic0:
      return nnz + rows;
    case FactorKind::iluk:
      return by_fill + rows;
    default:
      return std::min(by_fill, 2.0 * static_cast<double>(options.max_row_entries) * rows) + rows;
  }
}

template <class T>
[[nodiscard]] std::uint64_t factor_bytes(const MatrixStatistics& facts, const IncompleteFactorOptions& options) {
  constexpr double per_row = 64.0;  // offsets, levels, permutations, scalings
  return static_cast<std::uint64_t>(most_factor_entries(facts, options) * (sizeof(T) + sizeof(index_t)) +
                                    per_row * static_cast<double>(facts.rows));
}

template <class T>
[[nodiscard]] PrecondForecast jacobi_forecast(std::int64_t rows) {
  PrecondForecast result;
  result.phase.held_bytes = static_cast<std::uint64_t>(rows) * sizeof(T);
  result.phase.rests_on = std::string("the inverse of the diagonal");
  result.applied_bytes = static_cast<double>(rows) * sizeof(T);
  return result;
}

template <class T>
[[nodiscard]] PrecondForecast amg_forecast(const ForecastMatrix<T>& matrix, const AmgOptions& options) {
  // The prediction holds to within a factor of 2; set-up keeps products of the coarser levels beside them.
  constexpr std::uint64_t uncertain = 2;
  constexpr double products_per_cycle = 5.0;
  PrecondForecast result;
  std::uint64_t bytes = 0;
  const double complexity = amg_complexity(matrix, options, bytes);
  result.phase.held_bytes = uncertain * bytes;
  result.phase.passing_bytes = uncertain * bytes + matrix.sizes.bytes;
  result.phase.rests_on = fmt::format(
      "a hierarchy of complexity {:.2f}, predicted from strong neighbours, taken twice; the time of its "
      "set-up is not forecast",
      complexity);
  result.applied_bytes = products_per_cycle * complexity * static_cast<double>(matrix.sizes.bytes);
  return result;
}

template <class T>
[[nodiscard]] PrecondForecast polynomial_forecast(const ForecastMatrix<T>& matrix, const PolynomialOptions& options) {
  constexpr double vectors_per_step = 6.0;
  const auto vector = static_cast<std::uint64_t>(matrix.sizes.rows) * sizeof(T);
  const bool chebyshev = options.kind == PolynomialKind::chebyshev;
  const auto products = static_cast<std::uint64_t>(options.degree) - (chebyshev ? 1 : 0);
  PrecondForecast result;
  if (options.explicit_matrix) {
    result.phase.held_bytes = std::max<std::uint64_t>(products, 1) * matrix.sizes.bytes;
    result.phase.passing_bytes = result.phase.held_bytes + 3 * vector;
    result.phase.rests_on = std::string(
        "as many entries as A per product, a guess: how many are smaller than the drop tolerance is not known before");
    result.applied_bytes = static_cast<double>(result.phase.held_bytes);
    return result;
  }
  result.phase.held_bytes = (chebyshev ? 3 : 2) * vector;
  result.phase.passing_bytes = 3 * vector;  // of the power method
  result.phase.rests_on = std::string("the diagonal and work vectors");
  result.applied_bytes = static_cast<double>(products) * static_cast<double>(matrix.sizes.bytes) +
                         vectors_per_step * static_cast<double>(products + 1) * static_cast<double>(vector);
  return result;
}

template <class T>
[[nodiscard]] PrecondForecast factor_forecast(const ForecastMatrix<T>& matrix, const IncompleteFactorOptions& options) {
  PrecondForecast result;
  const MatrixStatistics& facts = matrix.sizes.facts;
  result.phase.held_bytes = factor_bytes<T>(facts, options);
  result.phase.passing_bytes = support::factor_workspace_bytes(facts) + result.phase.held_bytes;
  result.phase.rests_on = std::string(
      "the limits on fill and on a row, which the factors seldom reach; the time of set-up is not forecast");
  result.applied_bytes = static_cast<double>(result.phase.held_bytes);
  return result;
}

template <class T>
[[nodiscard]] PrecondForecast inverse_forecast(const MatrixStatistics& facts, const PrecondSettings& settings) {
  support::PrecondRequest request;
  request.precond = settings.precond;
  request.fsai = settings.fsai;
  request.spai = settings.spai;
  const support::InverseBytes bytes = support::inverse_bytes(request, facts, sizeof(T));
  PrecondForecast result;
  result.phase.held_bytes = bytes.held;
  result.phase.passing_bytes = bytes.passing;
  result.phase.rests_on = std::string(settings.precond == Precond::fsai
                                          ? "the limit on a row and a guess of the power of A, which filters seldom "
                                            "leave; the time of set-up is not forecast"
                                          : "the entries of A; the time of set-up is not forecast");
  result.applied_bytes = static_cast<double>(bytes.held);
  return result;
}

template <class T>
[[nodiscard]] PrecondForecast direct_forecast(const ForecastMatrix<T>& matrix) {
  constexpr double flops_per_ms = 1e6;
  PrecondForecast result;
  DirectPrediction prediction;
  const double seconds = outlook_seconds(matrix.reading.ms.value_or(0.0) / 1e3);
  try {
    const detail::InterruptionScope budget(seconds);
    prediction = predict_direct(matrix.matrix->view());
  } catch (const BudgetExceeded& error) {
    stop_if_interrupted();
    result.is_open = true;
    result.phase.rests_on = fmt::format("nothing: no prediction of the factors, {}", error.what());
    return result;
  }
  result.phase.held_bytes = prediction.bytes;
  result.phase.passing_bytes = prediction.bytes;  // room for row exchanges
  result.phase.ms = prediction.ms + prediction.flops / flops_per_ms;
  result.phase.rests_on = fmt::format("{} entries of the factors, counted; {:.2g} flops at 1 Gflop/s, a constant",
                                      prediction.factor_nnz, prediction.flops);
  result.applied_bytes = static_cast<double>(prediction.bytes);
  return result;
}

}  // namespace

template <class T>
PrecondForecast precond_forecast(const RunSettings& settings, const ForecastMatrix<T>& matrix) {
  Precond precond = settings.precond.precond;
  if (precond == Precond::automatic) precond = support::choose_precond(precond, matrix.sizes.facts).precond;
  if (precond == Precond::amg) return amg_forecast(matrix, settings.precond.amg);
  if (precond == Precond::polynomial) return polynomial_forecast(matrix, settings.precond.polynomial);
  if (precond == Precond::factors) return factor_forecast(matrix, settings.precond.factors);
  if (precond == Precond::direct) return direct_forecast(matrix);
  if (precond == Precond::jacobi) return jacobi_forecast<T>(matrix.sizes.rows);
  if (precond == Precond::fsai || precond == Precond::spai) {
    return inverse_forecast<T>(matrix.sizes.facts, settings.precond);
  }
  PrecondForecast none;
  none.phase.rests_on = std::string("there is none");
  return none;
}

template <class T>
std::optional<PrecondForecast> rung_forecast(const RungPlan& rung, const ForecastMatrix<T>& matrix,
                                             bool predict_direct) {
  switch (rung.precond) {
    case RungPrecond::none:
      return PrecondForecast{};
    case RungPrecond::jacobi:
      return jacobi_forecast<T>(matrix.sizes.rows);
    case RungPrecond::amg:
      return amg_forecast(matrix, AmgOptions{});
    case RungPrecond::incomplete_factors:
      return factor_forecast(matrix, rung.factors);
    case RungPrecond::direct:
      break;
  }
  if (!predict_direct) return std::nullopt;
  return direct_forecast(matrix);
}

template PrecondForecast precond_forecast(const RunSettings&, const ForecastMatrix<float>&);
template PrecondForecast precond_forecast(const RunSettings&, const ForecastMatrix<double>&);
template std::optional<PrecondForecast> rung_forecast(const RungPlan&, const ForecastMatrix<float>&, bool);
template std::optional<PrecondForecast> rung_forecast(const RungPlan&, const ForecastMatrix<double>&, bool);

}  // namespace tessera::cli
