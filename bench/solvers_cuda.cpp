/// Solvers on a GPU. Timed, with every SpMV kernel: an iteration of CG, BiCGSTAB, GMRES(30) and IDR(4); whole solves
/// with set-up; BiCGSTAB on matrices of ones and PageRank as in MERBIT, §5.5. Compared with: loops written by hand on
/// cuSPARSE and cuBLAS, in the same process. All take turns; only what was found right is timed.
///
///   bench_solvers_cuda --json results.json
///   bench_solvers_cuda --parts converge --problems poisson2d:2500 --kernels auto,merbit --matrix bcsstk16.mtx.gz
#include "bench/krylov_measure.hpp"
#include "bench/pagerank_measure.hpp"
#include "bench/report.hpp"
#include "bench/solver_problems.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

class Bench {
 public:
  explicit Bench(SolverBenchSettings settings)
      : settings_(std::move(settings)), device_(Device::parse(settings_.device)), copy_(copied_bytes, gpu(device_)) {}

  /// \returns whether every result was right
  bool run();

 private:
  /// \throws InvalidArgument for the host
  static const Device& gpu(const Device& device);

  void wake_up();
  void iterations(const std::vector<SolverProblem>& problems);
  void to_tolerance(const std::vector<SolverProblem>& problems);
  void ones(const std::vector<SolverProblem>& problems);
  void ranks(const std::vector<SolverProblem>& problems);
  [[nodiscard]] std::vector<KrylovTask> tasks_of(const KrylovContenders& contenders, const KrylovSystem& system,
                                                 const std::vector<std::string>& preconditioners) const;
  /// A problem that cannot be made or does not fit is noted, and the others go on.
  template <class Measure>
  void each(const std::string& part, const std::vector<SolverProblem>& problems, Measure measure);
  void add(const std::string& part, Json result);

  SolverBenchSettings settings_;
  Device device_;
  compare::CopyYardstick copy_;
  Stopwatch watch_;
  Json report_ = document("solvers_cuda");
  bool all_right_ = true;
};

const Device& Bench::gpu(const Device& device) {
  if (device.is_host()) {
    throw InvalidArgument("bench_solvers measures the host; this program needs --device cuda or cuda:N");
  }
  return device;
}

bool Bench::run() {
  // All names are understood before anything is measured.
  const std::vector<SolverProblem> systems = iteration_problems(settings_);
  const std::vector<SolverProblem> whole = tolerance_problems(settings_);
  const std::vector<SolverProblem> of_ones = ones_problems(settings_);
  const std::vector<SolverProblem> graphs = graph_problems(settings_);
  report_["machine"]["gpu"] = support::gpu_json(device_);
  report_["tessera"]["cuda_toolkit"] = build_info().cuda;
  report_["baseline"] =
      "hand-written fp64 loops: cusparseSpMV CSR ALG1 with preprocess, cuBLAS with device pointers; the residual is "
      "brought to the host in every iteration, in hand-written/8 in every eighth; GMRES(30) by classical Gram-Schmidt "
      "twice with cublasDgemv, a column of H brought to the host in every iteration";
  fmt::print("{}\n", support::device_text(device_, Device{}));
  wake_up();
  if (is_wanted(settings_.parts, "krylov")) iterations(systems);
  if (is_wanted(settings_.parts, "converge")) to_tolerance(whole);
  if (is_wanted(settings_.parts, "paper-bicgstab")) ones(of_ones);
  if (is_wanted(settings_.parts, "pagerank")) ranks(graphs);
  fmt::print("{:.0f} s in all{}\n", watch_.seconds(), all_right_ ? "" : "; SOME RESULTS WERE WRONG");
  return all_right_;
}

/// Libraries are loaded and handles made before a set-up is timed.
void Bench::wake_up() {
  Csr<double> small = poisson2d<double>(40, 40);
  std::vector<double> b = scattered_right_side(small.rows());
  KrylovSystem system("wake-up", std::move(small), std::move(b), device_);
  KrylovContenders contenders(system, settings_);
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres}) {
    for (const KrylovContender& contender : contenders.of({method, true})) {
      if (contender.refusal.empty()) {
        static_cast<void>(contender.solve(10, 0.0));
      } else if (method == KrylovMethod::cg) {
        fmt::print("{}: {}\n", contender.name, contender.refusal);
      }
    }
  }
  synchronize(device_);
}

std::vector<KrylovTask> Bench::tasks_of(const KrylovContenders& contenders, const KrylovSystem& system,
                                        const std::vector<std::string>& preconditioners) const {
  std::vector<KrylovTask> tasks;
  for (const KrylovMethod method : {KrylovMethod::cg, KrylovMethod::bicgstab, KrylovMethod::gmres, KrylovMethod::idr}) {
    const bool is_standard = method == KrylovMethod::cg || method == KrylovMethod::bicgstab;
    if (settings_.methods.empty() ? !is_standard : !is_wanted(settings_.methods, to_string(method))) continue;
    if (method == KrylovMethod::cg && !system.may_be_positive_definite()) continue;
    if (is_wanted(preconditioners, "none") || !contenders.has_jacobi()) tasks.push_back({method, false});
    if (is_wanted(preconditioners, "jacobi") && contenders.has_jacobi()) tasks.push_back({method, true});
  }
  return tasks;
}

template <class Measure>
void Bench::each(const std::string& part, const std::vector<SolverProblem>& problems, Measure measure) {
  for (const SolverProblem& problem : problems) {
    try {
      measure(problem);
    } catch (const Error& error) {
      fmt::print("{}: {}\n", problem.name, error.what());
      add(part, {{"problem", problem.name}, {"pass", false}, {"reason", error.what()}});
    }
  }
}

