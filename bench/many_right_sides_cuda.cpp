/// Several right-hand sides on a GPU. Timed, by the wall clock: k solves to a tolerance at once, in panels that share
/// each product, and one after the other by an IterativeSolver, with every kernel that is named. Both take turns in
/// random order in one process; a solve counts only after every column's residual was found small on the host.
///
///   bench_many_right_sides_cuda --problems "poisson2d:1000;fem3d" --matrix bcsstk16.mtx.gz --json results.json
#include "bench/report.hpp"
#include "bench/solver_problems.hpp"
#include "tessera/error.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  SolverBenchSettings problems;
  int columns = 8;
  double tolerance = 1e-8;
  std::int64_t max_iterations = 20000;
  double seconds = 5.0;
};

/// Right-hand sides, solutions and ways to find them.
class Bench {
 public:
  Bench(const Settings& settings, const Device& device, Csr<double> matrix)
      : settings_(settings),
        host_(std::move(matrix)),
        matrix_(std::make_shared<const Csr<double>>(host_.to(device))),
        jacobi_(matrix_->view(), device),
        identity_(host_.rows(), device),
        b_(Array<double>::copy_of(random_elements(), device)),
        x_(b_.size(), Init::zero, device) {
    options_.relative_tolerance = settings.tolerance;
    options_.max_iterations = settings.max_iterations;
    options_.restart = 30;
  }

  [[nodiscard]] Json measure(IterativeMethod method, bool with_jacobi, const std::string& kernel);

 private:
  [[nodiscard]] std::vector<double> random_elements() const {
    std::mt19937_64 generator(42);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    std::vector<double> elements(static_cast<std::size_t>(std::int64_t{host_.rows()} * settings_.columns));
    for (double& element : elements) element = uniform(generator);
    return elements;
  }
  [[nodiscard]] MultiVectorView<const double> b() const { return {b_.span(), host_.rows(), settings_.columns}; }
  [[nodiscard]] MultiVectorView<double> x() { return {x_.span(), host_.rows(), settings_.columns}; }
  void forget() { detail::zero_bytes(x_.device(), x_.data(), x_.bytes()); }
  /// Largest ‖b - A x‖ / ‖b‖ of the columns, formed on the host.
  [[nodiscard]] double worst_residual() const;

  const Settings& settings_;
  Csr<double> host_;
  std::shared_ptr<const Csr<double>> matrix_;
  JacobiPreconditioner<double> jacobi_;
  IdentityOperator<double> identity_;
  Array<double> b_;
  Array<double> x_;
  SolverOptions options_;
};

double Bench::worst_residual() const {
  const Array<double> b = b_.to(Device{});
  const Array<double> x = x_.to(Device{});
  const CsrView<double> a = host_.view();
  double worst = 0.0;
  for (int j = 0; j < settings_.columns; ++j) {
    const std::int64_t first = std::int64_t{j} * host_.rows();
    double squares = 0.0;
    double b_squares = 0.0;
    for (index_t i = 0; i < a.rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const double wanted = b.data()[first + i];
      double r = wanted;
      for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
        r -= a.value(k) * x.data()[first + a.columns[static_cast<std::size_t>(k)]];
      }
      squares += r * r;
      b_squares += wanted * wanted;
    }
    worst = std::max(worst, std::sqrt(squares / b_squares));
  }
  return worst;
}

Json Bench::measure(IterativeMethod method, bool with_jacobi, const std::string& kernel) {
  SpmvOptions plan_options;
  plan_options.device = matrix_->device();
  plan_options.algorithm = parse_spmv_algorithm(kernel);
  const SpmvPlan<double> plan(matrix_, plan_options);
  const LinearOperator<double>& m = with_jacobi ? static_cast<const LinearOperator<double>&>(jacobi_)
                                                : static_cast<const LinearOperator<double>&>(identity_);
  IterativeSolver<double> solver(method, plan, m, options_);
  std::vector<SolveReport> apart;
  std::vector<SolveReport> together;
  const auto one_by_one = [&] {
    apart.clear();
    for (int j = 0; j < settings_.columns; ++j) apart.push_back(solver.solve(b().column(j), x().column(j)));
  };
  const auto at_once = [&] { together = solve_columns<double>(method, plan, m, b(), x(), options_); };

  Json row{{"method", to_string(method)},
           {"preconditioner", with_jacobi ? "jacobi" : "none"},
           {"kernel", to_string(plan.info().algorithm)},
           {"columns", settings_.columns}};
  bool right = true;
  for (const bool is_together : {false, true}) {
    forget();
    is_together ? at_once() : one_by_one();
    const double residual = worst_residual();
    row[is_together ? "together_residual" : "apart_residual"] = residual;
    right = right && residual <= 1.001 * settings_.tolerance;
  }
  Json iterations = Json::array();
  for (std::size_t j = 0; j < apart.size(); ++j) iterations.push_back({apart[j].iterations, together[j].iterations});
  row["iterations"] = iterations;
  row["pass"] = right;
  const std::string title = fmt::format("  {:8} {:6} {:10}", row["method"].get<std::string>(),
                                        row["preconditioner"].get<std::string>(), row["kernel"].get<std::string>());
  if (!right) {
    row["reason"] = "the residual is above the tolerance";
    fmt::print("{} NOT SOLVED: {} / {}\n", title, apart.front().reason, together.front().reason);
    return row;
  }
  TimingOptions timing;
  timing.warmup = 1;
  timing.max_seconds = settings_.seconds;
  timing.min_seconds = settings_.seconds / 4.0;
  const std::vector<TimingCandidate> candidates{{"one by one", one_by_one, [this] { forget(); }},
                                                {"together", at_once, [this] { forget(); }}};
  const TimingSamples samples = time_interleaved(candidates, timing);
  row["apart"] = json_of(summarise(samples[0]));
  row["together"] = json_of(summarise(samples[1]));
  add_speedup(row, "one by one", samples[0], samples[1]);
  const auto most = std::max_element(together.begin(), together.end(), [](const SolveReport& a, const SolveReport& b) {
    return a.iterations < b.iterations;
  });
  const auto panel_iterations = static_cast<double>(std::max<std::int64_t>(1, most->iterations));
  row["together_us_per_iteration"] = 1e3 * summarise(samples[1]).median / panel_iterations;
  fmt::print("{} {:9.3f} ms one by one, {:9.3f} ms together ({} iterations, {:.2f} us each){}\n", title,
             summarise(samples[0]).median, summarise(samples[1]).median, most->iterations,
             row["together_us_per_iteration"].get<double>(), speedup_text(row));
  std::fflush(stdout);
  return row;
}

