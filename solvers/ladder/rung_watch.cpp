/// Rent or buy: an iteration that goes on against the price of what comes next.
#include "solvers/ladder/rung_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Projections are looked at after every so many iterations.
constexpr std::int64_t look_every = 16;
/// Part of the price of asking after which a projection is looked at.
constexpr double first_rent = 1.0 / 3.0;
/// How often the rent may reach the price when projections were too good.
constexpr double patience = 3.0;
/// A residual above `slow_residual` of the first one after so many iterations: the rung is left.
constexpr std::int64_t slow_iterations = 30;
constexpr double slow_residual = 0.1;
/// The residual has to fall to this between two soft limits.
constexpr double least_fall = 0.5;

[[nodiscard]] std::string count_text(double iterations) {
  constexpr double many = 1e6;
  return std::isfinite(iterations) && iterations < many ? fmt::format("about {:.0f}", iterations) : "very many";
}

}  // namespace

RungWatch::RungWatch(WatchRules rules) : rules_(std::move(rules)), smallest_at_limit_(infinity) {}

bool RungWatch::goes_on(double residual, double target) {
  residuals_.push_back(residual);
  target_ = target;
  if (residual <= target || iterations() == 0) return true;
  if (rules_.must_fall_early && iterations() == slow_iterations && residual > slow_residual * residuals_.front()) {
    reason_ = fmt::format("left after {} iterations: the residual did not fall to a tenth", iterations());
    return false;
  }
  if (rules_.soft_limit > 0 && iterations() % rules_.soft_limit == 0 && !keeps_falling()) return false;
  if (!rules_.alternative || iterations() < rules_.first_look || iterations() % look_every != 0) return true;
  if (spent_ms() >= rules_.left.ms && remaining_ms() > rules_.left.ms) return leave(rules_.left.words);
  return spent_ms() < first_rent * rules_.asking_ms || beats_alternative();
}

double RungWatch::spent_ms() const noexcept { return static_cast<double>(iterations()) * rules_.iteration_ms; }

double RungWatch::remaining_ms() const {
  if (residuals_.size() < 2) return infinity;
  const double projected = projected_iterations(residuals_, target_);
  if (projected > static_cast<double>(rules_.most_iterations)) return infinity;
  return (projected - static_cast<double>(iterations())) * rules_.iteration_ms;
}

bool RungWatch::beats_alternative() {
  const double remaining = remaining_ms();
  if (!has_asked_) {
    if (remaining <= rules_.asking_ms && spent_ms() < patience * rules_.asking_ms) return true;
    has_asked_ = true;
  }
  const Alternative other = rules_.alternative(projected_iterations(residuals_, target_));
  if (other.ms == infinity || spent_ms() < rules_.least_rent * other.ms) return true;
  if (remaining <= other.ms && spent_ms() < rules_.asking_ms + patience * other.ms) return true;
  return leave(other.words);
}

bool RungWatch::leave(const std::string& instead) {
  reason_ = fmt::format("left after {} iterations: {} would be needed", iterations(),
                        count_text(projected_iterations(residuals_, target_)));
  if (!instead.empty()) reason_ += ", " + instead;
  return false;
}

/// At a soft limit.
bool RungWatch::keeps_falling() {
  const double projected = projected_iterations(residuals_, target_);
  const double most = static_cast<double>(iterations()) + rules_.limits_more * static_cast<double>(rules_.soft_limit);
  const double smallest = *std::min_element(residuals_.begin(), residuals_.end());
  const bool has_fallen = smallest <= least_fall * smallest_at_limit_;
  smallest_at_limit_ = smallest;
  if (projected <= most && has_fallen) return true;
  return leave({});
}

}  // namespace tessera::detail
