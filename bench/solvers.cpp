/// Solvers on the host. Timed: an iteration of CG and BiCGSTAB with Jacobi on Poisson 2D (a long solve less a short
/// one), and whole solves to a relative residual of 1e-8. Compared with: Eigen's solvers with the same preconditioner,
/// in the same run, with the residual that both really reached.
///
///   bench_solvers --grid 2048 --json results.json
#include "tessera/solvers.hpp"
#include "bench/report.hpp"
#include "tessera/eigen.hpp"
#include "tessera/generators.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>
#include <Eigen/IterativeLinearSolvers>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {

namespace {

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using EigenCg =
    Eigen::ConjugateGradient<EigenMatrix, Eigen::Lower | Eigen::Upper, Eigen::DiagonalPreconditioner<double>>;
using EigenBicgstab = Eigen::BiCGSTAB<EigenMatrix, Eigen::DiagonalPreconditioner<double>>;

struct Settings {
  std::int64_t grid = 2048;
  std::int64_t small_grid = 400;
  int iterations = 40;
  int rounds = 7;
  std::string json;
};

enum class Method { cg, bicgstab };

std::string name_of(Method method) { return method == Method::cg ? "cg" : "bicgstab"; }

/// One system, ready for every solver.
struct System {
  explicit System(Csr<double> matrix)
      : a(std::make_shared<const Csr<double>>(std::move(matrix))),
        jacobi(a->view()),
        eigen(to_eigen(a->view())),
        b(static_cast<std::size_t>(a->rows())),
        eigen_b(a->rows()) {
    for (index_t i = 0; i < a->rows(); ++i) {
      const double value = static_cast<double>(static_cast<std::uint32_t>(i) * 2654435761U >> 8) * 0x1p-24 - 0.5;
      b[static_cast<std::size_t>(i)] = value;
      eigen_b[i] = value;
    }
  }

  [[nodiscard]] double residual(const double* x) const {
    const Eigen::Map<const Eigen::VectorXd> solution(x, eigen_b.size());
    return (eigen_b - eigen * solution).norm() / eigen_b.norm();
  }

  std::shared_ptr<const Csr<double>> a;
  JacobiPreconditioner<double> jacobi;
  EigenMatrix eigen;
  std::vector<double> b;
  Eigen::VectorXd eigen_b;
};

/// A solver under test: solves from zero within `iterations` or to `tolerance`, and says how many it took.
struct Contender {
  std::string name;
  std::function<std::int64_t(std::int64_t iterations, double tolerance)> solve;
  std::function<const double*()> solution;
  double setup_ms = 0.0;
};

template <class EigenSolver>
Contender eigen_contender(const System& system) {
  auto solver = std::make_shared<EigenSolver>();
  solver->compute(system.eigen);
  auto x = std::make_shared<Eigen::VectorXd>(Eigen::VectorXd::Zero(system.eigen_b.size()));
  return {"Eigen",
          [solver, x, &system](std::int64_t iterations, double tolerance) {
            solver->setMaxIterations(static_cast<Eigen::Index>(iterations));
            solver->setTolerance(tolerance);
            *x = solver->solve(system.eigen_b);
            return static_cast<std::int64_t>(solver->iterations());
          },
          [x] { return x->data(); }};
}

Contender tessera_contender(const System& system, Method method, SpmvAlgorithm algorithm) {
  SpmvOptions spmv;
  spmv.algorithm = algorithm;
  spmv.determinism = Determinism::gpu_to_gpu;
  auto plan = std::make_shared<SpmvPlan<double>>(system.a, spmv);
  auto x = std::make_shared<std::vector<double>>(system.b.size());
  return {std::string(to_string(algorithm)),
          [plan, x, &system, method](std::int64_t iterations, double tolerance) {
            SolverOptions options;
            options.max_iterations = iterations;
            options.relative_tolerance = tolerance;
            std::fill(x->begin(), x->end(), 0.0);
            const SolveReport report = method == Method::cg
                                           ? cg<double>(*plan, system.jacobi, system.b, *x, options)
                                           : bicgstab<double>(*plan, system.jacobi, system.b, *x, options);
            return report.iterations;
          },
          [x] { return x->data(); }, plan->info().build_ms};
}

std::vector<Contender> contenders(const System& system, Method method) {
  std::vector<Contender> list;
  list.push_back(method == Method::cg ? eigen_contender<EigenCg>(system) : eigen_contender<EigenBicgstab>(system));
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    list.push_back(tessera_contender(system, method, algorithm));
  }
  return list;
}

/// The long solve does `iterations` more than the short one: start and end of a solve cancel in the difference.
constexpr std::int64_t short_solve = 5;
constexpr double unreachable = 1e-300;

