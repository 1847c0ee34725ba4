/// \file
/// One rung of the ladder: its preconditioner, and a call of its method.
#pragma once

#include "solvers/ladder/systems.hpp"
#include "tessera/ladder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace tessera::detail {

/// What set-up of a rung may cost, and what is known before.
struct SetUp {
  std::uint64_t memory_limit_bytes = 0;  ///< 0: none
  double seconds = 0.0;
  std::optional<DirectPrediction> prediction;
};

/// The preconditioner of a rung on the device of its side, with what it says of itself noted in the report.
/// \returns null where it cannot be set up or its factors are useless; report.outcome then says why
template <class T>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> set_up_rung(const RungPlan& plan, LadderSystems<T>& systems,
                                                            const Side& side, const SetUp& budget, RungReport& report);

/// Whether the ladder plans such a preconditioner that may fit into memory with its set-up; of incomplete factors, some
/// with as many entries as A. \param limit_bytes 0: none
[[nodiscard]] bool fits_memory(RungPrecond precond, const LadderFacts& facts, std::optional<RungMethod> method,
                               std::size_t value_bytes, std::uint64_t limit_bytes);

/// Runs the method of a rung.
template <class T>
[[nodiscard]] SolveReport run_rung(RungMethod method, const FusedOperator<T>& A, const FusedOperator<T>& M,
                                   std::span<const T> b, std::span<T> x, const SolverOptions& options);

extern template std::unique_ptr<FusedOperator<float>> set_up_rung(const RungPlan&, LadderSystems<float>&, const Side&,
                                                                  const SetUp&, RungReport&);
extern template std::unique_ptr<FusedOperator<double>> set_up_rung(const RungPlan&, LadderSystems<double>&, const Side&,
                                                                   const SetUp&, RungReport&);
extern template SolveReport run_rung(RungMethod, const FusedOperator<float>&, const FusedOperator<float>&,
                                     std::span<const float>, std::span<float>, const SolverOptions&);
extern template SolveReport run_rung(RungMethod, const FusedOperator<double>&, const FusedOperator<double>&,
                                     std::span<const double>, std::span<double>, const SolverOptions&);

}  // namespace tessera::detail
