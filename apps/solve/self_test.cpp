#include "self_test.hpp"

#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <span>

namespace tessera::cli {

namespace {

[[nodiscard]] double distance_to(std::span<const double> values, double expected) {
  double largest = 0.0;
  for (const double value : values) {
    const double distance = std::fabs(value - expected);
    if (!(distance <= largest)) largest = distance;
  }
  return largest;
}

/// A x = A*ones on a 32 x 32 grid. The condition number is below 1e3, so rtol 1e-10 leaves an error well below 1e-6.
[[nodiscard]] Check poisson_check(const std::shared_ptr<const Csr<double>>& matrix, SpmvAlgorithm algorithm,
                                  const Device& device) {
  Check check{fmt::format("poisson2d 32, cg, kernel {}", to_string(algorithm)), false, {}};
  try {
    SpmvOptions spmv;
    spmv.algorithm = algorithm;
    spmv.device = device;
    const SpmvPlan<double> A(matrix, spmv);
    const Array<double> b = [&] {
      const std::vector<double> ones(static_cast<std::size_t>(A.cols()), 1.0);
      Array<double> product(A.rows());
      A.apply(ones, product.span());
      return product;
    }();
    Array<double> x(A.rows());
    SolverOptions options;
    options.relative_tolerance = 1e-10;
    const SolveReport report = cg<double>(A, b.span(), x.span(), options);
    const double error = distance_to(x.span(), 1.0);
    constexpr double allowed = 1e-6;
    check.passed = report.converged() && error <= allowed;
    check.detail =
        fmt::format("{} after {} iterations, error {:.1e}", to_string(report.status), report.iterations, error);
  } catch (const std::exception& error) {
    check.detail = error.what();
  }
  return check;
}

[[nodiscard]] Check cycle_check(const Device& device) {
  Check check{"pagerank of a cycle of 4", false, {}};
  try {
    constexpr std::array<offset_t, 5> offsets{0, 1, 2, 3, 4};
    constexpr std::array<index_t, 4> columns{1, 2, 3, 0};
    const auto graph = Csr<double>::pattern(4, 4, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
    const TransitionMatrix<double> transition(graph.view(), device);
    PageRankOptions options;
    options.spmv.device = device;
    const PageRankResult<double> result = pagerank(transition, options);
    const double error = distance_to(result.ranks.span(), 0.25);
    constexpr double allowed = 1e-12;
    check.passed = result.converged() && error <= allowed;
    check.detail = fmt::format("{}, error {:.1e}", to_string(result.status), error);
  } catch (const std::exception& error) {
    check.detail = error.what();
  }
  return check;
}

}  // namespace

std::vector<Check> self_test(const Device& device) {
  std::vector<Check> checks;
  constexpr std::int64_t side = 32;
  try {
    const auto matrix = std::make_shared<const Csr<double>>(poisson2d<double>(side, side));
    for (const SpmvAlgorithm algorithm : spmv_algorithms()) checks.push_back(poisson_check(matrix, algorithm, device));
  } catch (const std::exception& error) {
    checks.push_back({"poisson2d 32", false, error.what()});
  }
  checks.push_back(cycle_check(device));
  return checks;
}

}  // namespace tessera::cli
