/// \file
/// Models of what the rungs of the ladder cost, in milliseconds: decisions must not depend on how busy a machine is.
/// Measured on one core of a server of 2026 (bench/NOTES.md); only their ratios matter.
#pragma once

#include "tessera/device.hpp"
#include "tessera/ladder.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Systems of at least so many rows may need multigrid.
inline constexpr index_t least_rows_for_amg = 20'000;

/// Iterations of CG with Jacobi that take as long as set-up and solve with AMG.
/// On a GPU from a model of its times (H200, bench/NOTES.md): AMG 3.5 ms + 4.9 ns per row, an iteration .012 ms + .045
/// ns per row. On the host a constant: there set-up took as long as 120 to 130 iterations, and the solve as 65 to 80,
/// on 2D 300² and 3D 60³ (one thread).
[[nodiscard]] double amg_break_even(std::int64_t rows, const Device& device);

/// Iterations until the residual is at most `target`, when it goes on to fall as in the second half of what was seen;
/// residuals oscillate, so the smallest one so far counts. Infinity where it does not fall. \param residuals of
/// iterations 0, 1, ...; not empty
[[nodiscard]] double projected_iterations(std::span<const double> residuals, double target);

/// One iteration with Jacobi.
[[nodiscard]] double iteration_ms(const LadderFacts& facts, RungMethod method, const Device& device);

/// One iteration of a rung. \param report of its set-up: fill and levels of its factors
[[nodiscard]] double iteration_ms(const RungReport& report, const LadderFacts& facts, const Device& device);

/// Matching, orderings and symbolic counts.
[[nodiscard]] double analysis_ms(const LadderFacts& facts);

/// Set-up and solve of a rung. \param projected iterations with Jacobi, or infinity; ILU(0) is taken to need a third of
/// them. Half the time of direct factors, which hardly ever fail; infinity without preconditioner
[[nodiscard]] double price_ms(const RungPlan& plan, const LadderFacts& facts, double projected, const Device& device);

/// Factors and solve of a predicted factorization, on one core.
[[nodiscard]] double direct_ms(const DirectPrediction& prediction);

/// Whether a prediction is cheap enough to go before incomplete factors: direct factors hardly ever fail.
[[nodiscard]] bool is_cheap(const DirectPrediction& prediction, const LadderFacts& facts);

/// Some ten seconds of one thread, and 3 GB.
inline constexpr DirectLimits affordable{.flops = 1e11, .factor_nnz = 2e8};

/// Some 20 ms by direct_ms() of Cholesky factors, its work and its entries apart.
inline constexpr DirectLimits cheap_factors{.flops = 1e8, .factor_nnz = 6.6e5};

/// Whether a prediction can be the last rung.
[[nodiscard]] bool is_affordable(const DirectPrediction& prediction);

}  // namespace tessera::detail
