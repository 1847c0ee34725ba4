/// \file
/// A membrane under point loads: one system per load, solved at once, so that all share each product with the matrix.
/// What load i does at the place of load j is what load j does at the place of load i (Maxwell's reciprocity).
///
///     point_loads [LOADS [host|cuda|cuda:N]]

#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/multiple_right_sides.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace {

int run(std::int64_t loads, const tessera::Device& device) {
  const tessera::SpmvPlan<double> A(tessera::poisson2d<double>(80, 80), {.device = device});
  const tessera::JacobiPreconditioner<double> M(A.matrix(), device);
  const std::int64_t n = A.rows();
  const auto place = [&](std::int64_t j) { return (2 * j + 1) * n / (2 * loads); };

  std::vector<double> forces(static_cast<std::size_t>(n * loads), 0.0);
  for (std::int64_t j = 0; j < loads; ++j) forces[static_cast<std::size_t>(j * n + place(j))] = 1.0;
  const auto B = tessera::Array<double>::copy_of(forces, device);
  tessera::Array<double> X(n * loads, tessera::Init::zero, device);

  const auto reports =
      tessera::cg<double>(A, M, tessera::MultiVectorView<const double>(B.span(), n, loads),
                          tessera::MultiVectorView<double>(X.span(), n, loads), {.relative_tolerance = 1e-10});
  for (const tessera::SolveReport& report : reports) {
    if (!report.converged()) throw tessera::Error(report.reason);
  }

  const tessera::Array<double> on_host = X.to(tessera::Device{});
  const auto shift = [&](std::int64_t load, std::int64_t at) { return on_host.data()[load * n + place(at)]; };
  double largest = 0.0;
  double difference = 0.0;
  for (std::int64_t i = 0; i < loads; ++i) {
    for (std::int64_t j = 0; j < loads; ++j) {
      largest = std::max(largest, std::abs(shift(i, j)));
      difference = std::max(difference, std::abs(shift(i, j) - shift(j, i)));
    }
  }
  std::cout << loads << " loads on " << n << " nodes: " << reports.front().iterations
            << " iterations of the first; reciprocal to " << difference / largest << '\n';
  return difference <= 1e-7 * largest ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::int64_t loads = argc > 1 ? std::atoll(argv[1]) : 12;
    if (loads < 1 || loads > 1000) throw tessera::InvalidArgument("the number of loads must be 1 to 1000");
    return run(loads, tessera::Device::parse(argc > 2 ? argv[2] : "host"));
  } catch (const std::exception& error) {
    std::cerr << "point_loads: " << error.what() << '\n';
    return 2;
  }
}
