/// \file
/// A run with several right-hand sides: their columns, and their solution.
#pragma once

#include "outcome.hpp"
#include "precond_settings.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "settings.hpp"

#include "tessera/multi_vector_file.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace tessera::cli {

/// Right-hand sides that the settings name. A compressed file is read for it.
[[nodiscard]] std::int64_t rhs_columns(const RunSettings& settings, std::int64_t rows);

/// Refuses what is there for one right-hand side alone. \param method of the run \throws UsageError
void check_columns(const RunSettings& settings, Method method, std::int64_t columns);

/// \throws DimensionError for files of other sizes
template <class T>
[[nodiscard]] MultiVector<T> make_right_sides(const RunSettings& settings, std::int64_t rows);
/// \throws DimensionError for files of other sizes
template <class T>
[[nodiscard]] MultiVector<T> make_guesses(const RunSettings& settings, const MultiVector<T>& b);

/// Sets up a preconditioner within the limits, as the run does it for one right-hand side; nothing where one of
/// them came first. The limit of time becomes what is left of it.
template <class T>
using SetUpPrecond = std::function<std::optional<support::PreparedPrecond<T>>(const PrecondSettings&, SolverOptions&)>;

/// Solves A X = B. With a method and a preconditioner that are named, all columns with these. Else the ladder solves
/// the first column, the rung that solved it all others, and those that it does not solve climb the ladder themselves.
/// \param method what the settings name, or auto takes \param outcome gets the reports, and that of the worst column
template <class T>
void solve_right_sides(const RunSettings& settings, const SpmvPlan<T>& A, Method method, const MultiVector<T>& b,
                       MultiVector<T>& x, const SolverOptions& solver, const SetUpPrecond<T>& set_up,
                       Progress& progress, RunOutcome& outcome);

}  // namespace tessera::cli
