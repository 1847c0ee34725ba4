/// SpMV on the host. Timed: y = A x by every kernel, on matrices of the generated families, weighted and as a pattern.
/// Compared with: Eigen's row-major product and a plain copy in memory. All take turns in random order in one run; a
/// product counts only after it was found right in long double; the set-up stands beside the times.
///
///   bench_spmv --nonzeros 6e6 --json results.json
///   bench_spmv --part .16 --families lap2d:any,lap2d:symmetric,stencil5 --kernels csr,patterns,auto --threads 1
#include "tessera/spmv.hpp"
#include "bench/report.hpp"
#include "bench/zoo.hpp"
#include "compare/measure.hpp"
#include "compare/oracle.hpp"
#include "compare/rows.hpp"
#include "tessera/eigen.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"

#include <CLI/CLI.hpp>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

TimingOptions timing_of_a_family() {
  TimingOptions timing;
  timing.min_rounds = 11;
  timing.max_rounds = 60;
  timing.min_seconds = 1.0;
  timing.max_seconds = 8.0;
  return timing;
}

struct Settings {
  double nonzeros = 6e6;
  std::vector<std::string> families{"lap2d", "fem3d", "rmat", "road", "kmer", "mawi", "web", "band", "rowskew"};
  std::vector<std::string> precisions{"fp64"};
  std::vector<std::string> kernels;  ///< empty: all
  double part = 0.0;                 ///< of make_zoo_matrix(); 0: as many nonzeros
  int threads = 0;                   ///< 0: all
  TimingOptions timing = timing_of_a_family();
  std::string json;
};

template <class T>
struct SpmvProblem {
  std::string name;
  std::shared_ptr<const Csr<T>> weighted;
  std::shared_ptr<const Csr<T>> pattern;
  Eigen::SparseMatrix<T, Eigen::RowMajor, int> eigen;
  Eigen::Matrix<T, Eigen::Dynamic, 1> eigen_x;
  Eigen::Matrix<T, Eigen::Dynamic, 1> eigen_y;
  Array<T> x;
  Array<T> y;
};

/// Rows of a family that hold so many nonzeros, by the mean row length.
std::int64_t rows_for(const std::string& family, double nonzeros) {
  const std::pair<const char*, double> means[] = {{"lap2d", 5.0}, {"fem3d", 26.6}, {"rmat", 15.6},
                                                  {"road", 2.4},  {"kmer", 2.13},  {"mawi", 2.1},
                                                  {"web", 15.3},  {"band", 200.0}, {"rowskew", 24.1}};
  for (const auto& [name, mean] : means) {
    if (family == name) return static_cast<std::int64_t>(nonzeros / mean);
  }
  throw std::runtime_error("unknown family " + family);
}

template <class T>
Csr<T> structure_of(const Csr<T>& matrix) {
  return Csr<T>::pattern(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                         Check::trusted);
}

template <class T>
Csr<T> make_matrix(const std::string& family, const Settings& settings) {
  if (settings.part > 0.0) return with_type<T>(make_zoo_matrix(family, settings.part).matrix);
  return generate<T>(GeneratorSpec{family, rows_for(family, settings.nonzeros)}, ValueStorage::weighted);
}

template <class T>
SpmvProblem<T> make_problem(const std::string& family, const Settings& settings) {
  SpmvProblem<T> problem;
  problem.name = family;
  problem.weighted = std::make_shared<const Csr<T>>(make_matrix<T>(family, settings));
  const Csr<T>& a = *problem.weighted;
  problem.pattern = std::make_shared<const Csr<T>>(structure_of(a));
  problem.eigen = to_eigen(a.view());
  problem.eigen_x.resize(a.cols());
  problem.eigen_y.resize(a.rows());
  problem.x = Array<T>(a.cols());
  problem.y = Array<T>(a.rows());
  for (index_t j = 0; j < a.cols(); ++j) {
    problem.x[j] = static_cast<T>(static_cast<std::uint32_t>(j) * 2654435761U >> 8) * static_cast<T>(0x1p-24);
    problem.eigen_x[j] = problem.x[j];
  }
  return problem;
}

struct Kernel {
  std::string name;
  SpmvAlgorithm algorithm;
  Determinism determinism;
  bool pattern;
};

