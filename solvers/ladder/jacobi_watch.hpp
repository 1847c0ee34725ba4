/// \file
/// The rule by which the ladder leaves Jacobi: when it promises to cost more than what comes next.
#pragma once

#include "solvers/ladder/costs.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tessera::detail {

/// Watches the residuals of a Krylov method with Jacobi. What an alternative costs is asked for only when the iteration
/// has cost a third of what the answer would, and promises to cost more than the answer (as whoever rents skis does not
/// ask for their price on the first day).
class JacobiWatch {
 public:
  /// What the cheapest alternative costs, milliseconds; infinity: there is none.
  using Price = std::function<double()>;

  /// \param facts     of the matrix, which outlive this
  /// \param amg_fits  whether there is memory for multigrid
  /// \param price     analyses the matrix; called at most once
  JacobiWatch(const LadderFacts& facts, RungMethod method, const Device& device, bool amg_fits, Price price);

  /// \returns whether to go on. \param target of the residual
  [[nodiscard]] bool goes_on(double residual, double target);
  /// Why it was left; empty before.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

 private:
  [[nodiscard]] bool beats_amg(double projected);
  [[nodiscard]] bool beats_price(double projected);
  [[nodiscard]] bool leave(double projected, const std::string& instead);
  [[nodiscard]] double spent() const noexcept;

  const LadderFacts& facts_;
  Device device_;
  Price price_;
  double iteration_ms_;
  double analysis_ms_;
  double known_price_ = -1.0;  ///< negative: not asked for
  double limit_ms_ = 0.0;      ///< the next look at the projection
  bool is_amg_next_ = false;
  std::vector<double> residuals_;
  std::string reason_;
};

}  // namespace tessera::detail
