#include "support/system.hpp"

#include "core/random.hpp"
#include "core/stopwatch.hpp"

#include "tessera/solvers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::support {

MethodChoice choose_method(Method wanted, const MatrixStatistics& matrix) {
  if (wanted != Method::automatic) return {wanted, {}};
  if (matrix.symmetry != Symmetry::numerical) return {Method::bicgstab, "not numerically symmetric"};
  const index_t unfit = matrix.diagonal_missing + matrix.diagonal_zero + matrix.diagonal_negative;
  if (unfit > 0) {
    return {Method::bicgstab, fmt::format("symmetric, but {} of {} diagonal entries not positive", unfit, matrix.rows)};
  }
  return {Method::cg, "numerically symmetric, positive diagonal"};
}

SolverOptions refinement_options(SolverOptions options) {
  constexpr std::int64_t most_steps = 10;
  constexpr std::int64_t idle_steps = 3;
  options.max_iterations = std::min(options.max_iterations, most_steps);
  if (options.stagnation_window == 0) options.stagnation_window = idle_steps;
  return options;
}

namespace {

/// The iteration that ends a solve by this method.
[[nodiscard]] IterativeMethod iteration_of(Method method) {
  return method.iterative().value_or(method == Method::direct ? IterativeMethod::richardson
                                                              : IterativeMethod::bicgstab);
}

}  // namespace

std::span<const Method> methods() {
  static const std::vector<Method> all = [] {
    std::vector<Method> result{Method::automatic};
    for (const MethodInfo& info : iterative_methods()) result.emplace_back(info.method);
    result.emplace_back(Method::direct);
    return result;
  }();
  return all;
}

std::uint64_t vectors_of(Method method, std::int64_t n, const SolverOptions& options, bool simple) {
  const IterativeMethod named = method.iterative().value_or(IterativeMethod::richardson);
  return tessera::vectors_of(method_info(named), n, options, simple);
}

template <class T>
SolveReport run_method(Method method, const SystemOperators<T>& system, std::span<const T> b, std::span<T> x,
                       const SolverOptions& options) {
  return solve<T>(iteration_of(method), system.A, system.M, b, x,
                  method == Method::direct ? refinement_options(options) : options);
}

template <class T>
SolveReport solve_from_host(Method method, const SystemOperators<T>& system, std::span<const T> b, std::span<T> x,
                            const SolverOptions& options) {
  const Device device = system.A.device();
  if (device.is_host()) return run_method<T>(method, system, b, x, options);
  const Stopwatch uploading;
  const auto device_b = Array<T>::copy_of(b, device);
  auto device_x = Array<T>::copy_of(x, device);
  const double upload_ms = uploading.milliseconds();
  SolveReport report = run_method<T>(method, system, device_b.span(), device_x.span(), options);
  const Stopwatch downloading;
  detail::copy_bytes(Device{}, x.data(), device, device_x.data(), device_x.bytes());
  report.timings.upload_ms = upload_ms;
  report.timings.download_ms = downloading.milliseconds();
  return report;
}

template SolveReport run_method(Method, const SystemOperators<float>&, std::span<const float>, std::span<float>,
                                const SolverOptions&);
template SolveReport run_method(Method, const SystemOperators<double>&, std::span<const double>, std::span<double>,
                                const SolverOptions&);
template SolveReport solve_from_host(Method, const SystemOperators<float>&, std::span<const float>, std::span<float>,
                                     const SolverOptions&);
template SolveReport solve_from_host(Method, const SystemOperators<double>&, std::span<const double>, std::span<double>,
                                     const SolverOptions&);

template <class T>
std::vector<T> random_vector(std::int64_t n, std::uint64_t seed) {
  std::vector<T> vector(static_cast<std::size_t>(n));
  detail::SplitMix64 random(seed);
  for (T& value : vector) value = T{2} * detail::unit_interval<T>(random.next()) - T{1};
  return vector;
}

template std::vector<float> random_vector(std::int64_t, std::uint64_t);
template std::vector<double> random_vector(std::int64_t, std::uint64_t);

std::string to_string(Method method) {
  if (method.iterative()) return std::string(tessera::to_string(*method.iterative()));
  return method == Method::direct ? "direct" : "auto";
}

}  // namespace tessera::support