Json per_iteration(const System& system, Method method, const Settings& settings) {
  const std::vector<Contender> list = contenders(system, method);
  std::vector<TimingCandidate> candidates;
  for (const Contender& each : list) {
    candidates.push_back({each.name, [&] { (void)each.solve(short_solve, unreachable); }, {}});
    candidates.push_back({each.name, [&] { (void)each.solve(short_solve + settings.iterations, unreachable); }, {}});
  }
  TimingOptions timing;
  timing.warmup = 1;
  timing.min_rounds = timing.max_rounds = settings.rounds;
  const TimingSamples samples = time_interleaved(candidates, timing);
  std::vector<std::vector<double>> iteration(list.size());
  for (std::size_t s = 0; s < list.size(); ++s) {
    for (std::size_t round = 0; round < samples[2 * s].size(); ++round) {
      iteration[s].push_back((samples[2 * s + 1][round] - samples[2 * s][round]) / settings.iterations);
    }
  }
  Json rows = Json::array();
  fmt::print("{} per iteration, {} unknowns, {} nonzeros\n", name_of(method), system.a->rows(), system.a->nnz());
  for (std::size_t s = 0; s < list.size(); ++s) {
    const TimingSummary summary = summarise(iteration[s]);
    const TimingRatio speedup = median_ratio(iteration[0], iteration[s]);
    const double residual = system.residual(list[s].solution());
    rows.push_back({{"solver", list[s].name},
                    {"setup_ms", list[s].setup_ms},
                    {"per_iteration", json_of(summary)},
                    {"speedup_over_eigen", json_of(speedup)},
                    {"relative_residual_after_last_run", residual}});
    fmt::print("  {:8} ({:6.2f} ms) {:8.3f} ms  {:5.2f}x [{:.2f}, {:.2f}]   residual {:.2e}\n", list[s].name,
               list[s].setup_ms, summary.median, speedup.ratio, speedup.low, speedup.high, residual);
  }
  return {{"method", name_of(method)},
          {"unknowns", system.a->rows()},
          {"nonzeros", system.a->nnz()},
          {"iterations_timed", settings.iterations},
          {"solvers", rows}};
}

Json to_tolerance(const System& system, const std::string& problem, Method method, int rounds) {
  constexpr double tolerance = 1e-8;
  constexpr std::int64_t enough = 100000;
  const std::vector<Contender> list = contenders(system, method);
  std::vector<std::int64_t> iterations(list.size());
  std::vector<TimingCandidate> candidates;
  for (std::size_t s = 0; s < list.size(); ++s) {
    candidates.push_back({list[s].name, [&, s] { iterations[s] = list[s].solve(enough, tolerance); }, {}});
  }
  TimingOptions timing;
  timing.warmup = 1;
  timing.min_rounds = timing.max_rounds = rounds;
  const TimingSamples samples = time_interleaved(candidates, timing);
  Json rows = Json::array();
  fmt::print("{} to {:g}, {}, {} unknowns\n", name_of(method), tolerance, problem, system.a->rows());
  for (std::size_t s = 0; s < list.size(); ++s) {
    const TimingSummary summary = summarise(samples[s]);
    const TimingRatio speedup = median_ratio(samples[0], samples[s]);
    const double residual = system.residual(list[s].solution());
    rows.push_back({{"solver", list[s].name},
                    {"setup_ms", list[s].setup_ms},
                    {"solve", json_of(summary)},
                    {"iterations", iterations[s]},
                    {"relative_residual", residual},
                    {"speedup_over_eigen", json_of(speedup)}});
    fmt::print("  {:8} ({:6.2f} ms) {:9.2f} ms {:6} iterations  {:5.2f}x   residual {:.2e}\n", list[s].name,
               list[s].setup_ms, summary.median, iterations[s], speedup.ratio, residual);
  }
  return {{"problem", problem}, {"method", name_of(method)}, {"unknowns", system.a->rows()}, {"solvers", rows}};
}

void run(const Settings& settings) {
  Json report = document("solvers");
  report["baseline"] = fmt::format(
      "Eigen {}.{}.{}, ConjugateGradient<RowMajor, Lower|Upper> and BiCGSTAB, DiagonalPreconditioner, "
      "{} threads",
      EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, Eigen::nbThreads());
  {
    const System poisson(poisson2d<double>(settings.grid, settings.grid));
    for (const Method method : {Method::cg, Method::bicgstab}) {
      report["per_iteration"].push_back(per_iteration(poisson, method, settings));
    }
  }
  const System poisson(poisson2d<double>(settings.small_grid, settings.small_grid));
  report["to_tolerance"].push_back(to_tolerance(poisson, "poisson2d", Method::cg, settings.rounds));
  const System convection(
      convection_diffusion<double>(settings.small_grid, settings.small_grid, 1, Peclet{0.5, 0.25, 0.0}));
  report["to_tolerance"].push_back(to_tolerance(convection, "convdiff", Method::bicgstab, settings.rounds));
  write(report, settings.json);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("CG and BiCGSTAB against Eigen's");
  app.add_option("--grid", settings.grid, "Points a side of the large Poisson problem")->capture_default_str();
  app.add_option("--small-grid", settings.small_grid, "Points a side of the problems solved to tolerance")
      ->capture_default_str();
  app.add_option("--iterations", settings.iterations, "Iterations to time")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_solvers", [&] { tessera::bench::run(settings); });
}
