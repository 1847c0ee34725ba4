/// Many solves inside another program, on a GPU: 20 iterations of CG per solve, right-hand sides that change, by the
/// function, by a solver that keeps its vectors and its recorded loop, by solves that are enqueued as a whole and read
/// after the last, and by a loop written by hand on cuSPARSE and cuBLAS; and new values before every solve. Then
/// PageRank of one graph with many teleport distributions (embedding_ranks.hpp). Wall clock, since the host's part is
/// the question. All take turns in random order in one process.
///
///   bench_embedding_cuda --sides 300,2000 --graphs 16,20 --json results.json
#include "bench/embedding_ranks.hpp"
#include "bench/hand_written.hpp"
#include "bench/report.hpp"
#include "bench/vendor.hpp"
#include "tessera/context.hpp"
#include "tessera/enqueued_cg.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

constexpr std::int64_t iterations_per_solve = 20;
constexpr std::int64_t right_sides = 16;

struct Settings {
  std::vector<std::int64_t> sides{300, 2000};
  std::vector<int> graphs{16, 20};
  std::string kernel = "auto";
  std::string device = "cuda";
  std::string json;
  int solves = 50;  ///< per sample
  int rounds = 20;
};

/// A way to solve, its samples per solve, and what it did on the GPU in 100 solves.
struct Way {
  std::string name;
  std::function<void(std::span<const double> b)> solve;
  std::function<void()> check = {};  ///< after a wait
  std::vector<double> ms = {};
  ContextCounts counts = {};
};

/// Poisson's equation on a square grid; matrix, right-hand sides and x lie on the GPU.
class Bench {
 public:
  Bench(const Settings& settings, std::int64_t side)
      : settings_(settings),
        context_(Device::parse(settings.device)),
        side_(side),
        matrix_(std::make_shared<const Csr<double>>(poisson2d<double>(side, side).to(context_))),
        x_(matrix_->rows(), Init::zero, context_) {
    std::vector<double> b(static_cast<std::size_t>(matrix_->rows()));
    for (std::int64_t k = 0; k < right_sides; ++k) {
      for (std::size_t i = 0; i < b.size(); ++i) {
        b[i] = std::sin(0.001 * static_cast<double>(i) * static_cast<double>(k + 1));
      }
      b_.push_back(Array<double>::copy_of(b, context_));
    }
    values_ = copy_of_values();
    options_.max_iterations = iterations_per_solve;
    options_.relative_tolerance = 1e-30;
  }

  [[nodiscard]] Json measure();

 private:
  [[nodiscard]] Array<double> copy_of_values() const {
    Array<double> copy(matrix_->nnz(), Init::none, context_);
    detail::copy_bytes(context_, copy.data(), context_, matrix_->view().values.data(), copy.bytes());
    return copy;
  }
  void solve_by(Way& way, int solves);
  void add_ways();
  void add_by_hand();
  template <class Report>
  static void require_all_iterations(const Report& report) {
    if (report.iterations == iterations_per_solve) return;
    throw Error(fmt::format("{} of {} iterations were done: {}", report.iterations, iterations_per_solve,
                            to_string(report.status)));
  }
  [[nodiscard]] Json row_of(const Way& way) const;
  [[nodiscard]] double update_ms();

  const Settings& settings_;
  Context context_;
  std::int64_t side_;
  std::shared_ptr<const Csr<double>> matrix_;
  Array<double> x_;
  std::vector<Array<double>> b_;
  Array<double> values_;
  SolverOptions options_;
  std::unique_ptr<SpmvPlan<double>> plan_;
  std::unique_ptr<SpmvPlan<double>> changing_;  ///< takes new values
  std::unique_ptr<IterativeSolver<double>> kept_;
  std::unique_ptr<IterativeSolver<double>> changing_solver_;
  std::unique_ptr<EnqueuedCg<double>> enqueued_;
  Array<SolveOutcome> outcome_;
  Array<std::int32_t> narrow_offsets_;
  std::unique_ptr<VendorProduct> product_;
  std::unique_ptr<HandWrittenKrylov> by_hand_;
  std::vector<Way> ways_;
};

void Bench::add_ways() {
  SpmvOptions plan_options;
  plan_options.device = context_;
  plan_options.algorithm = parse_spmv_algorithm(settings_.kernel);
  plan_ = std::make_unique<SpmvPlan<double>>(matrix_, plan_options);
  changing_ = std::make_unique<SpmvPlan<double>>(matrix_, plan_options);
  kept_ = std::make_unique<IterativeSolver<double>>(IterativeMethod::cg, *plan_, options_);
  changing_solver_ = std::make_unique<IterativeSolver<double>>(IterativeMethod::cg, *changing_, options_);
  ways_.push_back({"cg()", [this](std::span<const double> b) {
                     require_all_iterations(cg<double>(*plan_, b, x_.span(), options_));
                   }});
  ways_.push_back(
      {"IterativeSolver", [this](std::span<const double> b) { require_all_iterations(kept_->solve(b, x_.span())); }});
  ways_.push_back({"update_values and IterativeSolver", [this](std::span<const double> b) {
                     changing_->update_values(std::as_const(values_).span());
                     require_all_iterations(changing_solver_->solve(b, x_.span()));
                   }});
  enqueued_ = std::make_unique<EnqueuedCg<double>>(*plan_, options_);
  outcome_ = Array<SolveOutcome>(1, Init::zero, context_);
  ways_.push_back({"EnqueuedCg",
                   [this](std::span<const double> b) { enqueued_->enqueue(b, x_.span(), outcome_.data()); },
                   [this] { require_all_iterations(outcome_.to(Device::host())[0]); }});
  add_by_hand();
}

