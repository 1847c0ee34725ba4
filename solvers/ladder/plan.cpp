/// The order of the rungs of the ladder, from what is known of a matrix.
#include "solvers/ladder/costs.hpp"

#include "core/interruption.hpp"
#include "tessera/error.hpp"
#include "tessera/ladder.hpp"
#include "tessera/matching.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera {

namespace {

constexpr index_t least_rows_for_nonsymmetric_amg = 100'000;
/// Prediction of larger systems would take seconds.
constexpr index_t most_rows_to_predict = 2'000'000;

[[nodiscard]] RungPlan factor_rung(RungMethod method, const IncompleteFactorOptions& factors,
                                   std::int64_t max_iterations, std::string reason) {
  return {method, RungPrecond::incomplete_factors, factors, max_iterations, std::move(reason)};
}

[[nodiscard]] IncompleteFactorOptions thresholds(FactorKind kind, double drop_tolerance, std::int64_t entries) {
  IncompleteFactorOptions options;
  options.kind = kind;
  options.drop_tolerance = drop_tolerance;
  options.max_row_entries = entries;
  return options;
}

void add_jacobi(const LadderFacts& facts, std::vector<RungPlan>& rungs) {
  if (!facts.full_diagonal) return;
  const bool spd = facts.symmetric && facts.definite_diagonal;
  rungs.push_back(
      {spd ? RungMethod::cg : RungMethod::bicgstab, RungPrecond::jacobi, {}, 0, "costs next to nothing to set up"});
}

/// Direct factors, when they are predicted to be cheap.
void add_cheap_direct(const LadderFacts& facts, std::vector<RungPlan>& rungs) {
  if (!facts.direct || !detail::is_cheap(*facts.direct, facts)) return;
  rungs.push_back({RungMethod::direct,
                   RungPrecond::direct,
                   {},
                   0,
                   fmt::format("{} is predicted to fill {:.1f} x the entries of A", to_string(facts.direct->method),
                               static_cast<double>(facts.direct->factor_nnz) / static_cast<double>(facts.nnz))});
}

void add_positive_definite(const LadderFacts& facts, std::vector<RungPlan>& rungs) {
  constexpr double largest_shift = 0.05;
  if (facts.rows >= detail::least_rows_for_amg) {
    rungs.push_back({RungMethod::cg, RungPrecond::amg, {}, 200, "large, symmetric, diagonal of one sign"});
  }
  add_cheap_direct(facts, rungs);
  const std::string reason = facts.negated ? "-A may be positive definite" : "A may be positive definite";
  IncompleteFactorOptions factors = thresholds(FactorKind::ict, 1e-2, 10);
  factors.largest_shift = largest_shift;
  rungs.push_back(factor_rung(RungMethod::cg, factors, 100, reason));
  factors = thresholds(FactorKind::ict, 1e-3, 50);
  factors.largest_shift = largest_shift;
  rungs.push_back(factor_rung(RungMethod::cg, factors, 150, "a finer factor"));
  factors = thresholds(FactorKind::ict, 1e-4, 300);
  factors.ordering = Ordering::amd;
  rungs.push_back(factor_rung(RungMethod::cg, factors, 200, "a finer factor, ordered for less fill"));
}

/// ILU(0) costs a few products to set up.
[[nodiscard]] RungPlan ilu0_rung() {
  IncompleteFactorOptions factors;
  factors.kind = FactorKind::ilu0;
  return factor_rung(RungMethod::bicgstab, factors, 200, "full diagonal; factors on the pattern of A cost little");
}

/// Before incomplete factors with pivoting, for a matrix that cannot be positive definite.
void add_before_pivoting(const LadderFacts& facts, std::vector<RungPlan>& rungs) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  const RungPlan ilu0 = ilu0_rung();
  const bool direct_first =
      facts.direct && detail::direct_ms(*facts.direct) <= detail::price_ms(ilu0, facts, unknown, Device{});
  if (direct_first) add_cheap_direct(facts, rungs);
  if (facts.full_diagonal) rungs.push_back(ilu0);
  if (facts.m_matrix_like && facts.rows >= least_rows_for_nonsymmetric_amg) {
    rungs.push_back({RungMethod::bicgstab, RungPrecond::amg, {}, 200, "large, dominant positive diagonal"});
  }
  if (!direct_first) add_cheap_direct(facts, rungs);
}

void add_general(const LadderFacts& facts, std::vector<RungPlan>& rungs) {
  if (!facts.symmetric || !facts.definite_diagonal) add_before_pivoting(facts, rungs);
  IncompleteFactorOptions factors = thresholds(FactorKind::ilutp, 1e-4, 50);
  rungs.push_back(factor_rung(RungMethod::gmres, factors, 100, "matched and scaled, with pivoting"));
  rungs.push_back(factor_rung(RungMethod::idr, factors, 200, "the same factors, another method"));
  rungs.push_back(factor_rung(RungMethod::gmres, thresholds(FactorKind::ilutp, 1e-5, 100), 60, "finer factors"));
  factors.matching = FactorMatching::scale;
  rungs.push_back(factor_rung(RungMethod::gmres, factors, 100, "the other use of the matching"));
  if (facts.direct && !detail::is_cheap(*facts.direct, facts) && detail::is_affordable(*facts.direct)) {
    rungs.push_back({RungMethod::direct, RungPrecond::direct, {}, 0, "dear, but within reach"});
  }
  rungs.push_back({RungMethod::gmres, RungPrecond::none, {}, 500, "the last rung"});
}

