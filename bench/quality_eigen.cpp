/// Eigen's iterative solvers for docs/quality.md: one solve per run, on the system that scripts/quality.py wrote.
///
///   bench_quality_eigen SYSTEM X METHOD PRECOND TOLERANCE ITERATIONS
///
/// SYSTEM holds, in the bytes of this machine: rows, columns, nonzeros (64 bits each), offsets of the rows and columns
/// (32 bits), values and the right-hand side (double). X gets the solution. Prints the iterations and whether Eigen
/// says that it converged. Needs Eigen alone: g++ -O2 -DNDEBUG -I/usr/include/eigen3 quality_eigen.cpp
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/IterativeSolvers>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using Vector = Eigen::VectorXd;

struct System {
  Matrix a;
  Vector b;
};

struct Limits {
  double tolerance;
  Eigen::Index iterations;
};

struct Outcome {
  Vector x;
  Eigen::Index iterations;
  bool converged;
};

template <class T>
std::vector<T> read_many(std::istream& in, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

System read_system(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const auto sizes = read_many<std::int64_t>(in, 3);
  const auto offsets = read_many<int>(in, sizes[0] + 1);
  const auto columns = read_many<int>(in, sizes[2]);
  const auto values = read_many<double>(in, sizes[2]);
  const auto b = read_many<double>(in, sizes[0]);
  if (!in) {
    throw std::runtime_error("cannot read " + path);
  }
  return {Eigen::Map<const Matrix>(sizes[0], sizes[1], sizes[2], offsets.data(), columns.data(), values.data()),
          Eigen::Map<const Vector>(b.data(), sizes[0])};
}

/// \param uncounted iterations that Eigen leaves out of its count where it converges: it stops before it counts the
/// last
template <class Solver>
Outcome finish(Solver& solver, const System& system, const Limits& limits, Eigen::Index uncounted = 0) {
  solver.setTolerance(limits.tolerance);
  solver.setMaxIterations(limits.iterations);
  solver.compute(system.a);
  if (solver.info() != Eigen::Success) {
    throw std::runtime_error("the preconditioner cannot be set up");
  }
  Vector x = solver.solve(system.b);
  const bool converged = solver.info() == Eigen::Success;
  return {std::move(x), solver.iterations() + (converged ? uncounted : 0), converged};
}

template <class Preconditioner>
Outcome cg(const System& system, const Limits& limits) {
  Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner> solver;
  return finish(solver, system, limits, 1);
}

template <class Preconditioner>
Outcome minres(const System& system, const Limits& limits) {
  Eigen::MINRES<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner> solver;
  return finish(solver, system, limits, 1);
}

/// Gives factors the drop tolerance and the fill of SciPy's spilu, as scripts/quality_peers.py calls it.
template <class Solver>
void limit_factors(Solver& solver) {
  if constexpr (requires { solver.preconditioner().setDroptol(1e-4); }) {
    solver.preconditioner().setDroptol(1e-4);
    solver.preconditioner().setFillfactor(10);
  }
}

template <class Preconditioner>
Outcome bicgstab(const System& system, const Limits& limits) {
  Eigen::BiCGSTAB<Matrix, Preconditioner> solver;
  limit_factors(solver);
  return finish(solver, system, limits);
}

template <class Preconditioner>
Outcome gmres(const System& system, const Limits& limits) {
  Eigen::GMRES<Matrix, Preconditioner> solver;
  solver.set_restart(50);
  limit_factors(solver);
  return finish(solver, system, limits);
}

template <class Preconditioner>
Outcome least_squares(const System& system, const Limits& limits) {
  Eigen::LeastSquaresConjugateGradient<Matrix, Preconditioner> solver;
  return finish(solver, system, limits, 1);
}

Outcome solve(const System& system, const Limits& limits, std::string_view configuration) {
  using Identity = Eigen::IdentityPreconditioner;
  using Diagonal = Eigen::DiagonalPreconditioner<double>;
  struct Entry {
    std::string_view name;
    Outcome (*run)(const System&, const Limits&);
  };
  constexpr Entry entries[] = {
      {"cg none", cg<Identity>},
      {"cg jacobi", cg<Diagonal>},
      {"cg ic", cg<Eigen::IncompleteCholesky<double>>},
      {"minres none", minres<Identity>},
      {"minres jacobi", minres<Diagonal>},
      {"bicgstab none", bicgstab<Identity>},
      {"bicgstab jacobi", bicgstab<Diagonal>},
      {"bicgstab ilut", bicgstab<Eigen::IncompleteLUT<double>>},
      {"gmres none", gmres<Identity>},
      {"gmres jacobi", gmres<Diagonal>},
      {"gmres ilut", gmres<Eigen::IncompleteLUT<double>>},
      {"cgls none", least_squares<Identity>},
      {"cgls jacobi", least_squares<Eigen::LeastSquareDiagonalPreconditioner<double>>},
  };
  for (const Entry& entry : entries) {
    if (entry.name == configuration) {
      return entry.run(system, limits);
    }
  }
  throw std::runtime_error("unknown configuration " + std::string(configuration));
}

}  // namespace

int main(int count, char** arguments) try {
  if (count == 2 && std::string_view(arguments[1]) == "--version") {
    std::cout << EIGEN_WORLD_VERSION << '.' << EIGEN_MAJOR_VERSION << '.' << EIGEN_MINOR_VERSION << '\n';
    return 0;
  }
  if (count != 7) {
    std::cerr << "usage: bench_quality_eigen SYSTEM X METHOD PRECOND TOLERANCE ITERATIONS\n";
    return 2;
  }
  const System system = read_system(arguments[1]);
  const Limits limits{std::atof(arguments[5]), std::atoll(arguments[6])};
  const Outcome outcome = solve(system, limits, std::string(arguments[3]) + " " + arguments[4]);
  std::ofstream out(arguments[2], std::ios::binary);
  out.write(reinterpret_cast<const char*>(outcome.x.data()),
            static_cast<std::streamsize>(outcome.x.size()) * static_cast<std::streamsize>(sizeof(double)));
  std::cout << outcome.iterations << ' ' << (outcome.converged ? "converged" : "not converged") << '\n';
  return out ? 0 : 5;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
