/// Rent or buy: Jacobi against the price of the next rung.
#include "solvers/ladder/jacobi_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

/// Before so many iterations, a projection says little.
constexpr std::size_t least_iterations = 16;
/// Iterations after which multigrid is weighed.
constexpr std::size_t amg_trial = 40;
/// Part of the price of the analysis after which a projection is looked at.
constexpr double first_look = 1.0 / 3.0;
/// How often the rent may reach the price when projections were too good.
constexpr double patience = 3.0;

[[nodiscard]] std::string count_text(double iterations) {
  constexpr double many = 1e6;
  return std::isfinite(iterations) && iterations < many ? fmt::format("about {:.0f}", iterations) : "very many";
}

}  // namespace

JacobiWatch::JacobiWatch(const LadderFacts& facts, RungMethod method, const Device& device, bool amg_fits, Price price)
    : facts_(facts),
      device_(device),
      price_(std::move(price)),
      iteration_ms_(detail::iteration_ms(facts, method, device)),
      analysis_ms_(detail::analysis_ms(facts)),
      limit_ms_(first_look * analysis_ms_),
      is_amg_next_(facts.symmetric && facts.definite_diagonal && facts.rows >= least_rows_for_amg && amg_fits) {}

bool JacobiWatch::goes_on(double residual, double target) {
  residuals_.push_back(residual);
  const std::size_t iterations = residuals_.size() - 1;
  if (residual <= target || iterations < least_iterations) return true;
  if (is_amg_next_) {
    if (iterations < amg_trial || iterations % least_iterations != 0) return true;
    return beats_amg(projected_iterations(residuals_, target));
  }
  if (spent() < limit_ms_ || iterations % least_iterations != 0) return true;
  return beats_price(projected_iterations(residuals_, target));
}

double JacobiWatch::spent() const noexcept { return static_cast<double>(residuals_.size() - 1) * iteration_ms_; }

bool JacobiWatch::beats_amg(double projected) {
  const double break_even = amg_break_even(facts_.rows, device_);
  const auto done = static_cast<double>(residuals_.size() - 1);
  if (projected <= break_even || (projected - done <= break_even && done < patience * break_even)) return true;
  return leave(projected, fmt::format("amg pays above {:.0f}", break_even));
}

bool JacobiWatch::beats_price(double projected) {
  const double remaining = (projected - static_cast<double>(residuals_.size() - 1)) * iteration_ms_;
  if (known_price_ < 0.0) {
    if (remaining <= analysis_ms_ && spent() < patience * analysis_ms_) return true;
    known_price_ = price_();
  }
  if (remaining <= known_price_ && spent() < analysis_ms_ + patience * known_price_) return true;
  if (known_price_ == std::numeric_limits<double>::infinity()) return true;
  return leave(projected, "the next rung promises to cost less");
}

bool JacobiWatch::leave(double projected, const std::string& instead) {
  reason_ = fmt::format("left after {} iterations: {} would be needed, {}", residuals_.size() - 1,
                        count_text(projected), instead);
  return false;
}

}  // namespace tessera::detail