/// Nothing that factorizes: a consistent right-hand side may still have a solution.
void add_singular(const LadderFacts& facts, std::vector<RungPlan>& rungs) {
  constexpr std::int64_t most_iterations = 1000;
  const std::string reason = "singular: a solution exists only for some right-hand sides";
  if (facts.symmetric && facts.definite_diagonal) {
    rungs.push_back({RungMethod::cg, RungPrecond::none, {}, most_iterations, reason});
  }
  rungs.push_back({RungMethod::bicgstab, RungPrecond::none, {}, 0, reason});
  rungs.push_back({RungMethod::gmres, RungPrecond::none, {}, most_iterations, reason});
}

/// Every rung with the method that the caller named, each preconditioner once.
void keep_to(RungMethod method, std::vector<RungPlan>& rungs) {
  std::vector<RungPlan> kept;
  for (RungPlan& rung : rungs) {
    const bool symmetric = rung.precond == RungPrecond::incomplete_factors && rung.factors.kind == FactorKind::ict;
    const bool suits = symmetric ? method == RungMethod::cg
                                 : method != RungMethod::cg || rung.precond != RungPrecond::incomplete_factors;
    if (rung.precond == RungPrecond::direct || !suits) continue;
    rung.method = method;
    const bool is_new = std::none_of(kept.begin(), kept.end(), [&](const RungPlan& other) {
      return other.command_options() == rung.command_options();
    });
    if (is_new) kept.push_back(std::move(rung));
  }
  rungs = std::move(kept);
}

}  // namespace

std::string_view to_string(RungMethod method) {
  switch (method) {
    case RungMethod::cg:
      return "cg";
    case RungMethod::bicgstab:
      return "bicgstab";
    case RungMethod::gmres:
      return "gmres";
    case RungMethod::idr:
      return "idr";
    case RungMethod::direct:
      return "direct";
  }
  return "unknown";
}

std::string RungPlan::precond_name() const {
  switch (precond) {
    case RungPrecond::none:
    case RungPrecond::direct:
      return "none";
    case RungPrecond::jacobi:
      return "jacobi";
    case RungPrecond::amg:
      return "amg";
    case RungPrecond::incomplete_factors:
      return factor_name(factors);
  }
  return "none";
}

std::string RungPlan::command_options() const {
  std::string text = fmt::format("-m {}", to_string(method));
  if (precond != RungPrecond::direct) text += fmt::format(" -p {}", precond_name());
  if (precond != RungPrecond::incomplete_factors) return text;
  if (factors.matching != FactorMatching::automatic) {
    text += fmt::format(" --precond-opt matching={}", to_string(factors.matching));
  }
  if (factors.ordering) text += fmt::format(" --precond-opt ordering={}", to_string(*factors.ordering));
  return text;
}

template <class T>
LadderFacts ladder_facts(const MatrixStatistics& statistics, const CsrView<T>* matrix, bool predict) {
  constexpr double dominant_share = 0.95;
  LadderFacts facts;
  facts.rows = statistics.rows;
  facts.nnz = statistics.nnz;
  facts.symmetric = statistics.symmetry == Symmetry::numerical;
  facts.full_diagonal = statistics.full_diagonal();
  facts.negated = facts.full_diagonal && statistics.rows > 0 && statistics.diagonal_negative == statistics.rows;
  facts.definite_diagonal = facts.full_diagonal && (statistics.diagonal_negative == 0 || facts.negated);
  facts.m_matrix_like = facts.full_diagonal && statistics.diagonal_negative == 0 &&
                        statistics.weakly_dominant_rows >= dominant_share * statistics.rows;
  facts.empty_rows = statistics.empty_rows;
  facts.empty_cols = statistics.empty_cols;
  if (matrix == nullptr) return facts;
  facts.structural_rank = facts.full_diagonal ? facts.rows : maximum_matching(*matrix).cardinality;
  facts.duplicate_rows = duplicate_rows(*matrix);
  if (predict && statistics.not_finite == 0 && !facts.is_singular() && facts.rows <= most_rows_to_predict) {
    try {
      facts.direct = predict_direct(*matrix, DirectMethod::automatic, detail::affordable);
    } catch (const BudgetExceeded&) {
      if (!detail::is_wanted()) throw;  // else direct factors are out of reach
    }
  }
  return facts;
}

std::vector<RungPlan> plan_ladder(const LadderFacts& facts, std::optional<RungMethod> method) {
  std::vector<RungPlan> rungs;
  if (facts.rows == 0) return rungs;
  add_jacobi(facts, rungs);
  if (facts.is_singular()) {
    add_singular(facts, rungs);
  } else {
    if (facts.symmetric && facts.definite_diagonal) add_positive_definite(facts, rungs);
    add_general(facts, rungs);
  }
  if (method) keep_to(*method, rungs);
  return rungs;
}

std::string singularity_proof(const LadderFacts& facts) {
  if (facts.structural_rank && *facts.structural_rank < facts.rows) {
    return fmt::format("structurally singular: rank at most {} of {}", *facts.structural_rank, facts.rows);
  }
  if (facts.empty_rows > 0 || facts.empty_cols > 0) {
    return fmt::format("structurally singular: {} empty rows, {} empty columns", facts.empty_rows, facts.empty_cols);
  }
  if (facts.duplicate_rows > 0) {
    return fmt::format("singular: {} rows are copies of others, so its rank is at most {} of {}", facts.duplicate_rows,
                       facts.rows - facts.duplicate_rows, facts.rows);
  }
  if (facts.singular_to_rounding) return "singular to rounding: direct factors have a zero pivot";
  return {};
}

template LadderFacts ladder_facts(const MatrixStatistics&, const CsrView<float>*, bool);
template LadderFacts ladder_facts(const MatrixStatistics&, const CsrView<double>*, bool);

}  // namespace tessera
