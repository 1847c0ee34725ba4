/// \file
/// Newton's method for the Bratu problem -Δu = λ exp(u) on the unit square, u = 0 at its boundary: every step solves
/// with a Jacobian of new values in the same positions. Plan and preconditioner are set up once and take the values.
///
///     newton_bratu [POINTS PER SIDE [host|cuda|cuda:N]]

#include <tessera/amg.hpp>
#include <tessera/context.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/iterative_solver.hpp>
#include <tessera/spmv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <span>
#include <vector>

namespace {

constexpr double lambda = 5.0;  // below the turning point at 6.81, so that the Jacobian is positive definite

/// F(u) = A u - h² λ exp(u) with A the 5-point stencil (4, -1, -1, -1, -1), and its Jacobian A - h² λ diag(exp(u)).
class Bratu {
 public:
  explicit Bratu(std::int64_t points)
      : A_(tessera::poisson2d<double>(points, points)),
        scale_(lambda / static_cast<double>((points + 1) * (points + 1))) {}

  [[nodiscard]] const tessera::Csr<double>& stencil() const { return A_; }

  [[nodiscard]] std::vector<double> negative_residual(const std::vector<double>& u) const {
    const tessera::CsrView<double> a = A_.view();
    std::vector<double> f(u.size());
    for (std::size_t i = 0; i < u.size(); ++i) {
      f[i] = scale_ * std::exp(u[i]);
      for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        f[i] -= a.values[at] * u[static_cast<std::size_t>(a.columns[at])];
      }
    }
    return f;
  }

  /// In the order of the entries of A.
  [[nodiscard]] std::vector<double> jacobian(const std::vector<double>& u) const {
    const tessera::CsrView<double> a = A_.view();
    std::vector<double> values(a.values.begin(), a.values.end());
    for (std::size_t i = 0; i < u.size(); ++i) {
      for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (static_cast<std::size_t>(a.columns[at]) == i) values[at] -= scale_ * std::exp(u[i]);
      }
    }
    return values;
  }

 private:
  tessera::Csr<double> A_;
  double scale_;
};

double largest(const std::vector<double>& v) {
  double result = 0.0;
  for (const double element : v) result = std::max(result, std::fabs(element));
  return result;
}

/// Newton's method from u = 0; every linear solve reduces its residual by 1e-10.
int solve(std::int64_t points, const tessera::Context& context) {
  const Bratu problem(points);
  tessera::SpmvPlan<double> J(problem.stencil().to(context), {.device = context});
  tessera::Amg<double> M(J.matrix(), {}, context);
  std::vector<double> u(static_cast<std::size_t>(J.rows()), 0.0);
  tessera::Array<double> step(J.rows(), tessera::Init::zero, context);
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-10;
  tessera::IterativeSolver<double> solver(tessera::IterativeMethod::cg, J, M, options);
  for (int k = 0; k <= 10; ++k) {
    const std::vector<double> f = problem.negative_residual(u);
    std::cout << "step " << k << ": largest residual " << largest(f) << '\n';
    if (largest(f) < 1e-13) {
      std::cout << "converged: largest u " << largest(u) << '\n';
      return 0;
    }
    J.update_values(std::span<const double>(problem.jacobian(u)));
    M.refresh(J.matrix());
    const auto b = tessera::Array<double>::copy_of(f, context);
    step = tessera::Array<double>(J.rows(), tessera::Init::zero, context);
    const tessera::SolveReport report = solver.solve(b.span(), step.span());
    if (!report.converged()) throw tessera::Error("CG: " + report.reason);
    const tessera::Array<double> on_host = step.to(tessera::Device{});
    for (std::size_t i = 0; i < u.size(); ++i) u[i] += on_host[static_cast<std::int64_t>(i)];
  }
  std::cout << "not converged in 10 steps\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long points = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 100;
  if (argc > 3 || points < 1 || points > 2000) {
    std::cerr << "usage: newton_bratu [POINTS PER SIDE, 1 to 2000 [host|cuda|cuda:N]]\n";
    return 2;
  }
  try {
    return solve(points, tessera::Context(tessera::Device::parse(argc > 2 ? argv[2] : "host")));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
