/// Checks of the arguments of a Krylov method.
#include "solvers/krylov_problem.hpp"

#include "core/cuda/memory.hpp"
#include "core/device/operands.hpp"
#include "core/group_rank.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace tessera::detail {

namespace {

void require(bool condition, std::string_view name, double value, std::string_view range) {
  if (!condition) throw InvalidArgument(fmt::format("{} must be {}, got {}", name, range, value));
}

void require_count(std::string_view name, std::int64_t value) {
  if (value < 0) throw InvalidArgument(fmt::format("{} must be >= 0, got {}", name, value));
}

/// \throws InvalidArgument naming the first option out of range
void check_options(const SolverOptions& options) {
  const auto tolerance = [](double value) { return value >= 0.0 && std::isfinite(value); };
  require(tolerance(options.relative_tolerance), "relative_tolerance", options.relative_tolerance, "finite and >= 0");
  require(tolerance(options.absolute_tolerance), "absolute_tolerance", options.absolute_tolerance, "finite and >= 0");
  require(options.divergence_tolerance > 1.0, "divergence_tolerance", options.divergence_tolerance, "> 1");
  require(options.time_limit_seconds >= 0.0, "time_limit_seconds", options.time_limit_seconds, ">= 0");
  require_count("max_iterations", options.max_iterations);
  require_count("stagnation_window", options.stagnation_window);
  require_count("breakdown_restarts", options.breakdown_restarts);
  require_count("replacement_interval", options.replacement_interval);
}

template <class T>
void check_operators(const FusedOperator<T>& a, const FusedOperator<T>& m) {
  if (a.rows() != a.cols()) throw DimensionError(fmt::format("A must be square, is {} x {}", a.rows(), a.cols()));
  if (m.rows() != a.rows() || m.cols() != a.cols()) {
    throw DimensionError(
        fmt::format("the preconditioner must be {0} x {0} as A, is {1} x {2}", a.rows(), m.rows(), m.cols()));
  }
  if (m.device().shares_context_with(a.device())) return;
  if (m.device() == a.device()) {
    throw InvalidArgument(
        fmt::format("the preconditioner must have the context of A; both lie on {}", a.device().name()));
  }
  throw InvalidArgument(
      fmt::format("the preconditioner must lie on {} as A, lies on {}", a.device().name(), m.device().name()));
}

template <class T>
void check_vector(const FusedOperator<T>& a, const char* name, std::span<const T> vector) {
  if (static_cast<std::int64_t>(vector.size()) == a.rows()) return;
  throw DimensionError(
      fmt::format("A is {0} x {0}: {1} must have {0} elements, has {2}", a.rows(), name, vector.size()));
}

template <class T>
void check_device(const Device& device, const char* name, std::span<const T> vector) {
  if (device.is_host() || vector.data() == nullptr || cuda::is_reachable(device, vector.data())) return;
  throw InvalidArgument(fmt::format("A is on {0}: {1} must lie there as well", device.name(), name));
}

}  // namespace

void require_right_side(const SolverOptions& options, std::string_view method) {
  if (options.side == PreconditionerSide::right) return;
  throw InvalidArgument(fmt::format("{} has no preconditioner on the left; only gmres has", method));
}

template <class T>
KrylovArguments<T>::KrylovArguments(const LinearOperator<T>& A, const LinearOperator<T>& M,
                                    std::span<const T> right_side, std::span<T> guess,
                                    const SolverOptions& solver_options)
    : KrylovArguments(A, M, solver_options) {
  take(right_side, guess);
}

template <class T>
KrylovArguments<T>::KrylovArguments(const LinearOperator<T>& A, const LinearOperator<T>& M,
                                    const SolverOptions& solver_options)
    : fused_a(fused_operator(A)), fused_m(fused_operator(M)), a(*fused_a), m(*fused_m), options(solver_options) {
  check_operators(a, m);
  check_options(options);
}

template <class T>
void KrylovArguments<T>::take(std::span<const T> right_side, std::span<T> guess) {
  check_vector<T>(a, "b", right_side);
  check_vector<T>(a, "x", std::span<const T>(guess));
  check_device<T>(a.device(), "b", right_side);
  check_device<T>(a.device(), "x", std::span<const T>(guess));
  if (overlap<T>(right_side, guess)) throw InvalidArgument("b and x must not overlap");
  b = right_side;
  x = guess;
}

namespace {

/// The first element of all ranks that is NaN or infinite.
struct FirstBad {
  std::int64_t index = -1;  ///< -1: none
  double value = 0.0;
  FirstBad& operator+=(const FirstBad& later) noexcept {
    if (index < 0) *this = later;
    return *this;
  }
};

}  // namespace

template <class T>
std::string first_not_finite(const Device& device, const char* name, std::span<const T> vector) {
  Array<T> copy;
  if (!device.is_host()) copy = fused::to_host(device, vector);
  const std::span<const T> values = device.is_host() ? vector : copy.span();
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  FirstBad first;
  if (bad != values.end()) first = {bad - values.begin(), static_cast<double>(*bad)};
  if (const GroupRank* const rank = rank_of(device); rank != nullptr && first.index >= 0)
    first.index += rank->first_row;
  first = sum_over_ranks(device, first);
  if (first.index < 0) return fmt::format("the norm of {} is beyond the range of double", name);
  return fmt::format("{}[{}] is {}", name, first.index, first.value);
}

template std::string first_not_finite(const Device&, const char*, std::span<const float>);
template std::string first_not_finite(const Device&, const char*, std::span<const double>);
template struct KrylovArguments<float>;
template struct KrylovArguments<double>;

}  // namespace tessera::detail
