/// \file
/// The rule by which the ladder leaves an iteration: when it promises to cost more than what comes next.
#pragma once

#include "solvers/ladder/costs.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace tessera::detail {

/// Another thing to do than to iterate on.
struct Alternative {
  double ms = std::numeric_limits<double>::infinity();  ///< its price; infinity: there is none
  std::string words = {};                               ///< why it is taken instead: "amg pays above 200"
};

/// Rules by which a rung is watched.
struct WatchRules {
  double iteration_ms = 0.0;     ///< of the rung
  double asking_ms = 0.0;        ///< what the price of the alternative costs to find out
  double least_rent = 0.0;       ///< part of the price of the alternative that is spent first
  std::int64_t first_look = 16;  ///< iterations before which a projection says little
  std::int64_t most_iterations = std::numeric_limits<std::int64_t>::max();  ///< more are as good as none
  std::int64_t soft_limit = 0;   ///< iterations after which the end has to be near; 0: none
  double limits_more = 3.0;      ///< so many soft limits more are near
  bool must_fall_early = false;  ///< left where the residual has not fallen to a tenth after 30 iterations
  Alternative left = {};         ///< a rung that was left before; it is taken once its price is spent here
  std::function<Alternative(double projected)> alternative = {};  ///< asked for where it may pay; empty: there is none
};

/// Watches the residuals of a Krylov method. It asks for the price of an alternative once the iteration has cost a
/// third of what the answer would, and promises to cost more. Whoever rents skis does not ask for their price on the
/// first day.
class RungWatch {
 public:
  explicit RungWatch(WatchRules rules);

  /// \returns whether to go on. \param target of the residual
  [[nodiscard]] bool goes_on(double residual, double target);
  /// Why it was left; empty before.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  /// Expected cost of the rest of the iteration, milliseconds; infinity where the end is not in sight.
  [[nodiscard]] double remaining_ms() const;
  [[nodiscard]] double spent_ms() const noexcept;
  [[nodiscard]] double iteration_ms() const noexcept { return rules_.iteration_ms; }

 private:
  [[nodiscard]] std::int64_t iterations() const noexcept { return static_cast<std::int64_t>(residuals_.size()) - 1; }
  [[nodiscard]] bool beats_alternative();
  [[nodiscard]] bool leave(const std::string& instead);
  [[nodiscard]] bool keeps_falling();

  WatchRules rules_;
  bool has_asked_ = false;
  double target_ = 0.0;
  double smallest_at_limit_;  ///< at the latest soft limit
  std::vector<double> residuals_;
  std::string reason_;
};

}  // namespace tessera::detail
