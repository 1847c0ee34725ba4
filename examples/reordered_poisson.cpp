/// \file
/// Laplace's equation on a grid whose points are numbered at random: CG in reverse Cuthill-McKee order, once with a
/// plan that hides the numbering, once with a system that is permuted once.
///
///     reordered_poisson [POINTS [host|cuda|cuda:N]]

#include <tessera/array.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/reordered_plan.hpp>
#include <tessera/solvers.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <vector>

namespace {

using tessera::Array;

double largest_difference(const Array<double>& a, const Array<double>& b) {
  const Array<double> first = a.to(tessera::Device{});
  const Array<double> second = b.to(tessera::Device{});
  double largest = 0.0;
  for (std::int64_t i = 0; i < first.size(); ++i) largest = std::max(largest, std::abs(first[i] - second[i]));
  return largest;
}

int run(std::int64_t points, const tessera::Device& device) {
  const tessera::Csr<double> matrix =
      tessera::generate<double>({.family = "poisson2d", .size = points, .parameters = {{"shuffle", 1.0}}});
  const std::int64_t n = matrix.rows();

  const tessera::ReorderedPlan<double> A(matrix, tessera::Ordering::rcm, {.device = device});
  const tessera::IdentityOperator<double> M(n, device);
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  const auto b = Array<double>::copy_of(ones, device);
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-12;

  // Two gathers per product.
  Array<double> x(n, tessera::Init::zero, device);
  const tessera::SolveReport hidden = tessera::cg<double>(A, M, b.span(), x.span(), options);

  // None: b and x are in the inner numbering throughout.
  Array<double> inner_b(n, tessera::Init::none, device);
  Array<double> inner_x(n, tessera::Init::zero, device);
  Array<double> y(n, tessera::Init::none, device);
  A.gather(b.span(), inner_b.span());
  const tessera::SolveReport once = tessera::cg<double>(A.plan(), M, inner_b.span(), inner_x.span(), options);
  A.scatter(inner_x.span(), y.span());

  std::cout << n << " points: " << to_string(hidden.status) << " and " << to_string(once.status)
            << ", largest difference: " << largest_difference(x, y) << '\n';
  std::cout << "set-up: ordering " << A.info().ordering_ms << " ms, permuting " << A.info().permute_ms << " ms, plan "
            << A.info().build_ms << " ms\n";
  return hidden.converged() && once.converged() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int points = argc > 1 ? std::atoi(argv[1]) : 100;
  if (points < 2 || argc > 3) {
    std::cerr << "usage: reordered_poisson [POINTS [host|cuda|cuda:N]], POINTS per side, at least 2\n";
    return 2;
  }
  try {
    return run(points, tessera::Device::parse(argc > 2 ? argv[2] : "host"));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
