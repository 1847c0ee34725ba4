/// Random systems × methods × preconditioners × options: whatever the ending, the reported residual is that of the
/// returned x, recomputed in long double.
#include "tessera/tessera.hpp"
#include "tests/support/oracle.hpp"
#include "tests/torture/budget.hpp"
#include "tests/torture/random_systems.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tessera::testing {
namespace {

struct Norms {
  long double residual = 0;
  long double bound = 0;  ///< of the rounding of the residual and of its norm, in type T
};

template <class T>
[[nodiscard]] Norms recomputed(const CsrView<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  const ProductOracle oracle = multiply_oracle<T>(T{-1}, a, x, T{1}, b);
  Norms norms;
  for (std::size_t i = 0; i < b.size(); ++i) {
    norms.residual += oracle.y[i] * oracle.y[i];
    norms.bound += oracle.bound[i] * oracle.bound[i];
  }
  norms.residual = std::sqrt(norms.residual);
  constexpr auto unit = static_cast<long double>(std::numeric_limits<T>::epsilon()) / 2;
  norms.bound = std::sqrt(norms.bound) + static_cast<long double>(b.size() + 8) * unit * norms.residual;
  return norms;
}

template <class T>
[[nodiscard]] std::unique_ptr<Preconditioner<T>> preconditioner(const CsrView<T>& a, std::uint64_t choice) {
  switch (choice) {
    case 0:
      return std::make_unique<JacobiPreconditioner<T>>(a);
    case 1:
      return std::make_unique<Amg<T>>(a);
    default:
      return std::make_unique<IncompleteFactors<T>>(a);
  }
}

template <class T>
[[nodiscard]] SolveReport run(std::uint64_t method, const LinearOperator<T>& A, const LinearOperator<T>* M,
                              std::span<const T> b, std::span<T> x, const SolverOptions& options) {
  switch (method) {
    case 0:
      return M == nullptr ? cg<T>(A, b, x, options) : cg<T>(A, *M, b, x, options);
    case 1:
      return M == nullptr ? bicgstab<T>(A, b, x, options) : bicgstab<T>(A, *M, b, x, options);
    case 2:
      return M == nullptr ? gmres<T>(A, b, x, options) : gmres<T>(A, *M, b, x, options);
    default:
      return idr<T>(A, *M, b, x, options);
  }
}

/// \returns whether the case came to a solve: a preconditioner may refuse the matrix by an Error
template <class T>
[[nodiscard]] bool check_case(std::uint64_t seed, int half_exponent) {
  RandomSystem<T> system = random_system<T>(seed, half_exponent);
  std::mt19937_64 random(~seed);
  const SpmvPlan<T> A(std::move(system.matrix));
  const std::uint64_t method = random() % 4;
  const std::uint64_t precond = random() % (method == 3 ? 3 : 4);  // idr() always takes one
  SolverOptions options;
  options.relative_tolerance = sizeof(T) == 4 ? 1e-4 : 1e-8;
  options.base = random() % 2 == 0 ? ResidualBase::b : ResidualBase::r0;
  options.max_iterations = random() % 4 == 0 ? 3 : 500;
  options.restart = static_cast<int>(1 + random() % 60);
  std::vector<T> x = system.x0;
  SolveReport report;
  try {
    const auto M = precond == 3 ? nullptr : preconditioner<T>(A.matrix(), precond);
    report = run<T>(method, A, M.get(), system.b, x, options);
  } catch (const Error&) {
    return false;
  }
  SCOPED_TRACE(system.name + ", method " + std::to_string(method) + ", precond " + std::to_string(precond) + ": " +
               std::string(to_string(report.status)) + ", " + report.reason);
  for (const T value : x) EXPECT_TRUE(std::isfinite(value));
  const Norms norms = recomputed<T>(A.matrix(), system.b, x);
  if (report.status != Status::not_finite) {
    EXPECT_LE(std::fabs(static_cast<long double>(report.true_residual) - norms.residual), norms.bound)
        << "reported " << report.true_residual << ", recomputed " << static_cast<double>(norms.residual);
  }
  if (report.converged()) {
    EXPECT_LE(norms.residual, static_cast<long double>(report.target) + norms.bound);
  }
  return true;
}

template <class T>
void check_cases(std::uint64_t count, int half_exponent) {
  std::uint64_t solved = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    if (check_case<T>(seed, half_exponent)) ++solved;
    if (::testing::Test::HasFailure()) return;  // the seed is in the message
  }
  EXPECT_GT(solved, count / 2);
}

TEST(Torture, ReportedResidualIsThatOfXInDouble) { check_cases<double>(torture_cases(1500), 250); }

TEST(Torture, ReportedResidualIsThatOfXInFloat) { check_cases<float>(torture_cases(1500), 20); }

}  // namespace
}  // namespace tessera::testing
