/// SpGEMM on the host. Timed: C = A A by every workflow, and new values on a planned structure. Compared with: Eigen's
/// product in the same run. Eigen's is serial, the others take the threads of the host, so Tessera on one thread stands
/// beside them. Products of fewer than 10^6 or more than --most-products multiplications are left out.
///
///   bench_spgemm --json results.json A.mtx.gz ... fem3d:64000 lap2d:1e6
#include "tessera/spgemm.hpp"
#include "bench/report.hpp"
#include "tessera/eigen.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

struct Settings {
  std::vector<std::string> problems;
  std::int64_t most_products = 200'000'000;
  int rounds = 10;
  bool workflows = true;  ///< each by name, too
  std::string json;
};

constexpr std::int64_t least_products = 1'000'000;

/// A file, or a generator's words; patterns get ones, as Eigen needs values.
Csr<double> load(const std::string& problem) {
  Csr<double> a = std::filesystem::exists(problem) ? read_matrix_market<double>(problem).matrix
                                                   : generate<double>(parse_generator(problem));
  if (!a.is_pattern()) return a;
  Array<double> ones(a.nnz(), Init::none);
  for (double& value : ones) value = 1.0;
  return Csr<double>(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}), std::move(ones),
                     Check::trusted);
}

/// Same positions; values to 1e-11 of the largest.
void require_equal(const EigenMatrix& expected, const Csr<double>& c, const std::string& problem) {
  bool same = expected.nonZeros() == c.nnz();
  double scale = 0.0;
  for (offset_t k = 0; same && k < c.nnz(); ++k) scale = std::max(scale, std::fabs(c.values()[k]));
  for (offset_t k = 0; same && k < c.nnz(); ++k) {
    same = expected.innerIndexPtr()[k] == c.columns()[k] &&
           std::fabs(expected.valuePtr()[k] - c.values()[k]) <= 1e-11 * scale;
  }
  if (!same) throw std::runtime_error(problem + ": the product is not Eigen's");
}

struct Entrant {
  std::string name;
  std::function<void()> run;
};

SpgemmOptions options_of(SpgemmWorkflow workflow, int threads) {
  SpgemmOptions options;
  options.workflow = workflow;
  options.device = Device::host(threads);
  return options;
}

std::vector<Entrant> entrants(const Csr<double>& a, const EigenMatrix& eigen, SpgemmPlan<double>& plan,
                              std::vector<double>& values, bool workflows) {
  std::vector<Entrant> list;
  list.push_back({"Eigen", [&] { const EigenMatrix c = eigen * eigen; }});
  list.push_back({"auto, 1 thread", [&] { (void)spgemm(a, a, options_of(SpgemmWorkflow::automatic, 1)); }});
  list.push_back({"auto", [&] { (void)spgemm(a, a); }});
  for (const SpgemmWorkflow workflow : spgemm_workflows()) {
    if (!workflows) break;
    list.push_back({std::string(to_string(workflow)), [&a, workflow] { (void)spgemm(a, a, options_of(workflow, 0)); }});
  }
  list.push_back({"planned values", [&] { plan.multiply_into(a, a, values); }});
  return list;
}

/// Nothing for a matrix whose square is too small or too large.
Json measure(const std::string& problem, const Settings& settings) {
  const Csr<double> a = load(problem);
  if (a.rows() != a.cols()) return nullptr;
  offset_t products = 0;
  for (const index_t j : a.columns()) products += a.row_offsets()[j + 1] - a.row_offsets()[j];
  if (products < least_products || products > settings.most_products) return nullptr;
  const EigenMatrix eigen = to_eigen(a.view());
  const SpgemmResult<double> result = spgemm(a, a);
  require_equal(eigen * eigen, result.matrix, problem);
  SpgemmPlan<double> plan(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(a.view()));
  std::vector<double> values(static_cast<std::size_t>(result.matrix.nnz()));

  const std::vector<Entrant> list = entrants(a, eigen, plan, values, settings.workflows);
  std::vector<TimingCandidate> candidates;
  for (const Entrant& each : list) candidates.push_back({each.name, each.run, {}});
  TimingOptions timing;
  timing.warmup = 1;
  timing.min_rounds = timing.max_rounds = settings.rounds;
  const TimingSamples samples = time_interleaved(candidates, timing);

  const SpgemmReport& report = result.report;
  const std::string name = std::filesystem::path(problem).filename().string();
  fmt::print("{}: {} products, {:.2f} an entry of C, auto takes {}\n", name, report.products, report.compression(),
             to_string(report.workflow));
  Json rows = Json::array();
  for (std::size_t s = 0; s < list.size(); ++s) {
    const TimingSummary summary = summarise(samples[s]);
    const TimingRatio speedup = median_ratio(samples[0], samples[s]);
    fmt::print("  {:15} {:9.2f} ms  {:5.2f}x [{:.2f}, {:.2f}]\n", list[s].name, summary.median, speedup.ratio,
               speedup.low, speedup.high);
    rows.push_back({{"name", list[s].name}, {"time", json_of(summary)}, {"speedup_over_eigen", json_of(speedup)}});
  }
  return {{"problem", name},
          {"rows", a.rows()},
          {"nnz", a.nnz()},
          {"products", report.products},
          {"product_nnz", report.nnz},
          {"workflow", to_string(report.workflow)},
          {"peak_bytes", report.peak_bytes},
          {"product_bytes", result.matrix.bytes()},
          {"entrants", rows}};
}

void run(const Settings& settings) {
  Json report = document("spgemm");
  report["baseline"] = fmt::format("Eigen {}.{}.{}, product of two row-major SparseMatrix<double>, serial",
                                   EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  report["matrices"] = Json::array();
  double logarithms = 0.0;
  int count = 0;
  for (const std::string& problem : settings.problems) {
    Json row = measure(problem, settings);
    if (row.is_null()) continue;
    logarithms += std::log(row["entrants"][2]["speedup_over_eigen"]["ratio"].get<double>());
    ++count;
    report["matrices"].push_back(std::move(row));
    report["geometric_mean_speedup_of_auto"] = std::exp(logarithms / count);
    write(report, settings.json);
  }
  if (count > 0) {
    fmt::print("auto over Eigen, geometric mean of {}: {:.2f}x\n", count, std::exp(logarithms / count));
  }
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("C = A A against Eigen's");
  app.add_option("problems", settings.problems, "Files and generators")->required();
  app.add_option("--most-products", settings.most_products, "Leave out larger products")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->capture_default_str();
  app.add_flag("!--no-workflows", settings.workflows, "Leave out the workflows by name");
  app.add_option("--json", settings.json, "Write the results here, after every matrix");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_spgemm", [&] { tessera::bench::run(settings); });
}
