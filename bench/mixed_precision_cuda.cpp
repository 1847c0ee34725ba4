/// Mixed precision on a GPU: CG to a true residual of 1e-10 in double precision, and in single precision with residuals
/// in double (tessera/mixed_precision.hpp), in turn, with the kernels that `auto` takes. Set-up is timed beside.
///
///   bench_mixed_precision_cuda --json results.json
///   bench_mixed_precision_cuda --problems "poisson2d:1000;poisson3d:100" --matrix bcsstk16.mtx.gz
#include "bench/report.hpp"
#include "bench/solver_problems.hpp"
#include "bench/uneven_scaling.hpp"
#include "core/stopwatch.hpp"
#include "tessera/context.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/mixed_precision.hpp"
#include "tessera/preconditioner.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::string> problems{"poisson2d:3200", "poisson3d:215", "poisson3d:140:27"};
  std::vector<std::string> files;
  std::vector<std::string> preconditioners{"none", "jacobi"};
  double tolerance = 1e-10;
  bool uneven = false;
  int rounds = 3;
  std::string device = "cuda";
  std::string json;
};

/// Plans and preconditioners in one precision.
template <class T>
struct Side {
  SpmvPlan<T> plan;
  std::unique_ptr<LinearOperator<T>> m;

  Side(Csr<T> matrix, bool jacobi, const Device& device) : plan(std::move(matrix), SpmvOptions{.device = device}) {
    if (jacobi) {
      m = std::make_unique<JacobiPreconditioner<T>>(plan.matrix(), device);
    } else {
      m = std::make_unique<IdentityOperator<T>>(plan.rows(), device);
    }
  }
};

template <class T>
[[nodiscard]] std::pair<std::unique_ptr<Side<T>>, double> timed_side(Csr<T> matrix, bool jacobi, const Device& device) {
  const Stopwatch timer;
  auto side = std::make_unique<Side<T>>(std::move(matrix), jacobi, device);
  synchronize(device);
  return {std::move(side), timer.milliseconds()};
}

[[nodiscard]] Json json_of_solve(const SolveReport& report, const std::vector<double>& ms) {
  return {{"status", to_string(report.status)},
          {"iterations", report.iterations},
          {"relative_residual", report.true_residual / report.b_norm},
          {"reason", report.reason},
          {"time", json_of(summarise(ms))}};
}

