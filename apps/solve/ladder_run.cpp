// The ladder as a run of the command.
#include "ladder_run.hpp"

#include "problem.hpp"

#include "core/interruption.hpp"
#include "core/stopwatch.hpp"
#include "tessera/direct.hpp"
#include "tessera/error.hpp"
#include "tessera/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace tessera::cli {

std::optional<RungMethod> rung_method(Method method) {
  for (const RungMethod rung : {RungMethod::cg, RungMethod::bicgstab, RungMethod::gmres, RungMethod::idr}) {
    if (to_string(rung) == to_string(method)) return rung;
  }
  return std::nullopt;
}

namespace {

/// b and x on a GPU and x back, or as they are.
template <class T>
[[nodiscard]] LadderReport solve_where_a_lies(const SpmvPlan<T>& A, const MatrixStatistics& facts, std::span<const T> b,
                                              std::span<T> x, const LadderOptions& options) {
  const Device device = A.device();
  if (device.is_host()) return solve<T>(A, facts, b, x, options);
  const Stopwatch uploading;
  const auto device_b = Array<T>::copy_of(b, device);
  auto device_x = Array<T>::copy_of(std::span<const T>(x), device);
  const double upload_ms = uploading.milliseconds();
  LadderReport ladder = solve<T>(A, facts, device_b.span(), device_x.span(), options);
  const Stopwatch downloading;
  tessera::detail::copy_bytes(Device{}, x.data(), device, device_x.data(), device_x.bytes());
  ladder.report.timings.upload_ms = upload_ms;
  ladder.report.timings.download_ms = downloading.milliseconds();
  return ladder;
}

/// What the summary says of the rung whose x is returned.
void describe_rung(const RungReport& rung, const std::string& first_reason, RunOutcome& outcome) {
  outcome.method = to_string(rung.plan.method);
  outcome.precond.name = rung.plan.precond_name();
  const bool first = rung.plan.precond == RungPrecond::jacobi;
  outcome.method_reason = first ? first_reason : rung.plan.reason;
  outcome.precond.reason = first ? "full diagonal" : "a rung of the ladder";
  if (rung.plan.precond != RungPrecond::none) outcome.precond.info = rung.info;
  outcome.precond.hierarchy = rung.hierarchy;
  if (rung.factors) outcome.precond.factors = {rung.plan.factors, *rung.factors};
  outcome.precond.direct = rung.direct;
  outcome.memory.precond = rung.info.bytes;
}

/// Nothing had to be tried: the first rung would have been. \param named the user's method
void describe_nothing(const LadderFacts& facts, std::optional<RungMethod> named, const std::string& first_reason,
                      RunOutcome& outcome) {
  const auto plans = plan_ladder(facts);
  if (plans.empty()) return;
  outcome.method = to_string(named.value_or(plans.front().method));
  outcome.method_reason = first_reason;
  outcome.precond.name = plans.front().precond_name();
  outcome.precond.reason = "nothing had to be iterated";
}

void describe_accuracy(const LadderReport& ladder, RunOutcome& outcome) {
  outcome.accuracy.backward = ladder.backward;
  outcome.accuracy.backward_stable = ladder.is_backward_stable;
  outcome.accuracy.ms = ladder.backward_error_ms;
  if (ladder.rungs.empty()) return;
  outcome.accuracy.estimate = ladder.rungs[ladder.rung].error;
}

/// What the user's limit leaves for preconditioners; 0: there is none.
[[nodiscard]] std::uint64_t left_for_factors(const MachineSettings& machine, const MemoryUse& memory) {
  if (machine.memory_limit_bytes == 0) return 0;
  const std::uint64_t held = memory.matrix + memory.vectors + memory.plan;
  return std::max<std::uint64_t>(machine.memory_limit_bytes - std::min(machine.memory_limit_bytes, held), 1);
}

}  // namespace

bool climbs(const RunSettings& settings) {
  if (settings.precond.precond != Precond::automatic || settings.is_mixed) return false;
  return settings.method == Method::automatic || rung_method(settings.method).has_value();
}

