#include "support/system.hpp"

#include "core/random.hpp"
#include "core/stopwatch.hpp"

#include "tessera/solvers.hpp"

#include <fmt/format.h>

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

template <class T>
SolveReport solve_from_host(Method method, const SystemOperators<T>& system, std::span<const T> b, std::span<T> x,
                            const SolverOptions& options) {
  const LinearOperator<T>& A = system.A;
  const LinearOperator<T>& M = system.M;
  const auto solve = [&](std::span<const T> placed_b, std::span<T> placed_x) {
    if (method == Method::cg) return cg<T>(A, M, placed_b, placed_x, options);
    if (method == Method::richardson) return richardson<T>(A, M, placed_b, placed_x, options);
    return bicgstab<T>(A, M, placed_b, placed_x, options);
  };
  const Device device = A.device();
  if (device.is_host()) return solve(b, x);
  const Stopwatch uploading;
  const auto device_b = Array<T>::copy_of(b, device);
  auto device_x = Array<T>::copy_of(x, device);
  const double upload_ms = uploading.milliseconds();
  SolveReport report = solve(device_b.span(), device_x.span());
  const Stopwatch downloading;
  detail::copy_bytes(Device{}, x.data(), device, device_x.data(), device_x.bytes());
  report.timings.upload_ms = upload_ms;
  report.timings.download_ms = downloading.milliseconds();
  return report;
}

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
  switch (method) {
    case Method::automatic:
      return "auto";
    case Method::cg:
      return "cg";
    case Method::bicgstab:
      return "bicgstab";
    case Method::richardson:
      return "richardson";
  }
  return "auto";
}

}  // namespace tessera::support
