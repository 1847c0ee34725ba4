/// \file
/// Rows of a comparison: one per kernel, and one per solver and kernel.
#pragma once

#include "compare/timing.hpp"
#include "support/warning.hpp"

#include "tessera/iterative_solver.hpp"
#include "tessera/report.hpp"
#include "tessera/spmv.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::compare {

/// An iterative method, or PageRank.
class Solver {
 public:
  using enum IterativeMethod;
  enum Ranking : std::uint8_t { pagerank };

  constexpr Solver(IterativeMethod method) noexcept : iterative_(method) {}  // NOLINT(google-explicit-constructor)
  constexpr Solver(Ranking /*pagerank*/) noexcept {}                         // NOLINT(google-explicit-constructor)

  /// Nothing for pagerank.
  [[nodiscard]] constexpr std::optional<IterativeMethod> iterative() const noexcept { return iterative_; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in the comparison
  friend constexpr auto operator<=>(const Solver&, const Solver&) = default;

 private:
  std::optional<IterativeMethod> iterative_;
};

[[nodiscard]] std::string_view to_string(Solver solver);
/// In the order of help texts.
[[nodiscard]] std::vector<Solver> known_solvers();

/// What the rows are sorted by, best first.
enum class SortKey { total, spmv, setup, error, memory };

[[nodiscard]] std::string_view to_string(SortKey key);

/// Samples of one duration and what follows from them.
struct Times {
  std::vector<double> samples_ms;
  TimingSummary summary;
  std::optional<TimingRatio> speed_up;  ///< over the reference in the same run; nothing where it cannot be formed
  std::optional<TimingRatio> change;    ///< time here over time in the baseline; above 1 is slower
  [[nodiscard]] bool measured() const noexcept { return summary.count > 0; }
};

[[nodiscard]] Times times_of(std::vector<double> samples_ms);

/// After how many products the set-up of a kernel pays against the reference.
struct PaysAfter {
  bool known = false;                   ///< both were timed
  std::optional<std::int64_t> applies;  ///< products (of SolveRow::pays_solves: solves); nothing: never
  bool clear = false;                   ///< the interval of the speed-up excludes 1
};

/// One kernel. A kernel that failed its check has no times.
struct KernelRow {
  std::string kernel;
  bool reference = false;
  bool passed = false;
  bool out_of_memory = false;  ///< of a failure: it says nothing of the kernel
  std::string reason;          ///< of a failure
  double error_over_bound = 0.0;
  bool repeats = false;  ///< all products were equal to the last bit
  PlanInfo plan;
  Times setup;
  Times warm;
  Times cold;
  PaysAfter pays;
  double total_ms = 0.0;  ///< set-up and --applies products
};

/// One solver with one kernel and one preconditioner.
struct SolveRow {
  Solver solver = Solver::cg;
  std::string kernel;
  std::string precond;             ///< empty for pagerank
  bool preconds_compared = false;  ///< there are rows with other preconditioners
  bool reference = false;          ///< the reference kernel with the first preconditioner
  bool passed = false;
  bool out_of_memory = false;  ///< of a failure: it says nothing of the kernel
  std::string reason;          ///< of a failure
  Status status = Status::interrupted;
  std::string status_reason;
  std::int64_t iterations = 0;  ///< of the first run, as spmv_count
  std::int64_t spmv_count = 0;
  std::int64_t min_iterations = 0;  ///< over all runs
  std::int64_t max_iterations = 0;
  double target = 0.0;
  double reported_residual = 0.0;
  double checked_residual = 0.0;  ///< computed apart from the solver, in long double
  double allowance = 0.0;         ///< how far rounding may have moved it
  Times setup;
  Times solve;
  Times total;
  PaysAfter pays;         ///< products, against the reference kernel with the same preconditioner
  PaysAfter pays_solves;  ///< solves, against the first preconditioner with the same kernel
  bool solved = false;    ///< at least one run was completed
};

/// "merbit", or "merbit and amg" where preconditioners are compared.
[[nodiscard]] std::string row_name(const SolveRow& row);

/// All that compare_kernels() found.
struct Outcome {
  std::vector<KernelRow> products;
  std::vector<SolveRow> solves;
  std::string reference;              ///< the kernel that all are measured against
  std::vector<std::string> preconds;  ///< of linear systems
  std::uint64_t least_bytes = 0;      ///< that a product has to move
  double copy_gbytes_per_s = 0.0;     ///< of as many bytes; 0 when not measured
  std::uint64_t cache_bytes = 0;      ///< last-level cache
  std::uint64_t vector_bytes = 0;     ///< vectors and workspace of the comparison
  std::uint64_t plan_bytes = 0;       ///< all plans together
  std::uint64_t precond_bytes = 0;    ///< of the largest preconditioner
  std::int64_t applies = 0;
  SortKey sort = SortKey::total;
  double noise = 0.0;  ///< asked for
  std::int64_t unchecked_rows = 0;
  std::optional<double> fail_if_slower;
  std::optional<std::string> baseline;
  std::vector<std::string> slower;  ///< cases that are clearly slower than in the baseline
  bool interrupted = false;
  support::Warnings warnings;

  [[nodiscard]] bool failed() const;
  /// Whether every failure is one of memory.
  [[nodiscard]] bool lacked_memory_alone() const;
};

/// least_bytes over a time; 0 for no time.
[[nodiscard]] double gbytes_per_second(std::uint64_t bytes, double milliseconds);

/// Speed-up with its interval; nothing when either was not timed or took no time at all.
[[nodiscard]] std::optional<TimingRatio> speed_up(const Times& reference, const Times& own, std::uint64_t seed);

/// \param extra_setup_ms what the set-up costs above that of the reference
[[nodiscard]] PaysAfter pays_after(double extra_setup_ms, double reference_ms, double own_ms,
                                   const std::optional<TimingRatio>& speed_up);

/// Best first by the key, then kernels that were not timed, failures last; ties keep their order.
void sort_rows(std::vector<KernelRow>& rows, SortKey key);
/// By end-to-end time within each solver, whose rows stay together.
void sort_rows(std::vector<SolveRow>& rows);

}  // namespace tessera::compare
