/// \file
/// Forecast of a preconditioner: of a run by name, and of a rung of the ladder.
#pragma once

#include "dry_run.hpp"

#include "tessera/ladder.hpp"

#include <optional>

namespace tessera::cli {

/// Memory of a preconditioner, and what one application moves.
struct PrecondForecast {
  ForecastPhase phase{"precond", 0, 0, std::nullopt, {}};
  double applied_bytes = 0.0;
  bool is_open = false;  ///< its prediction was given up
};

/// That of the settings; of `auto` the one that the matrix takes by itself.
template <class T>
[[nodiscard]] PrecondForecast precond_forecast(const RunSettings& settings, const ForecastMatrix<T>& matrix);

/// Nothing for direct factors of a matrix that is too large to be predicted cheaply.
template <class T>
[[nodiscard]] std::optional<PrecondForecast> rung_forecast(const RungPlan& rung, const ForecastMatrix<T>& matrix,
                                                           bool predict_direct);

}  // namespace tessera::cli
