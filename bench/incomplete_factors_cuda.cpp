/// ILU(0) on a GPU against cuSPARSE, in one process: set-up (factorization, analysis of the triangular solves), M r by
/// both kinds of triangular solves, and BiCGSTAB to a residual, beside csrilu02, SpSV and a loop written by hand on
/// them. Set-ups and solves: wall clock, the device idle before and after, A on the device. M r: clock of the device,
/// own products in a CUDA graph as in a loop, and by launches.
///
///   bench_incomplete_factors_cuda --json results.json
///   bench_incomplete_factors_cuda --grids 64,128 --matrix G3_circuit.mtx.gz
#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"
#include "bench/vendor_factors.hpp"
#include "core/cuda/capture.hpp"
#include "solvers/factors/prepared_factors.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct FactorBenchSettings {
  std::string device = "cuda";
  std::vector<std::int64_t> grids{64, 128};
  std::vector<std::string> files;
  double tolerance = 1e-8;
  int rounds = 7;
  std::string json;
};

struct FactorProblem {
  std::string name;
  std::function<Csr<double>()> make;
};

using Solve = detail::FactorSolve<double>;

std::string name_of(TriangularSolve kind) {
  return kind == TriangularSolve::levels ? "levels" : kind == TriangularSolve::sync_free ? "sync-free" : "auto";
}

detail::PreparedFactors<double> prepared(const cuda::DeviceFactors<double>& factors, const Device& device) {
  const auto copy = [&](const detail::TriangularFactor<double>& factor) {
    return detail::TriangularFactor<double>{factor.strict.to(device), factor.inverse_diagonal.to(device)};
  };
  return {copy(factors.lower), copy(factors.upper), {}, {}, {}, {}};
}

/// Samples of set-ups.
struct SetupSamples {
  std::vector<double> factor;
  std::vector<double> levels;
  std::vector<double> sync_free;
  std::vector<double> automatic;
  std::vector<double> vendor_factor_analysis;
  std::vector<double> vendor_factor;
  std::vector<double> vendor_solve_analysis;
};

/// Largest difference over the largest element of b.
double difference(const Array<double>& a, const Array<double>& b) {
  const Array<double> x = a.to(Device{});
  const Array<double> y = b.to(Device{});
  double most = 0.0;
  double largest = 0.0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double each = std::abs(x[i] - y[i]);
    if (!(each <= most)) most = each;  // NaN too
    largest = std::max(largest, std::abs(y[i]));
  }
  return most / largest;
}

/// One system and all that is made of it.
class FactorBench {
 public:
  FactorBench(const FactorProblem& problem, const FactorBenchSettings& settings, const Device& device)
      : settings_(settings), device_(device), system_(make_system(problem, device)) {
    offsets_ = narrow_row_offsets(a(), device_);
  }

  [[nodiscard]] Json run();

 private:
  static KrylovSystem make_system(const FactorProblem& problem, const Device& device) {
    Csr<double> matrix = problem.make();
    std::vector<double> b = scattered_right_side(matrix.rows());
    return KrylovSystem(problem.name, std::move(matrix), std::move(b), device);
  }

  [[nodiscard]] CsrView<double> a() const { return system_.matrix()->view(); }
  void set_up_once(SetupSamples& samples);
  [[nodiscard]] Json set_up();
  [[nodiscard]] Json products();
  [[nodiscard]] Json solves();

  const FactorBenchSettings& settings_;
  Device device_;
  KrylovSystem system_;
  Array<std::int32_t> offsets_;
  std::unique_ptr<Solve> levels_;
  std::unique_ptr<Solve> sync_free_;
  std::unique_ptr<Solve> automatic_;
  std::unique_ptr<VendorFactors> vendor_;
  index_t zero_pivots_ = 0;
};

void FactorBench::set_up_once(SetupSamples& samples) {
  levels_.reset();
  sync_free_.reset();
  automatic_.reset();
  vendor_.reset();
  cuda::DeviceFactors<double> factors;
  samples.factor.push_back(timed(device_, [&] { factors = cuda::factor_on_device(a(), false, 0.0, device_); }));
  zero_pivots_ = factors.zero_pivots;
  const auto analyse = [&](TriangularSolve kind, std::unique_ptr<Solve>& solve, std::vector<double>& ms) {
    detail::PreparedFactors<double> copy = prepared(factors, device_);
    ms.push_back(timed(device_, [&] { solve = cuda::make_factor_solve<double>(std::move(copy), kind, device_); }));
  };
  analyse(TriangularSolve::levels, levels_, samples.levels);
  analyse(TriangularSolve::sync_free, sync_free_, samples.sync_free);
  analyse(TriangularSolve::automatic, automatic_, samples.automatic);
  vendor_ = std::make_unique<VendorFactors>(a(), offsets_.span(), device_);
  samples.vendor_factor_analysis.push_back(vendor_->times().factor_analysis);
  samples.vendor_factor.push_back(vendor_->times().factor);
  samples.vendor_solve_analysis.push_back(vendor_->times().solve_analysis);
}

