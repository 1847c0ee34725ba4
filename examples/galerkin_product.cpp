/// \file
/// Galerkin product R A P, the coarse matrix of a two-grid method on a line: P aggregates pairs of neighbours, R = Pᵀ.
/// Then the product with new values of A, on the stored structure.
///
///     galerkin_product [POINTS]

#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/spgemm.hpp>
#include <tessera/statistics.hpp>

#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

namespace {

using tessera::Array;
using tessera::Csr;

/// Column i / 2 for row i: each coarse point stands for two fine ones.
Csr<double> pairs(std::int64_t rows) {
  Array<tessera::offset_t> offsets(rows + 1);
  Array<tessera::index_t> columns(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    offsets[i + 1] = i + 1;
    columns[i] = static_cast<tessera::index_t>(i / 2);
  }
  return Csr<double>::pattern(rows, (rows + 1) / 2, std::move(offsets), std::move(columns));
}

double sum_of(const Csr<double>& matrix) {
  double sum = 0.0;
  for (const double value : matrix.values()) sum += value;
  return sum;
}

int multiply(std::int64_t points) {
  const Csr<double> a = tessera::poisson2d<double>(points, points);
  const Csr<double> p = pairs(a.rows());
  const Csr<double> r = tessera::transpose(p.view());
  const auto coarse = tessera::galerkin(r, a, p);
  std::cout << "fine:     " << a.rows() << " rows, " << a.nnz() << " entries\n"
            << "coarse:   " << coarse.matrix.rows() << " rows, " << coarse.matrix.nnz() << " entries\n"
            << "products: " << coarse.first.products << " + " << coarse.second.products << '\n'
            << "sums:     " << sum_of(a) << " and " << sum_of(coarse.matrix) << '\n';

  // A changes, its structure does not: only the sums are done again.
  tessera::SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(p.view()));
  std::vector<double> doubled(a.values().begin(), a.values().end());
  for (double& value : doubled) value *= 2.0;
  const Csr<double> stiffer(a.rows(), a.cols(), a.row_offsets().to(a.device()), a.columns().to(a.device()),
                            Array<double>::copy_of(doubled));
  std::cout << "planned:  " << sum_of(plan.multiply(stiffer, p)) << " is twice " << sum_of(plan.multiply()) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long points = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 64;
  if (argc > 2 || points < 1) {
    std::cerr << "usage: galerkin_product [POINTS]\n";
    return 2;
  }
  try {
    return multiply(points);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