template <class T>
void climb(const RunSettings& settings, const SpmvPlan<T>& A, std::span<const T> b, std::span<T> x,
           const SolverOptions& solver, RunOutcome& outcome) {
  const Stopwatch watch;
  LadderOptions options;
  options.solver = solver;
  options.gate = outcome.error_gate = settings.error_gate.value_or(ErrorGate::repair);
  options.method = rung_method(settings.method);
  options.memory_limit_bytes = left_for_factors(settings.machine, outcome.memory);
  LadderReport ladder = solve_where_a_lies<T>(A, outcome.matrix, b, x, options);
  const std::string first_reason = support::choose_method(settings.method, outcome.matrix).reason;
  if (ladder.rungs.empty()) {
    describe_nothing(ladder.facts, options.method, first_reason, outcome);
  } else {
    describe_rung(ladder.rungs[ladder.rung], first_reason, outcome);
  }
  if (options.method) outcome.method_reason.clear();
  describe_accuracy(ladder, outcome);
  outcome.report = std::move(ladder.report);
  if (!ladder.rungs.empty()) {
    outcome.report.timings.preconditioner_ms = ladder.rungs[ladder.rung].setup_ms;
    outcome.report.timings.solve_ms = ladder.rungs[ladder.rung].solve_ms;
  }
  const double ms = watch.milliseconds() - ladder.backward_error_ms;
  const Timings& timings = outcome.report.timings;
  const double rest_ms = ms - timings.preconditioner_ms - timings.solve_ms - timings.upload_ms - timings.download_ms;
  outcome.ladder = LadderOutcome{std::move(ladder), ms, std::max(0.0, rest_ms)};
}

template <class T>
BudgetedFacts facts_within(double seconds, const MatrixStatistics& statistics, const CsrView<T>& matrix, bool predict) {
  BudgetedFacts result{ladder_facts<T>(statistics), {}};
  const Stopwatch watch;
  try {
    const detail::InterruptionScope budget(seconds);
    result.facts = ladder_facts<T>(statistics, &matrix, false);
    if (predict && !result.facts.is_singular()) result.facts.direct = predict_direct(matrix);
  } catch (const BudgetExceeded& error) {
    if (!detail::is_wanted()) throw;
    const bool is_late = watch.seconds() >= seconds;
    result.given_up = fmt::format(
        "{} given up {}",
        result.facts.structural_rank ? "the prediction of direct factors was" : "rank and direct factors were",
        is_late ? fmt::format("after {:.2g} s", seconds) : fmt::format("({})", error.what()));
  }
  return result;
}

namespace {

/// The first rung that was not tried.
[[nodiscard]] std::string next_command(const RunOutcome& outcome, const LadderFacts& facts) {
  std::vector<std::string> tried{fmt::format("-m {} -p {}", outcome.method, outcome.precond.name)};
  if (outcome.ladder) {
    for (const RungReport& rung : outcome.ladder->ladder.rungs) tried.push_back(rung.plan.command_options());
  }
  if (facts.is_singular()) return {};
  for (const RungPlan& plan : plan_ladder(facts)) {
    // Jacobi first is what `auto` does; as advice it would be none.
    if (plan.precond == RungPrecond::jacobi) continue;
    const std::string words = plan.command_options();
    if (std::find(tried.begin(), tried.end(), words) != tried.end()) continue;
    return fmt::format("solve {} {}", source_words(outcome), words);
  }
  return {};
}

}  // namespace

template <class T>
void advise(const CsrView<T>& matrix, bool predict, double seconds, RunOutcome& outcome) {
  constexpr double share = 0.1;
  constexpr double least_seconds = 0.05;
  const bool is_late = outcome.report.status == Status::time_limit;
  if (outcome.ladder && !is_late && outcome.report.status != Status::max_iterations) return;
  const Stopwatch watch;
  LadderFacts facts = outcome.ladder ? outcome.ladder->ladder.facts : ladder_facts<T>(outcome.matrix);
  try {
    if (!facts.structural_rank && !is_late) {
      facts = facts_within<T>(std::max(share * seconds, least_seconds), outcome.matrix, matrix, predict).facts;
    }
  } catch (const BudgetExceeded&) {
    return;  // a signal: x is there, and the advice is not worth it
  } catch (const OutOfMemory&) {
    return;
  } catch (const std::bad_alloc&) {
    return;
  }
  outcome.next_command = next_command(outcome, facts);
  outcome.advice_ms = watch.milliseconds();
}

template void climb(const RunSettings&, const SpmvPlan<float>&, std::span<const float>, std::span<float>,
                    const SolverOptions&, RunOutcome&);
template void climb(const RunSettings&, const SpmvPlan<double>&, std::span<const double>, std::span<double>,
                    const SolverOptions&, RunOutcome&);
template BudgetedFacts facts_within(double, const MatrixStatistics&, const CsrView<float>&, bool);
template BudgetedFacts facts_within(double, const MatrixStatistics&, const CsrView<double>&, bool);
template void advise(const CsrView<float>&, bool, double, RunOutcome&);
template void advise(const CsrView<double>&, bool, double, RunOutcome&);

}  // namespace tessera::cli