void Bench::add_by_hand() {
  const CsrView<double> a = matrix_->view();
  narrow_offsets_ = narrow_row_offsets(a, context_);
  product_ = std::make_unique<VendorProduct>(a, std::as_const(narrow_offsets_).span(), a.values, context_);
  by_hand_ = std::make_unique<HandWrittenKrylov>(*product_, std::span<const double>{});
  ways_.push_back({"by hand on cuSPARSE and cuBLAS", [this](std::span<const double> b) {
                     const HandWrittenStop stop{iterations_per_solve, 0.0, static_cast<int>(iterations_per_solve)};
                     static_cast<void>(by_hand_->cg(b, x_.span(), stop));
                   }});
}

/// All start from x = 0, as the loop by hand does.
void Bench::solve_by(Way& way, int solves) {
  for (int k = 0; k < solves; ++k) {
    detail::zero_bytes(context_, x_.data(), x_.bytes());
    way.solve(std::as_const(b_[static_cast<std::size_t>(k % right_sides)]).span());
  }
  synchronize(context_);
  if (way.check) way.check();
}

Json Bench::row_of(const Way& way) const {
  Json row = json_of(summarise(way.ms));
  row["way"] = way.name;
  row["in_100_solves"] = {
      {"allocations", way.counts.allocations}, {"recordings", way.counts.recordings}, {"waits", way.counts.waits}};
  add_speedup(row, ways_.back().name, ways_.back().ms, way.ms);
  add_speedup(row, ways_.front().name, ways_.front().ms, way.ms);
  return row;
}

/// One update after another, without a solve.
double Bench::update_ms() {
  constexpr int updates = 200;
  changing_->update_values(std::as_const(values_).span());
  synchronize(context_);
  const TimingClock clock = timing_clock(context_);
  return clock([&] {
           for (int k = 0; k < updates; ++k) changing_->update_values(std::as_const(values_).span());
         }) /
         updates;
}

Json Bench::measure() {
  add_ways();
  std::vector<TimingCandidate> candidates;
  for (Way& way : ways_) {
    solve_by(way, 3);
    const ContextCounts before = context_.counts();
    solve_by(way, 100);
    const ContextCounts after = context_.counts();
    way.counts = {after.allocations - before.allocations, after.waits - before.waits,
                  after.recordings - before.recordings};
    candidates.push_back({way.name, [this, &way] { solve_by(way, settings_.solves); }, {}});
  }
  TimingOptions timing;
  timing.min_rounds = timing.max_rounds = settings_.rounds;
  const TimingSamples samples = time_interleaved(candidates, timing);
  Json result = {{"problem", fmt::format("poisson2d {0} x {0}", side_)},
                 {"rows", matrix_->rows()},
                 {"nnz", matrix_->nnz()},
                 {"kernel", to_string(plan_->info().algorithm)},
                 {"upload_ms", plan_->info().upload_ms},
                 {"plan_ms", plan_->info().build_ms},
                 {"iterations_per_solve", iterations_per_solve},
                 {"update_values_ms", update_ms()}};
  fmt::print("poisson2d {0} x {0}, {1}: update of the values {2:.4f} ms, upload {3} ms\n", side_,
             to_string(plan_->info().algorithm), result["update_values_ms"].get<double>(), plan_->info().upload_ms);
  for (std::size_t w = 0; w < ways_.size(); ++w) {
    for (const double ms : samples[w]) ways_[w].ms.push_back(ms / settings_.solves);
  }
  for (const Way& way : ways_) {
    Json row = row_of(way);
    fmt::print("  {:36} {:8.4f} ms per solve; in 100 solves {} allocations, {} recordings, {} waits{}\n", way.name,
               row["median_ms"].get<double>(), way.counts.allocations, way.counts.recordings, way.counts.waits,
               speedup_text(row));
    result["ways"].push_back(std::move(row));
  }
  return result;
}

void run(const Settings& settings) {
  Json report = document("embedding_cuda");
  report["machine"]["gpu"] = support::gpu_json(Device::parse(settings.device));
  for (const std::int64_t side : settings.sides) {
    report["problems"].push_back(Bench(settings, side).measure());
    write(report, settings.json);
  }
  const Context context(Device::parse(settings.device));
  for (const int scale : settings.graphs) {
    report["graphs"].push_back(measure_ranks(context, scale, settings.rounds));
    write(report, settings.json);
  }
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Many solves inside another program, on a GPU");
  app.add_option("--sides", settings.sides, "Points per side of the grids")->delimiter(',')->capture_default_str();
  app.add_option("--graphs", settings.graphs, "R-MAT graphs of 2^N vertices")
      ->delimiter(',')
      ->check(CLI::Range(1, 28))
      ->capture_default_str();
  app.add_option("--kernel", settings.kernel, "SpMV kernel")->capture_default_str();
  app.add_option("--solves", settings.solves, "Solves per sample")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_embedding_cuda", [&] { tessera::bench::run(settings); });
}
