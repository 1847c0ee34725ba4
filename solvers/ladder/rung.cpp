/// Set-up and solve of one rung of the ladder.
#include "solvers/ladder/rung.hpp"

#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace tessera::detail {

namespace {

/// (L U)⁻¹ e beyond this: of 57 such factors, none solved its system.
constexpr double useless_condition = 1e15;

template <class T, class M>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> noted(std::unique_ptr<M> built, RungReport& report) {
  report.info = built->info();
  return built;
}

template <class T>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> make_amg(const CsrView<T>& matrix, const Device& device,
                                                         RungReport& report) {
  auto amg = std::make_unique<Amg<T>>(matrix, AmgOptions{}, device);
  report.hierarchy = amg->hierarchy();
  if (!amg->hierarchy().coarsens) {
    report.outcome = fmt::format("does not coarsen: {}", amg->hierarchy().reason);
    return nullptr;
  }
  return noted<T>(std::move(amg), report);
}

template <class T>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> make_factors(const CsrView<T>& matrix, const Device& device,
                                                             const IncompleteFactorOptions& options,
                                                             RungReport& report) {
  auto factors = std::make_unique<IncompleteFactors<T>>(matrix, options, device);
  report.factors = factors->factors();
  if (!(factors->factors().condition_estimate <= useless_condition)) {
    report.outcome = fmt::format("factors are useless: ||(LU)^-1 e|| = {:.1e}", factors->factors().condition_estimate);
    return nullptr;
  }
  return noted<T>(std::move(factors), report);
}

/// Bytes of the work space of incomplete factors, per row and, in double, per entry.
constexpr std::uint64_t factor_row_bytes = 160;
constexpr std::uint64_t factor_entry_bytes = sizeof(double) + sizeof(index_t);

[[nodiscard]] std::uint64_t factor_workspace(index_t rows, offset_t nnz) {
  return factor_row_bytes * static_cast<std::uint64_t>(rows) + factor_entry_bytes * static_cast<std::uint64_t>(nnz);
}

/// A hierarchy with its set-up, taken for four times its matrix: an estimate.
[[nodiscard]] std::uint64_t amg_bytes(index_t rows, offset_t nnz, std::size_t value_bytes) {
  constexpr std::uint64_t most = 4;
  return most * csr_bytes(rows, nnz, value_bytes);
}

/// What a preconditioner takes at least with its set-up; of incomplete factors, as many entries as A has.
[[nodiscard]] std::uint64_t least_bytes(RungPrecond precond, const LadderFacts& facts, std::size_t value_bytes) {
  switch (precond) {
    case RungPrecond::none:
    case RungPrecond::jacobi:
      return 0;
    case RungPrecond::amg:
      return amg_bytes(facts.rows, facts.nnz, value_bytes);
    case RungPrecond::incomplete_factors:
      return factor_workspace(facts.rows, facts.nnz) + csr_bytes(facts.rows, facts.nnz, value_bytes);
    case RungPrecond::direct:
      return facts.direct ? facts.direct->bytes : 0;
  }
  return 0;
}

/// As much fill as the memory allows. \throws BudgetExceeded where not even the work space fits
template <class T>
void limit_fill(const CsrView<T>& matrix, const SetUp& budget, IncompleteFactorOptions& options) {
  if (budget.memory_limit_bytes == 0) return;
  const offset_t entries = std::max<offset_t>(matrix.nnz(), 1);
  const std::uint64_t workspace = factor_workspace(matrix.rows, entries);
  if (workspace >= budget.memory_limit_bytes) {
    throw BudgetExceeded(
        fmt::format("the set-up needs {} bytes, and {} are left", workspace, budget.memory_limit_bytes));
  }
  const auto left = static_cast<double>(budget.memory_limit_bytes - workspace);
  const auto bytes_of_a = static_cast<double>(entries) * static_cast<double>(sizeof(T) + sizeof(index_t));
  options.fill_limit = std::min(options.fill_limit, left / bytes_of_a);
}

/// Refuses a hierarchy that may not fit.
template <class T>
void require_memory_of_amg(const CsrView<T>& matrix, const SetUp& budget) {
  const std::uint64_t needed = amg_bytes(matrix.rows, matrix.nnz(), sizeof(T));
  if (budget.memory_limit_bytes == 0 || needed <= budget.memory_limit_bytes) return;
  throw BudgetExceeded(
      fmt::format("the hierarchy may need {} bytes, and {} are left", needed, budget.memory_limit_bytes));
}

template <class T>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> make_direct(const CsrView<T>& matrix, const SetUp& budget,
                                                            RungReport& report) {
  DirectOptions options;
  options.prediction = budget.prediction;
  options.memory_limit_bytes = budget.memory_limit_bytes;
  auto factors = std::make_unique<DirectFactors<T>>(matrix, options);
  report.direct = factors->factors();
  return noted<T>(std::move(factors), report);
}

template <class T>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> make_precond(const RungPlan& plan, const SpmvPlan<T>& A,
                                                             const SetUp& budget, RungReport& report) {
  const Device device = A.device();
  const bool is_large = plan.precond == RungPrecond::amg || plan.precond == RungPrecond::incomplete_factors;
  if (is_large && !(A.matrix_device() == device)) {
    throw BudgetExceeded(
        fmt::format("the matrix is streamed to {}, which holds no such preconditioner", device.name()));
  }
  switch (plan.precond) {
    case RungPrecond::none:
      return std::make_unique<IdentityOperator<T>>(A.rows(), device);
    case RungPrecond::jacobi:
      return noted<T>(std::make_unique<JacobiPreconditioner<T>>(A.matrix(), device), report);
    case RungPrecond::amg:
      require_memory_of_amg(A.matrix(), budget);
      return make_amg<T>(A.matrix(), device, report);
    case RungPrecond::incomplete_factors: {
      IncompleteFactorOptions options = plan.factors;
      options.time_limit_seconds = budget.seconds;
      limit_fill(A.matrix(), budget, options);
      return make_factors<T>(A.matrix(), device, options, report);
    }
    case RungPrecond::direct:
      return make_direct<T>(A.matrix(), budget, report);
  }
  return nullptr;
}

}  // namespace