[[nodiscard]] Json measure(const std::string& name, const Csr<double>& matrix, bool jacobi, const Settings& settings,
                           const Device& device) {
  const Stopwatch rounding;
  SingleMatrix single = single_matrix(matrix);
  const double rounding_ms = rounding.milliseconds();
  const bool is_exact = single.is_exact;
  const int exponent = single.exponent;
  const auto [in_double, double_setup_ms] = timed_side<double>(Csr<double>::copy_of(matrix.view()), jacobi, device);
  const auto [in_single, single_setup_ms] = timed_side<float>(std::move(single.matrix), jacobi, device);
  const std::int64_t n = matrix.rows();
  std::vector<double> elements(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::sin(0.37 * static_cast<double>(i + 1));
  const auto b = Array<double>::copy_of(elements, device);
  Array<double> x(n, Init::zero, device);

  SolverOptions options;
  options.relative_tolerance = settings.tolerance;
  options.max_iterations = 200000;
  IterativeSolver<double> whole(IterativeMethod::cg, in_double->plan, *in_double->m, options);
  MixedPrecisionSolver mixed(IterativeMethod::cg, in_double->plan, in_single->plan, *in_single->m, options, exponent);
  const WidenedPlan widened(in_single->plan, exponent);
  MixedPrecisionSolver one_copy(IterativeMethod::cg, widened, in_single->plan, *in_single->m, options, exponent);

  std::vector<double> whole_ms;
  std::vector<double> mixed_ms;
  std::vector<double> one_copy_ms;
  SolveReport report;
  MixedSolveReport mixed_report;
  MixedSolveReport one_copy_report;
  const std::vector<double> zero(elements.size(), 0.0);
  const auto timed = [&](auto& solver, auto& into, std::vector<double>& ms, bool counts) {
    x = Array<double>::copy_of(zero, device);
    synchronize(device);
    const Stopwatch timer;
    into = solver.solve(b.span(), x.span());
    synchronize(device);
    if (counts) ms.push_back(timer.milliseconds());
  };
  for (int round = 0; round <= settings.rounds; ++round) {
    timed(whole, report, whole_ms, round > 0);
    timed(mixed, mixed_report, mixed_ms, round > 0);
    if (is_exact) timed(one_copy, one_copy_report, one_copy_ms, round > 0);
  }

  Json row{{"problem", name},
           {"preconditioner", jacobi ? "jacobi" : "none"},
           {"rows", n},
           {"nonzeros", matrix.nnz()},
           {"exact_in_fp32", is_exact},
           {"fp64", json_of_solve(report, whole_ms)},
           {"mixed", json_of_solve(mixed_report, mixed_ms)},
           {"pass", report.converged() && mixed_report.converged()}};
  row["fp64"]["kernel"] = to_string(in_double->plan.info().algorithm);
  row["fp64"]["setup_ms"] = double_setup_ms;
  row["mixed"]["kernel"] = to_string(in_single->plan.info().algorithm);
  row["mixed"]["setup_ms"] = double_setup_ms + single_setup_ms + rounding_ms;
  row["mixed"]["single_iterations"] = mixed_report.single_iterations;
  row["mixed"]["double_iterations"] = mixed_report.double_iterations;
  row["mixed"]["double_products"] = mixed_report.double_products;
  row["mixed"]["fallback"] = mixed_report.fallback;
  row["mixed"]["speedup"] = json_of(median_ratio(whole_ms, mixed_ms));
  fmt::print("{:<22} {:<6} fp64 {:>7} it {:>9.2f} ms {:<10} mixed {:>7} it {:>9.2f} ms {:<10} {:5.2f}x  {:.1e} {:.1e}",
             name, jacobi ? "jacobi" : "none", report.iterations, summarise(whole_ms).median,
             to_string(in_double->plan.info().algorithm), mixed_report.iterations, summarise(mixed_ms).median,
             to_string(in_single->plan.info().algorithm), median_ratio(whole_ms, mixed_ms).ratio,
             report.true_residual / report.b_norm, mixed_report.true_residual / mixed_report.b_norm);
  if (is_exact) {
    row["one_copy"] = json_of_solve(one_copy_report, one_copy_ms);
    row["one_copy"]["setup_ms"] = single_setup_ms + rounding_ms;
    row["one_copy"]["speedup"] = json_of(median_ratio(whole_ms, one_copy_ms));
    fmt::print("  one copy {} it {:.2f} ms", one_copy_report.iterations, summarise(one_copy_ms).median);
  }
  fmt::print("{}\n", mixed_report.fallback.empty() ? "" : "  fallback: " + mixed_report.fallback);
  return row;
}

/// "poisson3d:140:27" has the stencil of 27 points.
[[nodiscard]] Csr<double> make(const std::string& name) {
  const std::string suffix = ":27";
  const bool has_points = name.ends_with(suffix) && name.find(':') != name.size() - suffix.size();
  GeneratorSpec spec = parse_generator(has_points ? name.substr(0, name.size() - suffix.size()) : name);
  if (has_points) spec.parameters["points"] = 27;
  return generate<double>(spec, ValueStorage::weighted);
}

bool run(const Settings& settings) {
  const Device device = Device::parse(settings.device);
  Json report = document("mixed_precision_cuda");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["relative_tolerance"] = settings.tolerance;
  fmt::print("{}\n", support::device_text(device, Device{}));
  bool all_right = true;
  const auto add = [&](const std::string& name, const auto& make_matrix) {
    try {
      const Csr<double> matrix = make_matrix();
      for (const std::string& m : settings.preconditioners) {
        report["solves"].push_back(measure(name, matrix, m == "jacobi", settings, device));
        all_right = all_right && report["solves"].back()["pass"].get<bool>();
        write(report, settings.json);
      }
    } catch (const Error& error) {
      fmt::print("{}: {}\n", name, error.what());
      all_right = false;
    }
  };
  for (const std::string& name : settings.problems) {
    if (settings.uneven) {
      add(name + " uneven", [&] { return scaled_unevenly(make(name)); });
    } else {
      add(name, [&] { return make(name); });
    }
  }
  for (const std::string& file : settings.files) {
    const std::string name = std::filesystem::path(file).filename().string();
    add(name.substr(0, name.find('.')), [&] { return read_matrix_market<double>(file).matrix; });
  }
  return all_right;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("CG in mixed precision against CG in double precision on a GPU");
  app.add_option("--problems", settings.problems,
                 "Generators such as poisson2d:3200, or poisson3d:140:27 for 27 points, separated by semicolons")
      ->delimiter(';')
      ->capture_default_str();
  app.add_flag("--uneven", settings.uneven, "Scale these systems from both sides by random numbers from 1/2 to 2");
  app.add_option("--matrix", settings.files, "Matrix Market files, symmetric positive definite")
      ->check(CLI::ExistingFile);
  app.add_option("--preconditioners", settings.preconditioners, "none, jacobi")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "jacobi"}));
  app.add_option("--rtol", settings.tolerance, "Relative tolerance of ||b - A x||")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_mixed_precision_cuda", [&] { return tessera::bench::run(settings); });
}