Json FactorBench::set_up() {
  SetupSamples first;
  set_up_once(first);
  SetupSamples samples;
  for (int round = 0; round < settings_.rounds; ++round) set_up_once(samples);
  const auto line = [](const char* what, const std::vector<double>& ms) {
    fmt::print("  {:34} {:9.3f} ms\n", what, summarise(ms).median);
  };
  line("ILU(0)", samples.factor);
  line("analysis, levels", samples.levels);
  line("analysis, sync-free", samples.sync_free);
  line("analysis, auto", samples.automatic);
  line("cuSPARSE csrilu02 analysis", samples.vendor_factor_analysis);
  line("cuSPARSE csrilu02", samples.vendor_factor);
  line("cuSPARSE SpSV analysis, L and U", samples.vendor_solve_analysis);
  return {{"ilu0", json_of(summarise(samples.factor))},
          {"analysis_levels", json_of(summarise(samples.levels))},
          {"analysis_sync_free", json_of(summarise(samples.sync_free))},
          {"analysis_auto", json_of(summarise(samples.automatic))},
          {"first_analysis_auto_ms", first.automatic.front()},
          {"cusparse_csrilu02_analysis", json_of(summarise(samples.vendor_factor_analysis))},
          {"cusparse_csrilu02", json_of(summarise(samples.vendor_factor))},
          {"cusparse_spsv_analysis", json_of(summarise(samples.vendor_solve_analysis))}};
}

Json FactorBench::products() {
  const std::int64_t n = a().rows;
  VendorVector r(n, device_);
  VendorVector z_vendor(n, device_);
  detail::copy_bytes(device_, r.data(), device_, system_.b().data(), r.values.bytes());
  std::vector<TimingCandidate> candidates;
  std::vector<std::unique_ptr<cuda::LoopGraph>> graphs;
  std::vector<Array<double>> images;
  for (const Solve* solve : {levels_.get(), sync_free_.get()}) {
    Array<double>& z = images.emplace_back(n, Init::zero, device_);
    const auto product = [&r, solve, at = z.span()] { solve->apply(std::as_const(r).values.span(), at); };
    cuda::LoopGraph& graph = *graphs.emplace_back(std::make_unique<cuda::LoopGraph>(device_));
    graph.record_before(product);
    graph.complete();
    candidates.push_back({name_of(solve->kind()), [&graph] { graph.launch(); }, {}});
    candidates.push_back({name_of(solve->kind()) + " by launches", product, {}});
  }
  candidates.push_back({"cuSPARSE SpSV", [&] { vendor_->solve(r, z_vendor); }, {}});
  TimingOptions options;
  options.max_seconds = 2.0;
  options.clock = timing_clock(device_);
  const TimingSamples samples = time_interleaved(candidates, options);
  Json rows = Json::array();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const TimingSummary summary = summarise(samples[c]);
    fmt::print("  M r, {:29} {:9.4f} ms\n", candidates[c].name, summary.median);
    rows.push_back({{"by", candidates[c].name}, {"time", json_of(summary)}});
    add_speedup(rows.back(), "cuSPARSE SpSV", samples.back(), samples[c]);
  }
  const double between_kinds = difference(images[0], images[1]);
  const double to_vendor = difference(images[0], z_vendor.values);
  const double bytes = static_cast<double>(levels_->bytes());
  fmt::print("  {} and {} levels, {:.1f} MB: {:.4f} ms at 4.28 TB/s; kinds differ by {:.1e}, from cuSPARSE {:.1e}\n",
             levels_->lower_levels(), levels_->upper_levels(), bytes * 1e-6, bytes / 4.28e9, between_kinds, to_vendor);
  return {{"rows", std::move(rows)},
          {"bytes", levels_->bytes()},
          {"cusparse_bytes", vendor_->bytes()},
          {"lower_levels", levels_->lower_levels()},
          {"upper_levels", levels_->upper_levels()},
          {"auto", name_of(automatic_->kind())},
          {"difference_of_kinds", between_kinds},
          {"difference_from_cusparse", to_vendor},
          {"pass", between_kinds == 0.0 && to_vendor < 1e-6}};
}

