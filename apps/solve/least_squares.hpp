/// \file
/// Least squares as a run of the command: lsmr and cgls, for matrices of any shape.
#pragma once

#include "outcome.hpp"
#include "report_json.hpp"
#include "settings.hpp"

#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// The method of a run whose matrix is m x n: that of the settings, or what `auto` takes.
/// \throws DimensionError for a method that needs a square matrix; UsageError where lsmr or cgls would ignore an option
[[nodiscard]] support::MethodChoice method_of_run(const RunSettings& settings, const std::string& name,
                                                  const MatrixStatistics& matrix);

/// The first typed option that least squares do not have; empty where there is none.
[[nodiscard]] std::string option_of_square_systems(const Options& options);

/// Right-hand side, solution and work vectors. \param method lsmr or cgls
[[nodiscard]] std::uint64_t least_squares_bytes(const RunSettings& settings, Method method, std::int64_t rows,
                                                std::int64_t cols, std::size_t element);

/// x to begin with, n elements. \throws as make_vector
template <class T>
[[nodiscard]] std::vector<T> least_squares_guess(const RunSettings& settings, const SpmvPlan<T>& A,
                                                 std::span<const T> b);

/// Solves on the device of A, and fills in method, preconditioner and report. \param A with its transpose
template <class T>
void fit_least_squares(const RunSettings& settings, const SpmvPlan<T>& A, Method method, std::span<const T> b,
                       std::span<T> x, const SolverOptions& solver, RunOutcome& outcome);

/// Status and norms in the summary.
[[nodiscard]] std::string least_squares_lines(const RunOutcome& outcome);
/// Of the result in a JSON document.
[[nodiscard]] Json least_squares_json(const LeastSquaresOutcome& outcome);

}  // namespace tessera::cli