bool fits_memory(RungPrecond precond, const LadderFacts& facts, std::optional<RungMethod> method,
                 std::size_t value_bytes, std::uint64_t limit_bytes) {
  const auto rungs = plan_ladder(facts, method);
  const bool is_planned =
      std::any_of(rungs.begin(), rungs.end(), [=](const auto& rung) { return rung.precond == precond; });
  return is_planned && (limit_bytes == 0 || least_bytes(precond, facts, value_bytes) <= limit_bytes);
}

template <class T>
std::unique_ptr<FusedOperator<T>> set_up_rung(const RungPlan& plan, LadderSystems<T>& systems, const Side& side,
                                              const SetUp& budget, RungReport& report) {
  const Stopwatch watch;
  std::unique_ptr<FusedOperator<T>> result;
  try {
    result = make_precond<T>(plan, systems.plan(side), budget, report);
  } catch (const SingularMatrix& error) {
    report.found_singular = true;
    report.outcome = error.what();
  } catch (const InvalidMatrix& error) {
    report.outcome = error.what();
  } catch (const BudgetExceeded& error) {
    report.outcome = error.what();
  } catch (const NotSupported& error) {
    report.outcome = error.what();
  } catch (const OutOfMemory& error) {
    report.outcome = error.what();
  } catch (const std::bad_alloc&) {
    report.outcome = "the system has no more memory";
  }
  report.set_up = result != nullptr;
  report.setup_ms = watch.milliseconds();
  return result;
}

template <class T>
SolveReport run_rung(RungMethod method, const FusedOperator<T>& A, const FusedOperator<T>& M, std::span<const T> b,
                     std::span<T> x, const SolverOptions& options) {
  switch (method) {
    case RungMethod::cg:
      return cg<T>(A, M, b, x, options);
    case RungMethod::bicgstab:
      return bicgstab<T>(A, M, b, x, options);
    case RungMethod::gmres:
      return gmres<T>(A, M, b, x, options);
    case RungMethod::idr:
      return idr<T>(A, M, b, x, options);
    case RungMethod::direct:
      break;
  }
  return richardson<T>(A, M, b, x, options);
}

template std::unique_ptr<FusedOperator<float>> set_up_rung(const RungPlan&, LadderSystems<float>&, const Side&,
                                                           const SetUp&, RungReport&);
template std::unique_ptr<FusedOperator<double>> set_up_rung(const RungPlan&, LadderSystems<double>&, const Side&,
                                                            const SetUp&, RungReport&);
template SolveReport run_rung(RungMethod, const FusedOperator<float>&, const FusedOperator<float>&,
                              std::span<const float>, std::span<float>, const SolverOptions&);
template SolveReport run_rung(RungMethod, const FusedOperator<double>&, const FusedOperator<double>&,
                              std::span<const double>, std::span<double>, const SolverOptions&);

}  // namespace tessera::detail