void Bench::add(const std::string& part, Json result) {
  if (result.contains("pass") && !result["pass"].get<bool>()) all_right_ = false;
  if (result.contains("solvers")) {
    for (const Json& row : result["solvers"]) {
      const bool by_hand = row["solver"] == hand_written_name || row["solver"] == batched_name;
      if (!by_hand && !row["pass"].get<bool>()) all_right_ = false;
    }
  }
  report_[part].push_back(std::move(result));
  report_["seconds"] = watch_.seconds();
  write(report_, settings_.json);  // so that a run that is cut short leaves something
}

void Bench::iterations(const std::vector<SolverProblem>& problems) {
  each("per_iteration", problems, [this](const SolverProblem& problem) {
    Csr<double> matrix = problem.make();
    std::vector<double> b = scattered_right_side(matrix.rows());
    KrylovSystem system(problem.name, std::move(matrix), std::move(b), device_);
    KrylovContenders contenders(system, settings_);
    for (const KrylovTask& task : tasks_of(contenders, system, settings_.preconditioners)) {
      add("per_iteration", measure_iterations(contenders, task, settings_, copy_));
    }
  });
}

void Bench::to_tolerance(const std::vector<SolverProblem>& problems) {
  SetupTable table;
  const std::vector<std::string> jacobi{"jacobi"};
  const std::vector<std::string>& wanted = settings_.preconditioners.empty() ? jacobi : settings_.preconditioners;
  each("to_tolerance", problems, [&](const SolverProblem& problem) {
    Csr<double> matrix = problem.make();
    std::vector<double> b = scattered_right_side(matrix.rows());
    KrylovSystem system(problem.name, std::move(matrix), std::move(b), device_);
    KrylovContenders contenders(system, settings_);
    for (const KrylovTask& task : tasks_of(contenders, system, wanted)) {
      add("to_tolerance", measure_to_tolerance(contenders, task, {}, settings_, table));
    }
  });
  table.print("ms to a relative residual of 1e-8 (of it set-up)");
}

void Bench::ones(const std::vector<SolverProblem>& problems) {
  SetupTable table;
  each("paper_bicgstab", problems, [&](const SolverProblem& problem) {
    Csr<double> matrix = problem.make();
    std::vector<double> b = row_sums(matrix);
    KrylovSystem system(problem.name, std::move(matrix), std::move(b), device_);
    KrylovContenders contenders(system, settings_);
    add("paper_bicgstab", measure_to_tolerance(contenders, {KrylovMethod::bicgstab, false}, {}, settings_, table));
  });
  table.print("ms of BiCGSTAB on matrices of ones to 1e-8 (of it set-up)");
}

void Bench::ranks(const std::vector<SolverProblem>& problems) {
  SetupTable table;
  each("pagerank", problems, [&](const SolverProblem& problem) {
    add("pagerank", measure_pagerank(problem.name, problem.make(), device_, settings_, copy_, table));
  });
  table.print("ms of 200 iterations of PageRank (of it set-up)");
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::SolverBenchSettings settings;
  CLI::App app("Solvers on a GPU against loops written by hand on cuSPARSE and cuBLAS");
  app.add_option("--parts", settings.parts,
                 "krylov (time per iteration), converge (time to 1e-8), paper-bicgstab (matrices of ones), pagerank")
      ->delimiter(',')
      ->check(CLI::IsMember({"krylov", "converge", "paper-bicgstab", "pagerank"}))
      ->capture_default_str();
  app.add_option("--problems", settings.problems,
                 "Systems of krylov and converge: lap2d, fem3d, convdiff3d or generators such as "
                 "poisson2d:300, with :uneven behind it scaled by random numbers from both sides, separated by "
                 "semicolons; or none")
      ->delimiter(';');
  app.add_option("--graphs", settings.graphs,
                 "Graphs of pagerank: generators such as rmat, web, road:1e6, separated by semicolons; or none")
      ->delimiter(';');
  app.add_option("--matrix", settings.files,
                 "Matrix Market files for all parts; default: some of the folder TESSERA_TEST_DATA")
      ->check(CLI::ExistingFile);
  app.add_option("--kernels", settings.kernels, "Tessera's SpMV kernels; default: all")
      ->delimiter(',')
      ->check(CLI::IsMember({"auto", "merbit", "csr5", "merge", "csr-vector", "tiles", "patterns", "sell", "blocked",
                             "vendor-csr", "vendor-coo"}));
  app.add_option("--methods", settings.methods,
                 "cg, bicgstab, gmres (of 30 directions), idr; default: those of the first two that suit the matrix")
      ->delimiter(',')
      ->check(CLI::IsMember({"cg", "bicgstab", "gmres", "idr"}));
  app.add_option("--preconditioners", settings.preconditioners,
                 "none, jacobi; default: both, for time to 1e-8 jacobi alone")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "jacobi"}));
  app.add_option("--scale", settings.scale, "Part of the full number of rows of large systems and graphs")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each; default: by size and time")
      ->check(CLI::Range(1, 100000));
  app.add_option("--iterations", settings.iterations, "Iterations between the short solve and the long one")
      ->check(CLI::Range(8, 100000))
      ->capture_default_str();
  app.add_option("--seconds", settings.seconds,
                 "For the whole solves of one problem; beyond, kernels are left out. PageRank takes more")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_solvers_cuda", [&] { return tessera::bench::Bench(settings).run(); });
}