std::vector<Kernel> kernels(const std::vector<std::string>& names) {
  std::vector<SpmvAlgorithm> algorithms(spmv_algorithms().begin(), spmv_algorithms().end());
  algorithms.push_back(SpmvAlgorithm::automatic);
  if (!names.empty()) {
    algorithms.clear();
    for (const std::string& name : names) algorithms.push_back(parse_spmv_algorithm(name));
  }
  std::vector<Kernel> list;
  for (const bool pattern : {false, true}) {
    for (const SpmvAlgorithm algorithm : algorithms) {
      const std::string name{to_string(algorithm)};
      list.push_back({name, algorithm, Determinism::gpu_to_gpu, pattern});
      if (algorithm == SpmvAlgorithm::merbit) {
        list.push_back({name + " atomic", algorithm, Determinism::not_guaranteed, pattern});
      }
    }
  }
  return list;
}

template <class T>
struct KernelRun {
  Kernel kernel;
  std::unique_ptr<SpmvPlan<T>> plan;
  DualBuffer<T> out;
  bool pass = false;
};

/// The bytes that any product must move: matrix with 32-bit offsets, x and y once.
template <class T>
double least_bytes(const Csr<T>& a) {
  const double per_nonzero = sizeof(index_t) + (a.is_pattern() ? 0.0 : sizeof(T));
  return per_nonzero * static_cast<double>(a.nnz()) + 4.0 * (a.rows() + 1.0) +
         static_cast<double>(sizeof(T)) * (static_cast<double>(a.rows()) + static_cast<double>(a.cols()));
}

template <class T>
std::vector<KernelRun<T>> make_entries(SpmvProblem<T>& problem, const Settings& settings) {
  const compare::ProductOracle weighted = compare::product_oracle<T>(problem.weighted->view(), problem.x.span());
  const compare::ProductOracle pattern = compare::product_oracle<T>(problem.pattern->view(), problem.x.span());
  std::vector<KernelRun<T>> entries;
  for (const Kernel& kernel : kernels(settings.kernels)) {
    const compare::ProductOracle& oracle = kernel.pattern ? pattern : weighted;
    SpmvOptions options;
    options.algorithm = kernel.algorithm;
    options.determinism = kernel.determinism;
    options.device = Device::host(settings.threads);
    std::unique_ptr<SpmvPlan<T>> plan;
    try {
      plan = std::make_unique<SpmvPlan<T>>(kernel.pattern ? problem.pattern : problem.weighted, options);
    } catch (const NotSupported&) {  // by kernels that do not take every matrix
      continue;
    }
    DualBuffer<T> out = plan->make_output();
    std::fill(problem.y.begin(), problem.y.end(), std::numeric_limits<T>::quiet_NaN());
    plan->apply(problem.x.span(), problem.y.span());
    const bool single = compare::deviation<T>(oracle, problem.y.span()).within_bound();
    plan->apply(problem.x.span(), out);
    const bool buffered = compare::deviation<T>(oracle, std::as_const(out).current()).within_bound();
    entries.push_back({kernel, std::move(plan), std::move(out), single && buffered});
  }
  return entries;
}

/// Numbers of the candidates `csr`, with values and as a pattern; 0 without.
template <class T>
std::vector<std::size_t> csr_candidates(const std::vector<KernelRun<T>>& entries) {
  std::vector<std::size_t> result(2, 0);
  std::size_t c = 2;
  for (const KernelRun<T>& entry : entries) {
    if (!entry.pass) continue;
    if (entry.kernel.algorithm == SpmvAlgorithm::csr) result[entry.kernel.pattern ? 1 : 0] = c;
    ++c;
  }
  return result;
}

