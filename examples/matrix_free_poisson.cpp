/// \file
/// Solves -div(k grad u) = 1 on the unit square, u = 0 on its boundary, without a matrix: the operator is a
/// function that applies the 5-point stencil. Then solves with the assembled matrix, to compare.
///
///     matrix_free_poisson [points per side]

#include <tessera/assemble.hpp>
#include <tessera/error.hpp>
#include <tessera/linear_operator.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

/// Conductivity at a place of the square: a disc that conducts a hundred times better than the rest.
double conductivity(double x, double y) { return std::hypot(x - 0.4, y - 0.6) < 0.25 ? 100.0 : 1.0; }

/// The stencil, times h²: the flux through each side of a cell is its conductivity times the difference of u.
class Diffusion {
 public:
  explicit Diffusion(std::int64_t n) : n_(n), h_(1.0 / static_cast<double>(n + 1)) {}

  [[nodiscard]] std::int64_t unknowns() const { return n_ * n_; }

  /// coefficient(neighbour, k) for the sides of point (i, j); the neighbour is -1 on the boundary, where u is 0.
  template <class Visit>
  void for_sides(std::int64_t i, std::int64_t j, Visit&& visit) const {
    const double x = h_ * static_cast<double>(i + 1);
    const double y = h_ * static_cast<double>(j + 1);
    const std::int64_t row = j * n_ + i;
    visit(j > 0 ? row - n_ : -1, conductivity(x, y - h_ / 2));
    visit(i > 0 ? row - 1 : -1, conductivity(x - h_ / 2, y));
    visit(i + 1 < n_ ? row + 1 : -1, conductivity(x + h_ / 2, y));
    visit(j + 1 < n_ ? row + n_ : -1, conductivity(x, y + h_ / 2));
  }

  /// body(row, i, j) for all points.
  template <class Body>
  void for_points(Body&& body) const {
    for (std::int64_t j = 0; j < n_; ++j) {
      for (std::int64_t i = 0; i < n_; ++i) body(static_cast<std::size_t>(j * n_ + i), i, j);
    }
  }

  /// y = A u.
  void apply(std::span<const double> u, std::span<double> y) const {
    for_points([&](std::size_t row, std::int64_t i, std::int64_t j) {
      double flux = 0.0;
      for_sides(i, j, [&](std::int64_t neighbour, double k) {
        flux += k * (u[row] - (neighbour < 0 ? 0.0 : u[static_cast<std::size_t>(neighbour)]));
      });
      y[row] = flux;
    });
  }

  /// All entries, or those of the diagonal alone.
  [[nodiscard]] tessera::Csr<double> matrix(bool diagonal_only) const {
    std::vector<tessera::index_t> rows;
    std::vector<tessera::index_t> columns;
    std::vector<double> values;
    const auto add = [&](std::size_t row, std::int64_t column, double value) {
      rows.push_back(static_cast<tessera::index_t>(row));
      columns.push_back(static_cast<tessera::index_t>(column));
      values.push_back(value);
    };
    for_points([&](std::size_t row, std::int64_t i, std::int64_t j) {
      for_sides(i, j, [&](std::int64_t neighbour, double k) {
        add(row, static_cast<std::int64_t>(row), k);  // entries of one place are summed
        if (neighbour >= 0 && !diagonal_only) add(row, neighbour, -k);
      });
    });
    return tessera::assemble<double>(unknowns(), unknowns(), rows, columns, values).matrix;
  }

 private:
  std::int64_t n_;
  double h_;
};

std::vector<double> solve(const char* name, const tessera::LinearOperator<double>& A,
                          const tessera::LinearOperator<double>& M) {
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  std::vector<double> x(b.size(), 0.0);
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-10;
  const tessera::SolveReport report = tessera::cg(A, M, b, x, options);
  std::cout << name << ": " << to_string(report.status) << " after " << report.iterations << " iterations\n";
  if (!report.converged()) throw tessera::Error(report.reason);
  return x;
}

void compare(std::int64_t n) {
  const Diffusion diffusion(n);
  const tessera::FunctionOperator<double> free(
      diffusion.unknowns(), diffusion.unknowns(),
      [&](std::span<const double> u, std::span<double> y) { diffusion.apply(u, y); });
  // Jacobi needs the diagonal, and nothing else, of a matrix.
  const tessera::JacobiPreconditioner<double> jacobi(diffusion.matrix(true).view());
  const std::vector<double> x = solve("matrix-free", free, jacobi);

  const tessera::SpmvPlan<double> assembled(diffusion.matrix(false));
  const std::vector<double> y = solve("assembled", assembled, jacobi);

  double difference = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) difference = std::max(difference, std::fabs(x[k] - y[k]));
  std::cout << "largest difference, relative to the largest value: "
            << difference / *std::max_element(y.begin(), y.end()) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t n = 200;
  if (argc > 1) {
    const std::string_view text = argv[1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (argc > 2 || error != std::errc{} || end != text.data() + text.size() || n < 1 || n > 10'000) {
      std::cerr << "usage: matrix_free_poisson [points a side, 1 to 10000]\n";
      return 2;
    }
  }
  try {
    compare(n);
    return 0;
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
