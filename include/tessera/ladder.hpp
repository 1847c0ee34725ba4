/// \file
/// Solution of a system by trying methods in the order of what they should cost: an incomplete or complete
/// factorization, a Krylov method or multigrid, until one gives a solution that can be trusted.
#pragma once

#include "tessera/accuracy.hpp"
#include "tessera/amg.hpp"
#include "tessera/csr.hpp"
#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera {

/// What a rung iterates with.
enum class RungMethod { cg, bicgstab, gmres, idr, direct };

/// What a rung preconditions with. `direct` is the method of DirectFactors with refinement.
enum class RungPrecond { none, jacobi, amg, incomplete_factors, direct };

[[nodiscard]] std::string_view to_string(RungMethod method);  ///< "cg", "bicgstab", "gmres", "idr", "direct"

/// A rung before it is tried.
struct RungPlan {
  RungMethod method = RungMethod::cg;
  RungPrecond precond = RungPrecond::none;
  IncompleteFactorOptions factors;  ///< of RungPrecond::incomplete_factors
  std::int64_t max_iterations = 0;  ///< 0: those of the options; passed where the end is near
  std::string reason;               ///< one sentence: why it stands where it stands

  /// As the command line names it: "jacobi", "ilutp:1e-4:50", "none" with the method direct.
  [[nodiscard]] std::string precond_name() const;
  /// The options that make the command use this rung: "-m gmres -p ilutp:1e-4:50".
  [[nodiscard]] std::string command_options() const;
};

/// A rung that was tried.
struct RungReport {
  RungPlan plan;
  bool on_host = true;
  bool set_up = false;          ///< false: set-up failed, and `outcome` says why
  bool found_singular = false;  ///< set-up met a SingularMatrix
  Status status = Status::max_iterations;
  std::int64_t iterations = 0;
  double relative_residual = 1.0;  ///< true residual over ‖b‖ of the best x of this rung
  double setup_ms = 0.0;
  double solve_ms = 0.0;
  PreconditionerInfo info;
  std::optional<IncompleteFactorInfo> factors;
  std::optional<DirectInfo> direct;
  std::optional<AmgInfo> hierarchy;
  std::optional<ErrorEstimate> error;  ///< where the residual met the tolerance and the gate was on
  std::string outcome;                 ///< one sentence: why it was left, or that it solved the system
};

/// What is known of a matrix before anything is solved.
struct LadderFacts {
  index_t rows = 0;
  offset_t nnz = 0;
  bool symmetric = false;          ///< numerically
  bool definite_diagonal = false;  ///< full and of one sign
  bool negated = false;            ///< that sign is minus: -A may be positive definite
  bool full_diagonal = false;
  bool m_matrix_like = false;  ///< full positive diagonal, and at least 95 % of the rows weakly dominant
  index_t empty_rows = 0;
  index_t empty_cols = 0;
  /// Of the analysis, which large systems that Jacobi solves do without:
  std::optional<index_t> structural_rank;
  index_t duplicate_rows = 0;
  std::optional<DirectPrediction> direct;  ///< nothing for a system too large to be predicted cheaply

  bool singular_to_rounding = false;  ///< direct factors found a zero pivot

  /// Whether it is known to be singular.
  [[nodiscard]] bool is_singular() const noexcept {
    return empty_rows > 0 || empty_cols > 0 || duplicate_rows > 0 || singular_to_rounding ||
           (structural_rank && *structural_rank < rows);
  }
};

/// \param matrix square, on the host; nothing is analysed beyond the statistics where it is null
/// O(nnz); with the analysis a maximum matching, duplicate rows, and predict_direct() where `predict`, unless direct
/// factors are out of its reach.
template <class T>
[[nodiscard]] LadderFacts ladder_facts(const MatrixStatistics& statistics, const CsrView<T>* matrix = nullptr,
                                       bool predict = true);

/// The rungs that solve() would try on such a matrix, in order. Those for symmetric positive definite matrices end with
/// the rungs for all matrices, which follow where the matrix turns out to be indefinite.
/// \param method where given, every rung uses it, and rungs that cannot are left out
[[nodiscard]] std::vector<RungPlan> plan_ladder(const LadderFacts& facts, std::optional<RungMethod> method = {});

/// One sentence if the matrix is singular by its structure, duplicate or empty rows, or to rounding; else empty. Row
/// and column counts are those of the matrix.
[[nodiscard]] std::string singularity_proof(const LadderFacts& facts);

struct LadderOptions {
  /// Limits of iterations and time are those of all rungs together. `observer` hears of all of them, with iterations
  /// counted on.
  SolverOptions solver;
  ErrorGate gate = ErrorGate::repair;
  std::optional<RungMethod> method = {};  ///< every rung uses this one, and direct factors are left out; not `direct`
  std::uint64_t memory_limit_bytes = 0;   ///< beside A and vectors: of each preconditioner with its set-up; 0: none
};

struct [[nodiscard]] LadderReport {
  SolveReport report;             ///< of the rung whose x is returned, with the history of all
  std::size_t rung = 0;           ///< its place in `rungs`
  std::vector<RungReport> rungs;  ///< those that were tried
  LadderFacts facts;
  BackwardError backward;
  std::string proof;  ///< singularity_proof()
  /// Not converged, but x is exact for a system within rounding of this one: no method gives more in this precision.
  bool is_backward_stable = false;
  double analysis_ms = 0.0;  ///< matching and prediction
  double backward_error_ms = 0.0;
};

/// Solves A x = b. Tries Jacobi first where it can be set up, for as long as it promises to cost less than the next
/// rung; then, in an order that follows from the matrix and from models of time, multigrid, sparse direct factors,
/// incomplete Cholesky with CG for symmetric positive definite A (or -A), for all others ILU(0) with BiCGSTAB and
/// incomplete LU with pivoting, scaled and matched, with GMRES(50). A rung is left early where its factors are useless,
/// its residual has not fallen to a tenth after 30 iterations, or another promises to cost less; one that converged
/// goes on where that promises to cost less than what is left, and before the ladder ends without a solution.
///
/// All decisions follow from models and counts, so that runs repeat; set-up of factors that takes longer than 5 s and
/// 20 µs per entry of A is given up by the clock. The limit of time holds in analyses and set-up too.
/// \param A     plan of a square matrix
/// \param facts of statistics() of its matrix
/// \param b, x  on A's device; x: guess on entry, on return the best iterate of all rungs
/// \returns converged only if the true residual meets the tolerance
/// \throws as cg(); what setting up a preconditioner throws is no error but ends its rung
template <class T>
LadderReport solve(const SpmvPlan<T>& A, const MatrixStatistics& facts, std::span<const std::type_identity_t<T>> b,
                   std::span<std::type_identity_t<T>> x, const LadderOptions& options = {});

extern template LadderFacts ladder_facts(const MatrixStatistics&, const CsrView<float>*, bool);
extern template LadderFacts ladder_facts(const MatrixStatistics&, const CsrView<double>*, bool);
extern template LadderReport solve(const SpmvPlan<float>&, const MatrixStatistics&, std::span<const float>,
                                   std::span<float>, const LadderOptions&);
extern template LadderReport solve(const SpmvPlan<double>&, const MatrixStatistics&, std::span<const double>,
                                   std::span<double>, const LadderOptions&);

}  // namespace tessera
