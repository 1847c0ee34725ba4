/// \file
/// A direct solver with everything but the element type: order, scaling, factors, and their use.
#pragma once

#include "solvers/direct/analysis.hpp"
#include "solvers/direct/column_matrix.hpp"
#include "solvers/direct/eigen_solvers.hpp"
#include "tessera/direct.hpp"

#include <memory>
#include <span>
#include <utility>

namespace tessera::detail {

class DirectSolver {
 public:
  /// \throws as DirectFactors
  DirectSolver(const DirectSystem& system, const DirectOptions& options);

  /// Factorizes a matrix of the same structure with the order kept. \throws as the constructor, and keeps the old state
  void refresh(const DirectSystem& system);

  /// x = A⁻¹ x. Calls may be concurrent; each allocates O(n).
  void solve(std::span<double> x) const;
  /// x = A⁻ᵀ x, likewise.
  void solve_transposed(std::span<double> x) const;

  [[nodiscard]] const DirectInfo& info() const noexcept { return info_; }
  [[nodiscard]] index_t size() const noexcept { return static_cast<index_t>(order_.columns.size()); }
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  /// Before the factorization of new values.
  DirectSolver(DirectOptions options, DirectInfo info, DirectOrder order)
      : options_(std::move(options)), info_(std::move(info)), order_(std::move(order)) {}

  void analyze(const DirectSystem& system, const DirectTraits& traits, DirectMethod method);
  /// \throws BudgetExceeded
  void take(const DirectAnalysis& analysis);
  void factorize_or_fall_back(const DirectSystem& system);
  [[nodiscard]] bool factorize(const DirectSystem& system, bool may_fail);
  [[nodiscard]] offset_t most_nnz(double most_fill) const;
  [[noreturn]] void refuse_fill() const;
  [[noreturn]] void refuse_singular(const FactorFacts& facts) const;

  DirectOptions options_;
  DirectInfo info_;
  DirectOrder order_;
  PowerScaling scaling_;
  std::unique_ptr<EigenSolver> solver_;
};

}  // namespace tessera::detail