Json FactorBench::solves() {
  const SpmvPlan<double> plan(system_.matrix(), {.device = device_});
  const VendorProduct product(a(), offsets_.span(), a().values, device_);
  HandWrittenKrylov by_hand(product, [this](const VendorVector& v, VendorVector& out) { vendor_->solve(v, out); });
  SolverOptions options;
  options.relative_tolerance = settings_.tolerance;
  Json rows = Json::array();
  const auto measure = [&](const std::string& name, const std::function<std::int64_t()>& solve) {
    std::vector<double> ms;
    std::int64_t iterations = 0;
    static_cast<void>(solve());
    for (int round = 0; round < settings_.rounds; ++round) {
      detail::zero_bytes(device_, system_.x().data(), system_.x().size_bytes());
      ms.push_back(timed(device_, [&] { iterations = solve(); }));
    }
    const double residual = system_.true_residual();
    const TimingSummary summary = summarise(ms);
    fmt::print("  BiCGSTAB, {:24} {:9.2f} ms, {} iterations, {:.1e}\n", name, summary.median, iterations, residual);
    rows.push_back({{"by", name},
                    {"time", json_of(summary)},
                    {"iterations", iterations},
                    {"relative_residual", residual},
                    {"pass", residual <= 2.0 * settings_.tolerance}});
  };
  for (const Solve* solve : {levels_.get(), sync_free_.get()}) {
    measure(name_of(solve->kind()), [&] {
      detail::zero_bytes(device_, system_.x().data(), system_.x().size_bytes());
      return bicgstab<double>(plan, *solve, system_.b(), system_.x(), options).iterations;
    });
  }
  const HandWrittenStop stop{options.max_iterations, settings_.tolerance, 1};
  measure("by hand on cuSPARSE", [&] { return by_hand.bicgstab(system_.b(), system_.x(), stop).iterations; });
  return rows;
}

Json FactorBench::run() {
  fmt::print("{}: {} unknowns, {} entries\n", system_.name(), a().rows, a().nnz());
  Json result{{"problem", system_.name()}, {"unknowns", a().rows}, {"nonzeros", a().nnz()}};
  result["setup"] = set_up();
  result["zero_pivots"] = zero_pivots_;
  result["product"] = products();
  result["bicgstab"] = solves();
  std::fflush(stdout);
  return result;
}

std::vector<FactorProblem> problems_of(const FactorBenchSettings& settings) {
  std::vector<FactorProblem> problems;
  for (const std::int64_t n : settings.grids) {
    problems.push_back({fmt::format("convection-diffusion {}^3", n),
                        [n] { return convection_diffusion<double>(n, n, n, {.x = 1.0, .y = 0.5, .z = 0.25}); }});
  }
  for (const std::string& file : settings.files) {
    problems.push_back({file, [file] { return std::move(read_matrix_market<double>(file).matrix); }});
  }
  return problems;
}

/// \returns whether all results were right
bool run(const FactorBenchSettings& settings) {
  const Device device = Device::parse(settings.device);
  if (device.is_host()) throw InvalidArgument("this program measures a GPU: --device cuda or cuda:N");
  Json report = document("incomplete_factors_cuda");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["tolerance"] = settings.tolerance;
  fmt::print("{}\n", support::device_text(device, Device{}));
  // Libraries are loaded before anything is timed.
  const FactorProblem small{"wake-up", [] { return convection_diffusion<double>(8, 8, 8, {.x = 1.0}); }};
  static_cast<void>(FactorBench(small, settings, device).run());
  bool all_right = true;
  for (const FactorProblem& problem : problems_of(settings)) {
    try {
      Json result = FactorBench(problem, settings, device).run();
      all_right = all_right && result["product"]["pass"].get<bool>();
      report["problems"].push_back(std::move(result));
    } catch (const Error& error) {
      fmt::print("{}: {}\n", problem.name, error.what());
      report["problems"].push_back({{"problem", problem.name}, {"pass", false}, {"reason", error.what()}});
      all_right = false;
    }
    write(report, settings.json);  // so that a run that is cut short leaves something
  }
  return all_right;
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::FactorBenchSettings settings;
  CLI::App app("ILU(0) on a GPU against cuSPARSE");
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--grids", settings.grids, "Grids of convection-diffusion, points per side; 0: none")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--matrix", settings.files, "Matrix Market files, square, with all diagonal entries")
      ->check(CLI::ExistingFile);
  app.add_option("--tolerance", settings.tolerance, "Relative to the norm of b")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of set-ups and of solves")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_incomplete_factors_cuda", [&] {
    std::erase(settings.grids, 0);
    return tessera::bench::run(settings);
  });
}
