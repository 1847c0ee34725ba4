/// Preconditioners on one device, the host or a GPU: time to a true relative residual of 1e-8, set-up included, with A
/// on the device already. Jacobi and AMG take turns; what others were recorded to take stands beside.
///
///   bench_preconditioners --device cuda --json results.json
///   bench_preconditioners --device cuda --sets weak3d --preconditioners amg
///   bench_preconditioners --problems poisson3d:100 --amg smoother=spai0 --peers eigen
///   bench_preconditioners --matrix bcsstk13.mtx.gz --preconditioners jacobi,poly:4,neumann:3:explicit:1e-2
#include "bench/preconditioner_measure.hpp"
#include "bench/preconditioner_options.hpp"
#include "bench/preconditioner_problems.hpp"
#include "bench/report.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tessera::bench {

namespace {

std::vector<PreconditionerProblem> problems_of(const PreconditionerSettings& settings) {
  std::vector<std::string> specs = settings.problems;
  if (specs.empty() && settings.files.empty()) {
    for (const std::string& set : settings.sets) {
      for (std::string& spec : problem_set(set)) specs.push_back(std::move(spec));
    }
  }
  std::vector<PreconditionerProblem> problems;
  for (const std::string& spec : specs) problems.push_back(generated_problem(spec));
  for (const std::string& file : settings.files) problems.push_back(file_problem(file));
  return problems;
}

/// \returns whether AMG converged wherever it was asked to
bool run(const PreconditionerSettings& settings) {
  const Stopwatch watch;
  const Device device = Device::parse(settings.device);
  const std::vector<PreconditionerProblem> problems = problems_of(settings);
  AmgOptions checked;
  set_amg_options(checked, settings.amg);  // unknown keys before anything is measured
  Json report = document("preconditioners");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["device"] = device.name();
  report["tolerance"] = settings.tolerance;
  report["right_side"] =
      "A times ones; of singular matrices A times scattered numbers; of elasticity the same load on every node; the "
      "guess is 0";
  report["clock"] = "wall, with the device idle before and after; A, b and x on the device, its SpMV plan made";
  report["amg_settings"] = settings.amg;
  fmt::print("{}\n", support::device_text(device, Device{}));
  if (!device.is_host()) check_device_generators(device);
  bool all_right = true;
  bool cold = true;
  for (const PreconditionerProblem& problem : problems) {
    if (watch.seconds() > settings.total_seconds) {
      fmt::print("{}: left out after {:.0f} s\n", problem.name, watch.seconds());
      report["left_out"].push_back(problem.name);
      continue;
    }
    try {
      Json result = measure_preconditioners(problem, settings, device, cold);
      for (const Json& row : result["contenders"]) {
        if (row["preconditioner"] == "amg" && !row["pass"].get<bool>()) all_right = false;
      }
      report["problems"].push_back(std::move(result));
    } catch (const Error& error) {
      fmt::print("{}: {}\n", problem.name, error.what());
      report["problems"].push_back({{"problem", problem.name}, {"pass", false}, {"reason", error.what()}});
      all_right = false;
    }
    cold = false;
    report["seconds"] = watch.seconds();
    write(report, settings.json);  // so that a run that is cut short leaves something
  }
  fmt::print("{:.0f} s in all\n", watch.seconds());
  return all_right;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::PreconditionerSettings settings;
  CLI::App app("Time to a true residual with Jacobi and AMG, set-up included");
  app.add_option("--device", settings.device, "host, cuda or cuda:N")->capture_default_str();
  app.add_option("--sets", settings.sets, "Sets of problems: main, quick, weak2d, weak3d")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--problems", settings.problems,
                 "Generators instead of the sets, separated by semicolons: poisson3d:100,points=27;elasticity3d:40")
      ->delimiter(';');
  app.add_option("--matrix", settings.files, "Matrix Market files, symmetric positive definite")
      ->check(CLI::ExistingFile);
  app.add_option("--preconditioners", settings.preconditioners,
                 "jacobi, amg, ic0, fsai:1, fsai:2, fsai:3, spai:0, spai:1, poly:DEG, neumann:K; polynomials with "
                 ":explicit[:TOL]")
      ->delimiter(',')
      ->check(CLI::IsMember({"jacobi", "amg", "ic0", "fsai:1", "fsai:2", "fsai:3", "spai:0", "spai:1"}) |
              CLI::Validator(
                  [](std::string& name) {
                    return tessera::bench::polynomial_of(name) ? std::string() : name + " is none of them";
                  },
                  "POLYNOMIAL"))
      ->capture_default_str();
  app.add_option(
         "--amg", settings.amg,
         "KEY=VALUE: theta, coarsest-rows, max-levels, block, prolongator-damping, power-steps, cycle, smoother, "
         "damping, chebyshev-degree, chebyshev-ratio, sweeps, precision, check; separated by commas")
      ->delimiter(',');
  app.add_option("--peers", settings.peers, "eigen: CG with IncompleteCholesky, on the host")
      ->delimiter(',')
      ->check(CLI::IsMember({"eigen"}));
  app.add_option("--tolerance", settings.tolerance, "Relative to the norm of b")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each, after the first set-up")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", settings.seconds, "For one problem; beyond, there is no further round")
      ->capture_default_str();
  app.add_option("--solve-seconds", settings.solve_seconds, "Most for one solve")->capture_default_str();
  app.add_option("--total-seconds", settings.total_seconds, "Beyond, problems are left out")->capture_default_str();
  app.add_option("--refresh-rows", settings.refresh_rows, "Largest system whose refresh() is measured; 0: none")
      ->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_preconditioners", [&] { return tessera::bench::run(settings); });
}