[[nodiscard]] IterativeMethod method_named(const std::string& name) {
  if (name == "gmres") return IterativeMethod::gmres;
  return name == "cg" ? IterativeMethod::cg : IterativeMethod::bicgstab;
}

bool run(const Settings& settings) {
  const Device device = Device::parse(settings.problems.device);
  if (device.is_host()) throw InvalidArgument("bench_many_right_sides_cuda needs --device cuda or cuda:N");
  const std::vector<SolverProblem> problems = iteration_problems(settings.problems);
  Json report = document("many_right_sides_cuda");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["results"] = Json::array();
  fmt::print("{}\n", support::device_text(device, Device{}));
  bool all_right = true;
  for (const SolverProblem& problem : problems) {
    Csr<double> matrix = problem.make();
    fmt::print("{}: {} rows, {} nonzeros, {} columns\n", problem.name, matrix.rows(), matrix.nnz(), settings.columns);
    Json result{{"problem", problem.name}, {"rows", matrix.rows()}, {"nonzeros", matrix.nnz()}};
    result["solves"] = Json::array();
    Bench bench(settings, device, std::move(matrix));
    for (const std::string& method : settings.problems.methods) {
      for (const std::string& preconditioner : settings.problems.preconditioners) {
        for (const std::string& kernel : settings.problems.kernels) {
          Json row = bench.measure(method_named(method), preconditioner == "jacobi", kernel);
          all_right = all_right && row["pass"].get<bool>();
          result["solves"].push_back(std::move(row));
        }
      }
    }
    report["results"].push_back(std::move(result));
    write(report, settings.problems.json);
  }
  return all_right;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  tessera::bench::SolverBenchSettings& problems = settings.problems;
  problems.problems = {"poisson2d:1000", "fem3d"};
  problems.kernels = {"auto", "merbit", "csr-vector"};
  problems.methods = {"cg", "bicgstab"};
  problems.preconditioners = {"jacobi"};
  CLI::App app("Several right-hand sides at once on a GPU, against one after the other");
  app.add_option(
         "--problems", problems.problems,
         "Systems: lap2d, fem3d, convdiff3d or generators such as poisson2d:300, separated by semicolons; or none")
      ->delimiter(';')
      ->capture_default_str();
  app.add_option("--matrix", problems.files, "Matrix Market files; default: some of the folder TESSERA_TEST_DATA")
      ->check(CLI::ExistingFile);
  app.add_option("--kernels", problems.kernels, "Kernels of the product")->delimiter(',')->capture_default_str();
  app.add_option("--methods", problems.methods, "cg, bicgstab, gmres (of 30 directions)")
      ->delimiter(',')
      ->check(CLI::IsMember({"cg", "bicgstab", "gmres"}))
      ->capture_default_str();
  app.add_option("--preconditioners", problems.preconditioners, "none, jacobi")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "jacobi"}))
      ->capture_default_str();
  app.add_option("--columns", settings.columns, "Right-hand sides")->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--rtol", settings.tolerance, "Relative tolerance of every column")->capture_default_str();
  app.add_option("--max-iters", settings.max_iterations, "Limit of iterations")->capture_default_str();
  app.add_option("--seconds", settings.seconds, "For the samples of one row, at most")->capture_default_str();
  app.add_option("--scale", problems.scale, "Part of the full number of rows of large systems")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--device", problems.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", problems.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_many_right_sides_cuda", [&] { return tessera::bench::run(settings); });
}
