#include "compare/rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tessera::compare {

std::string_view to_string(Solver solver) {
  return solver.iterative() ? tessera::to_string(*solver.iterative()) : "pagerank";
}

std::vector<Solver> known_solvers() {
  std::vector<Solver> solvers;
  for (const MethodInfo& info : iterative_methods()) solvers.emplace_back(info.method);
  solvers.emplace_back(Solver::pagerank);
  return solvers;
}

std::string_view to_string(SortKey key) {
  switch (key) {
    case SortKey::total:
      return "total";
    case SortKey::spmv:
      return "spmv";
    case SortKey::setup:
      return "setup";
    case SortKey::error:
      return "error";
    case SortKey::memory:
      return "memory";
  }
  return "total";
}

namespace {

[[nodiscard]] double key_of(const KernelRow& row, SortKey key) {
  switch (key) {
    case SortKey::total:
      return row.total_ms;
    case SortKey::spmv:
      return row.warm.summary.median;
    case SortKey::setup:
      return row.setup.summary.median;
    case SortKey::error:
      return row.error_over_bound;
    case SortKey::memory:
      return static_cast<double>(row.plan.bytes);
  }
  return 0.0;
}

/// 0: timed, 1: passed but not timed, 2: failed.
[[nodiscard]] int standing(const KernelRow& row) {
  if (!row.passed) return 2;
  return row.warm.measured() ? 0 : 1;
}

}  // namespace

Times times_of(std::vector<double> samples_ms) {
  const TimingSummary summary = summarise(samples_ms);
  return {std::move(samples_ms), summary, {}, {}};
}

std::string row_name(const SolveRow& row) {
  return row.preconds_compared ? row.kernel + " and " + row.precond : row.kernel;
}

bool Outcome::failed() const {
  const auto fails = [](const auto& row) { return !row.passed; };
  return std::any_of(products.begin(), products.end(), fails) || std::any_of(solves.begin(), solves.end(), fails);
}

bool Outcome::lacked_memory_alone() const {
  const auto is_wrong = [](const auto& row) { return !row.passed && !row.out_of_memory; };
  return std::none_of(products.begin(), products.end(), is_wrong) &&
         std::none_of(solves.begin(), solves.end(), is_wrong);
}

double gbytes_per_second(std::uint64_t bytes, double milliseconds) {
  constexpr double per_giga_and_ms = 1e-6;
  return milliseconds > 0.0 ? static_cast<double>(bytes) * per_giga_and_ms / milliseconds : 0.0;
}

std::optional<TimingRatio> speed_up(const Times& reference, const Times& own, std::uint64_t seed) {
  if (!reference.measured() || !own.measured() || !(own.summary.median > 0.0)) return std::nullopt;
  return median_ratio(reference.samples_ms, own.samples_ms, seed);
}

PaysAfter pays_after(double extra_setup_ms, double reference_ms, double own_ms,
                     const std::optional<TimingRatio>& speed_up) {
  PaysAfter result;
  if (!speed_up) return result;
  result.known = true;
  result.clear = speed_up->low > 1.0 || speed_up->high < 1.0;
  const double gain = reference_ms - own_ms;
  if (extra_setup_ms <= 0.0) {
    if (gain >= 0.0) result.applies = 0;
    return result;
  }
  // A gain far below the clock's resolution would not fit an integer.
  constexpr double most = 1e18;
  const double count = std::ceil(extra_setup_ms / gain);
  if (gain > 0.0 && count < most) result.applies = static_cast<std::int64_t>(count);
  return result;
}

void sort_rows(std::vector<KernelRow>& rows, SortKey key) {
  std::stable_sort(rows.begin(), rows.end(), [key](const KernelRow& a, const KernelRow& b) {
    const int standing_a = standing(a);
    const int standing_b = standing(b);
    if (standing_a != standing_b) return standing_a < standing_b;
    return standing_a == 0 && key_of(a, key) < key_of(b, key);
  });
}

void sort_rows(std::vector<SolveRow>& rows) {
  std::map<Solver, std::ptrdiff_t> first;
  for (const SolveRow& row : rows) first.emplace(row.solver, &row - rows.data());
  std::stable_sort(rows.begin(), rows.end(), [&first](const SolveRow& a, const SolveRow& b) {
    if (a.solver != b.solver) return first[a.solver] < first[b.solver];
    if (a.passed != b.passed) return a.passed;
    if (a.total.measured() != b.total.measured()) return a.total.measured();
    return a.total.summary.median < b.total.summary.median;
  });
}

}  // namespace tessera::compare