template <class T>
Json measure(SpmvProblem<T>& problem, compare::CopyYardstick& copy, const Settings& settings) {
  std::vector<KernelRun<T>> entries = make_entries(problem, settings);
  std::vector<TimingCandidate> candidates{
      {"Eigen", [&] { problem.eigen_y.noalias() = problem.eigen * problem.eigen_x; }, {}},
      {"copy", [&] { copy(); }, {}}};
  for (KernelRun<T>& entry : entries) {
    if (!entry.pass) continue;
    candidates.push_back({entry.kernel.name, [&] { entry.plan->apply(problem.x.span(), entry.out); }, {}});
  }
  const TimingSamples samples = time_interleaved(candidates, settings.timing);
  const TimingSummary eigen = summarise(samples[0]);
  const double copy_rate = compare::gbytes_per_second(copy.bytes(), summarise(samples[1]).median);
  const Csr<T>& a = *problem.weighted;
  Json result{{"family", problem.name},
              {"precision", sizeof(T) == 8 ? "fp64" : "fp32"},
              {"rows", a.rows()},
              {"nonzeros", a.nnz()},
              {"copy_gbytes_per_s", copy_rate},
              {"eigen", json_of(eigen)}};
  fmt::print("{:8} {} {:6.1f} M nonzeros  copy {:.1f} GB/s  Eigen {:.2f} ms\n", problem.name,
             sizeof(T) == 8 ? "fp64" : "fp32", 1e-6 * static_cast<double>(a.nnz()), copy_rate, eigen.median);
  const std::vector<std::size_t> references = csr_candidates(entries);
  std::size_t c = 2;
  for (const KernelRun<T>& entry : entries) {
    Json row{{"kernel", entry.kernel.name}, {"pattern", entry.kernel.pattern}, {"pass", entry.pass}};
    if (entry.pass) {
      const TimingSummary summary = summarise(samples[c]);
      const TimingRatio speedup = median_ratio(samples[0], samples[c]);
      const double bytes = least_bytes(entry.kernel.pattern ? *problem.pattern : a);
      const double share = bytes / summary.median * 1e-6 / copy_rate;
      row["time"] = json_of(summary);
      row["speedup_over_eigen"] = json_of(speedup);
      row["least_bytes"] = bytes;
      row["share_of_copy_bandwidth"] = share;
      row["setup_ms"] = entry.plan->info().build_ms;
      row["setup_bytes"] = entry.plan->info().bytes;
      row["reason"] = entry.plan->info().reason;
      if (const std::size_t reference = references[entry.kernel.pattern ? 1 : 0]; reference > 0) {
        const double saved = summarise(samples[reference]).median - summary.median;
        row["speedup_over_csr"] = json_of(median_ratio(samples[reference], samples[c]));
        row["break_even"] = saved > 0.0 ? Json(std::ceil(entry.plan->info().build_ms / saved)) : Json(nullptr);
      }
      fmt::print("  {:15}{:8} ({:7.2f} ms) {:8.2f} ms  {:5.2f}x [{:.2f}, {:.2f}]  {:3.0f} % of copy\n",
                 entry.kernel.name, entry.kernel.pattern ? "pattern" : "", entry.plan->info().build_ms, summary.median,
                 speedup.ratio, speedup.low, speedup.high, 100.0 * share);
      ++c;
    } else {
      fmt::print("  {:15}{:8} FAIL\n", entry.kernel.name, entry.kernel.pattern ? "pattern" : "");
    }
    result["kernels"].push_back(row);
  }
  std::fflush(stdout);
  return result;
}

bool run(const Settings& settings) {
  Json report = document("spmv");
  report["baseline"] = fmt::format("Eigen {}.{}.{}, SparseMatrix<T, RowMajor, int> * vector, {} threads",
                                   EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, Eigen::nbThreads());
  report["threads"] = Device::host(settings.threads).threads();
  report["results"] = Json::array();
  // What the memory of this machine gives.
  compare::CopyYardstick copy(std::uint64_t{1} << 29, Device{});
  for (const std::string& family : settings.families) {
    for (const std::string& precision : settings.precisions) {
      if (precision == "fp32") {
        auto problem = make_problem<float>(family, settings);
        report["results"].push_back(measure(problem, copy, settings));
      } else {
        auto problem = make_problem<double>(family, settings);
        report["results"].push_back(measure(problem, copy, settings));
      }
    }
  }
  write(report, settings.json);
  for (const Json& result : report["results"]) {
    for (const Json& row : result["kernels"]) {
      if (!row["pass"].get<bool>()) return false;
    }
  }
  return true;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("SpMV kernels against Eigen over the matrix families");
  app.add_option("--nonzeros", settings.nonzeros, "Nonzeros of each matrix, about")->capture_default_str();
  app.add_option("--families", settings.families, "Families to measure")->delimiter(',')->capture_default_str();
  app.add_option("--precision", settings.precisions, "fp64, fp32 or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp64", "fp32"}))
      ->capture_default_str();
  app.add_option("--kernels", settings.kernels, "Kernels to measure, also auto; all where none is named")
      ->delimiter(',');
  app.add_option("--part", settings.part,
                 "Families of the benchmarks on a GPU, so large a part of them: lap2d:any, ...");
  app.add_option("--threads", settings.threads, "Threads; 0: all")->capture_default_str();
  app.add_option("--max-seconds", settings.timing.max_seconds, "Longest measurement of one family")
      ->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  settings.timing.min_seconds = std::min(settings.timing.min_seconds, settings.timing.max_seconds);
  return tessera::bench::exit_code_of("bench_spmv", [&] { return tessera::bench::run(settings); });
}
