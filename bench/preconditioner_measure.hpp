/// \file
/// Set-up and solve of one system with several preconditioners, in turn.
#pragma once

#include "bench/preconditioner_problems.hpp"
#include "bench/report.hpp"
#include "tessera/amg.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

struct PreconditionerSettings {
  std::string device = "host";
  std::vector<std::string> sets{"main"};
  std::vector<std::string> problems;  ///< instead of the sets
  std::vector<std::string> files;     ///< Matrix Market
  std::vector<std::string> preconditioners{"jacobi", "amg"};
  std::vector<std::string> amg;    ///< KEY=VALUE
  std::vector<std::string> peers;  ///< "eigen"
  double tolerance = 1e-8;
  int rounds = 5;                          ///< after the first
  double seconds = 4.0;                    ///< for one problem; beyond it there is no further round
  double solve_seconds = 20.0;             ///< most for one solve
  double total_seconds = 1e9;              ///< beyond, problems are left out
  std::int64_t refresh_rows = 30'000'000;  ///< largest system whose refresh() is measured
  std::string json;
};

/// A system on its device: b = A x* with x* = 1 (for a singular A, scattered numbers).
class PreconditionedSystem {
 public:
  PreconditionedSystem(const PreconditionerProblem& problem, const PreconditionerSettings& settings,
                       const Device& device);

  [[nodiscard]] const PreconditionerProblem& problem() const noexcept { return problem_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] const std::shared_ptr<const Csr<double>>& matrix() const noexcept { return matrix_; }
  [[nodiscard]] const SpmvPlan<double>& plan() const noexcept { return *plan_; }
  [[nodiscard]] const AmgOptions& amg_options() const noexcept { return amg_options_; }
  [[nodiscard]] std::span<const double> b() const noexcept { return b_.span(); }
  [[nodiscard]] double generate_ms() const noexcept { return generate_ms_; }
  [[nodiscard]] double plan_ms() const noexcept { return plan_ms_; }

  /// Set-up. \param name "jacobi", "amg", "ic0", "fsai:1" to "fsai:3", "spai:0", "spai:1", or that of a polynomial
  [[nodiscard]] std::unique_ptr<Preconditioner<double>> make(const std::string& name, const AmgOptions& options) const;
  /// From the guess 0, by CG, or by BiCGSTAB for a matrix or an M that is not symmetric.
  [[nodiscard]] SolveReport solve(const SpmvPlan<double>& a, const Preconditioner<double>& m, std::span<const double> b,
                                  const PreconditionerSettings& settings);
  /// A x* for the x* of this system.
  [[nodiscard]] Array<double> right_side(const SpmvPlan<double>& a) const;

 private:
  const PreconditionerProblem& problem_;
  Device device_;
  double generate_ms_ = 0.0;
  double plan_ms_ = 0.0;
  std::shared_ptr<const Csr<double>> matrix_;
  std::shared_ptr<const SpmvPlan<double>> plan_;
  AmgOptions amg_options_;
  Array<double> b_;
  Array<double> x_;
};

/// All preconditioners and peers of the settings, in turn, round by round; then refresh().
/// \param cold whether this is the first set-up of the process
[[nodiscard]] Json measure_preconditioners(const PreconditionerProblem& problem, const PreconditionerSettings& settings,
                                           const Device& device, bool cold);

/// Eigen's CG with IncompleteCholesky, on the host: set-up and solve times, iterations, residual. \param a on the host
[[nodiscard]] Json measure_eigen(const Csr<double>& a, std::span<const double> b, double tolerance, int rounds);

}  // namespace tessera::bench
