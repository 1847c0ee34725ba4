// Set-up of incomplete and direct factors.
#include "support/factor_precond.hpp"

#include "support/machine.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tessera::support {

namespace {

[[nodiscard]] bool is_cholesky(FactorKind kind) { return kind == FactorKind::ic0 || kind == FactorKind::ict; }

/// Ends a message that the libraries' caller shows as a hint; nothing for values that no preconditioner takes.
[[nodiscard]] std::string hint_text(const MatrixStatistics& matrix, std::string_view hint) {
  return matrix.not_finite > 0 ? std::string() : fmt::format("; hint: {}", hint);
}

/// "ilut:1e-3:20: what is wrong"; the library may have named the kind.
[[nodiscard]] std::string with_name(const std::string& name, const IncompleteFactorOptions& options,
                                    const Error& error) {
  std::string_view what = error.what();
  const std::string kind = fmt::format("{}: ", to_string(options.kind));
  if (what.starts_with(kind)) what.remove_prefix(kind.size());
  return fmt::format("{}: {}", name, what);
}

}  // namespace

std::uint64_t factor_workspace_bytes(const MatrixStatistics& matrix) {
  constexpr std::uint64_t per_row = 160;
  constexpr std::uint64_t per_entry = sizeof(double) + sizeof(index_t);
  return per_row * static_cast<std::uint64_t>(matrix.rows) + per_entry * static_cast<std::uint64_t>(matrix.nnz);
}

double affordable_fill(std::uint64_t available_bytes, const MatrixStatistics& matrix, std::size_t element) {
  const auto nnz = static_cast<double>(std::max<offset_t>(matrix.nnz, 1));
  return static_cast<double>(available_bytes) / (nnz * static_cast<double>(element + sizeof(index_t)));
}

template <class T>
std::unique_ptr<IncompleteFactors<T>> make_factors(const PrecondRequest& wanted, const PrecondSubject<T>& subject) {
  IncompleteFactorOptions options = wanted.factors;
  const std::string name = factor_name(options);
  bool memory_limits = false;
  if (wanted.memory_limit_bytes > 0) {
    const std::uint64_t workspace = factor_workspace_bytes(subject.facts);
    require_memory(wanted.memory_limit_bytes, wanted.held_bytes, workspace, "the set-up of " + name);
    const std::uint64_t left = wanted.memory_limit_bytes - wanted.held_bytes - workspace;
    const double fill = affordable_fill(left, subject.facts, sizeof(T));
    memory_limits = fill < options.fill_limit;
    // To hundredths, which read better in messages.
    constexpr double least = 0.01;
    options.fill_limit = std::min(options.fill_limit, std::max(least, std::floor(fill / least) * least));
  }
  try {
    return std::make_unique<IncompleteFactors<T>>(subject.matrix, options, subject.device);
  } catch (const BudgetExceeded& error) {
    const std::string_view hint = memory_limits
                                      ? "a larger --mem-limit, a larger drop tolerance, or fewer entries per row"
                                      : "a larger drop tolerance, fewer entries per row, or --precond-opt fill-limit=N";
    throw BudgetExceeded(fmt::format("{}: {}; hint: {}", subject.name, with_name(name, options, error), hint));
  } catch (const InvalidMatrix& error) {
    const std::string_view hint = is_cholesky(options.kind)
                                      ? "--precond ilutp takes matrices that are not symmetric positive definite"
                                      : "--precond jacobi or none";
    throw InvalidMatrix(
        fmt::format("{}: {}{}", subject.name, with_name(name, options, error), hint_text(subject.facts, hint)));
  }
}

template <class T>
std::unique_ptr<DirectFactors<T>> make_direct(const PrecondRequest& wanted, const PrecondSubject<T>& subject) {
  DirectOptions options = wanted.direct;
  const std::uint64_t budget = memory_budget(wanted.memory_limit_bytes);
  // What the machine has available no longer includes what is held.
  const std::uint64_t held = wanted.memory_limit_bytes > 0 ? wanted.held_bytes : 0;
  if (budget > 0) options.memory_limit_bytes = std::max<std::uint64_t>(budget - std::min(budget, held), 1);
  try {
    return std::make_unique<DirectFactors<T>>(subject.matrix, options);
  } catch (const BudgetExceeded& error) {
    throw BudgetExceeded(
        fmt::format("{}: {}; hint: --method gmres --precond ilutp takes less memory", subject.name, error.what()));
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(
        fmt::format("{}: {}{}", subject.name, error.what(),
                    hint_text(subject.facts, "--method gmres solves singular systems that have a solution")));
  }
}

template std::unique_ptr<IncompleteFactors<float>> make_factors(const PrecondRequest&, const PrecondSubject<float>&);
template std::unique_ptr<IncompleteFactors<double>> make_factors(const PrecondRequest&, const PrecondSubject<double>&);
template std::unique_ptr<DirectFactors<float>> make_direct(const PrecondRequest&, const PrecondSubject<float>&);
template std::unique_ptr<DirectFactors<double>> make_direct(const PrecondRequest&, const PrecondSubject<double>&);

}  // namespace tessera::support
