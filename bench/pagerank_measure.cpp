#include "bench/pagerank_measure.hpp"

#include "bench/hand_written.hpp"
#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"
#include "bench/solver_problems.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "tessera/error.hpp"
#include "tessera/pagerank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

constexpr double pagerank_damping = 0.85;

/// One run from uniform ranks.
struct RankRun {
  double setup_ms = 0.0;
  double upload_ms = 0.0;
  double solve_ms = 0.0;
  std::int64_t iterations = 0;
};

struct RankContender {
  std::string name;
  std::string refusal;                                    ///< empty: it may run
  std::function<RankRun(std::int64_t iterations)> run{};  ///< \throws as pagerank()
  std::function<std::vector<double>()> ranks{};           ///< of the latest run
};

/// A graph, by in-links, for all contenders.
class RankContenders {
 public:
  /// \param transition without weights
  RankContenders(const TransitionMatrix<double>& transition, const Device& device, const SolverBenchSettings& settings);

  /// The loops written by hand first, then wanted_kernels(). They live as long as this.
  [[nodiscard]] const std::vector<RankContender>& all() const noexcept { return contenders_; }

 private:
  void add_hand_written(const Device& device);
  void add_kernel(SpmvAlgorithm algorithm, const Device& device);

  const TransitionMatrix<double>& transition_;
  std::unique_ptr<HandWrittenPageRank> loop_;
  std::vector<RankContender> contenders_;
};

/// The tolerance 0 keeps the iteration going to its limit, unless the ranks stand still.
PageRankOptions options_of(SpmvAlgorithm algorithm, const Device& device) {
  PageRankOptions options;
  options.damping = pagerank_damping;
  options.tolerance = 0.0;
  options.spmv.algorithm = algorithm;
  options.spmv.device = device;
  return options;
}

std::vector<double> copied(const Array<double>& ranks) { return {ranks.begin(), ranks.end()}; }

RankContenders::RankContenders(const TransitionMatrix<double>& transition, const Device& device,
                               const SolverBenchSettings& settings)
    : transition_(transition) {
  add_hand_written(device);
  for (const SpmvAlgorithm algorithm : wanted_kernels(settings, device)) add_kernel(algorithm, device);
}

void RankContenders::add_hand_written(const Device& device) {
  try {
    loop_ = std::make_unique<HandWrittenPageRank>(transition_, device);
  } catch (const NotSupported& error) {
    contenders_.push_back({std::string(hand_written_name), error.what()});
    return;
  }
  const auto add = [this](std::string_view name, int check_every) {
    const auto run = [this, check_every](std::int64_t iterations) {
      const double solve_ms = loop_->run(pagerank_damping, iterations, check_every);
      return RankRun{loop_->setup_ms(), loop_->upload_ms(), solve_ms, iterations};
    };
    contenders_.push_back({std::string(name), {}, run, [this] { return loop_->ranks(); }});
  };
  add(hand_written_name, 1);
  add(batched_name, batched_checks);
}

void RankContenders::add_kernel(SpmvAlgorithm algorithm, const Device& device) {
  auto latest = std::make_shared<PageRankResult<double>>();
  PageRankOptions options = options_of(algorithm, device);
  const auto run = [this, latest, options](std::int64_t iterations) mutable {
    options.max_iterations = iterations;
    *latest = pagerank(transition_, options);
    const Timings& timings = latest->timings;
    return RankRun{timings.plan_ms, timings.upload_ms, timings.solve_ms, latest->iterations};
  };
  contenders_.push_back({std::string(to_string(algorithm)), {}, run, [latest] { return copied(latest->ranks); }});
}

constexpr std::int64_t short_run = 8;
constexpr std::int64_t long_run = 200;
constexpr std::int64_t reference_run = 210;
constexpr std::array<std::int64_t, 4> milestones{50, 100, 150, 200};
/// In l1: 200 iterations leave at most 2 · 0.85²⁰⁰ = 2e-14 besides rounding.
constexpr double most_error = 1e-10;

struct Row {
  RankContender contender;
  std::string failure{};  ///< empty: its times count
  bool wrong = false;
  RankRun checked{};
  double error = 0.0;
  std::vector<double> setup_ms{};
  std::vector<double> upload_ms{};
  std::vector<double> short_ms{};
  std::vector<double> long_ms{};
  std::vector<std::int64_t> long_iterations{};  ///< of the long runs, which end when ranks stand still
  std::vector<double> iteration_ms{};

  [[nodiscard]] bool timed() const { return !iteration_ms.empty(); }
  /// Set-up and so many iterations; between the short run and the long one by straight line.
  [[nodiscard]] double total_ms(std::int64_t iterations) const {
    return summarise(setup_ms).median + summarise(short_ms).median +
           static_cast<double>(iterations - short_run) * summarise(iteration_ms).median;
  }
};

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  return host::parallel_sum<double>(Device{}, static_cast<std::int64_t>(x.size()), [&](host::Range range) {
    double sum = 0.0;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      sum += std::abs(x[i] - y[i]);
    }
    return sum;
  });
}

/// One step on the host, by out-degrees counted in the adjacency.
std::vector<double> step_on_host(const Csr<double>& adjacency, const Csr<double>& in_links,
                                 const std::vector<double>& x) {
  std::vector<double> source(x.size());
  const CsrView<double> out = adjacency.view();
  const double dangling =
      host::parallel_sum<double>(Device{}, static_cast<std::int64_t>(x.size()), [&](host::Range range) {
        double sum = 0.0;
        for (auto j = static_cast<std::size_t>(range.begin); j < static_cast<std::size_t>(range.end); ++j) {
          const offset_t degree = out.row_offsets[j + 1] - out.row_offsets[j];
          if (degree == 0) sum += x[j];
          source[j] = degree == 0 ? 0.0 : x[j] / static_cast<double>(degree);
        }
        return sum;
      });
  const double base = (1.0 - pagerank_damping + pagerank_damping * dangling) / static_cast<double>(x.size());
  std::vector<double> next(x.size());
  const CsrView<double> in = in_links.view();
  constexpr std::int64_t group = 4096;
  host::parallel_tasks(Device{}, (in.rows + group - 1) / group, [&](std::int64_t g) {
    const std::int64_t end = std::min<std::int64_t>(in.rows, (g + 1) * group);
    for (auto i = static_cast<std::size_t>(g * group); i < static_cast<std::size_t>(end); ++i) {
      double sum = 0.0;
      for (auto k = static_cast<std::size_t>(in.row_offsets[i]); k < static_cast<std::size_t>(in.row_offsets[i + 1]);
           ++k) {
        sum += source[static_cast<std::size_t>(in.columns[k])];
      }
      next[i] = pagerank_damping * sum + base;
    }
  });
  return next;
}

/// In-links as a pattern with 32-bit offsets, ranks read and written, inverse out-degrees read.
double least_step_bytes(const Csr<double>& adjacency) {
  const double n = adjacency.rows();
  return 4.0 * static_cast<double>(adjacency.nnz()) + 4.0 * (n + 1.0) + 24.0 * n;
}

/// The ranks of 210 iterations, of the first that can. \throws Error when one more step moves them
std::vector<double> reference_ranks(const RankContenders& contenders, const Csr<double>& adjacency,
                                    const TransitionMatrix<double>& transition) {
  for (const RankContender& contender : contenders.all()) {
    if (!contender.refusal.empty()) continue;
    static_cast<void>(contender.run(reference_run));
    std::vector<double> ranks = contender.ranks();
    const double change = distance(ranks, step_on_host(adjacency, *transition.in_links(), ranks));
    if (!(change <= most_error)) {
      throw Error(fmt::format("{}: a step on the host moves the reference by {:.3g}", contender.name, change));
    }
    return ranks;
  }
  throw NotSupported("no kernel is there to compute PageRank");
}

/// The first long run, whose time does not count.
void check_long_run(Row& row, const std::vector<double>& reference) {
  try {
    row.checked = row.contender.run(long_run);
    row.error = distance(row.contender.ranks(), reference);
    row.wrong = !(row.error <= most_error);
    if (row.wrong) row.failure = fmt::format("WRONG: {:.3g} away from the reference", row.error);
    if (row.checked.iterations <= short_run) row.failure = "stands still too soon to be timed";
  } catch (const NotSupported& error) {
    row.failure = error.what();
  }
}

/// Times are of the iterations alone, as each run accounts for them.
void time_runs(std::vector<Row>& rows, int rounds) {
  double latest_ms = 0.0;
  std::vector<TimingCandidate> candidates;
  for (Row& row : rows) {
    if (!row.failure.empty()) continue;
    const auto add = [&](std::int64_t iterations, std::vector<double>& samples) {
      candidates.push_back({row.contender.name,
                            [&row, &samples, &latest_ms, iterations] {
                              const RankRun run = row.contender.run(iterations);
                              latest_ms = run.solve_ms;
                              samples.push_back(run.solve_ms);
                              if (iterations == long_run) row.long_iterations.push_back(run.iterations);
                              row.setup_ms.push_back(run.setup_ms);
                              row.upload_ms.push_back(run.upload_ms);
                            },
                            {}});
    };
    add(short_run, row.short_ms);
    add(long_run, row.long_ms);
  }
  TimingOptions options;
  options.warmup = 0;
  options.min_rounds = options.max_rounds = rounds;
  options.min_seconds = 0.0;
  options.clock = [&latest_ms](const std::function<void()>& work) {
    work();
    return latest_ms;
  };
  static_cast<void>(time_interleaved(candidates, options));
  for (Row& row : rows) {
    for (std::size_t i = 0; i < row.long_ms.size(); ++i) {
      row.iteration_ms.push_back((row.long_ms[i] - row.short_ms[i]) /
                                 static_cast<double>(row.long_iterations[i] - short_run));
    }
  }
}

double copy_rate_of(const Device& device, compare::CopyYardstick& copy) {
  const TimingClock clock = timing_clock(device);
  std::vector<double> ms;
  for (int i = 0; i < 10; ++i) ms.push_back(clock([&copy] { copy(); }));
  return compare::gbytes_per_second(copy.bytes(), summarise(ms).median);
}

/// How far the ranks are from the reference after so many iterations.
Json errors_of(const RankContender& contender, const std::vector<double>& reference) {
  Json errors = Json::array();
  fmt::print("  error in l1 ({})", contender.name);
  for (const std::int64_t iterations : milestones) {
    static_cast<void>(contender.run(iterations));
    const double error = distance(contender.ranks(), reference);
    errors.push_back({{"iterations", iterations}, {"error", error}});
    fmt::print("  {}: {:.2e}", iterations, error);
  }
  fmt::print("\n");
  return errors;
}

const Row* find(const std::vector<Row>& rows, std::string_view name) {
  for (const Row& row : rows) {
    if (row.contender.name == name && row.timed()) return &row;
  }
  return nullptr;
}

Json json_of_row(const std::vector<Row>& rows, const Row& row, double bytes, double copy_rate) {
  Json json{{"solver", row.contender.name},
            {"pass", !row.wrong},
            {"iterations", row.checked.iterations},
            {"error_after_200", row.error}};
  if (!row.timed()) {
    json["reason"] = row.failure;
    fmt::print("  {:15} {}\n", row.contender.name, row.failure);
    return json;
  }
  const TimingSummary time = summarise(row.iteration_ms);
  const double setup = summarise(row.setup_ms).median;
  const double upload = summarise(row.upload_ms).median;
  const double share = bytes / time.median * 1e-6 / copy_rate;
  json["setup_ms"] = setup;
  json["upload_ms"] = upload;
  json["per_iteration"] = json_of(time);
  json["share_of_copy_bandwidth"] = share;
  for (const std::int64_t iterations : milestones) {
    json["setup_and_solve_ms"][std::to_string(iterations)] = row.total_ms(iterations);
  }
  for (const std::string_view name : {hand_written_name, batched_name}) {
    const Row* const baseline = find(rows, name);
    if (baseline == nullptr || baseline == &row) continue;
    add_speedup(json, baseline->contender.name, baseline->iteration_ms, row.iteration_ms);
    json["total_200_speedup_over"][baseline->contender.name] = baseline->total_ms(long_run) / row.total_ms(long_run);
  }
  fmt::print("  {:15} ({:7.3f} ms, upload {:6.1f}) {:8.4f} ms {:3.0f} % of copy{}\n", row.contender.name, setup, upload,
             time.median, 100.0 * share, speedup_text(json));
  return json;
}

int rounds_that_fit(const SolverBenchSettings& settings, double round_seconds, double seconds_left) {
  constexpr double most_rounds = 5.0;
  if (settings.rounds > 0) return settings.rounds;
  return static_cast<int>(std::clamp(seconds_left / std::max(round_seconds, 1e-3), 1.0, most_rounds));
}

}  // namespace

Json measure_pagerank(const std::string& name, const Csr<double>& adjacency, const Device& device,
                      const SolverBenchSettings& settings, compare::CopyYardstick& copy, SetupTable& table) {
  const Stopwatch transposing;
  const TransitionMatrix<double> transition(adjacency.view());
  const double transition_ms = transposing.milliseconds();
  const RankContenders contenders(transition, device, settings);
  const std::vector<double> reference = reference_ranks(contenders, adjacency, transition);
  std::vector<Row> rows;
  const Stopwatch watch;
  for (const RankContender& contender : contenders.all()) {
    rows.push_back({contender, contender.refusal});
    if (contender.refusal.empty()) check_long_run(rows.back(), reference);
  }
  const double round_seconds = 1.5 * watch.seconds();  // a long run of each and a short one
  time_runs(rows, rounds_that_fit(settings, round_seconds, 3.0 * settings.seconds));
  const double copy_rate = copy_rate_of(device, copy);
  const double bytes = least_step_bytes(adjacency);
  Json json{{"graph", name},
            {"vertices", adjacency.rows()},
            {"edges", adjacency.nnz()},
            {"dangling", transition.dangling().size()},
            {"transition_on_host_ms", transition_ms},
            {"least_bytes", bytes},
            {"copy_gbytes_per_s", copy_rate},
            {"timed", long_run - short_run}};
  fmt::print(
      "{} PageRank, {} vertices, {} edges: (set-up), per iteration; copy {:.0f} GB/s, transposed in {:.0f} ms on the "
      "host\n",
      name, adjacency.rows(), adjacency.nnz(), copy_rate, transition_ms);
  for (const Row& row : rows) {
    json["solvers"].push_back(json_of_row(rows, row, bytes, copy_rate));
    if (row.timed()) {
      table.add(name, row.contender.name, row.total_ms(long_run), summarise(row.setup_ms).median);
    } else {
      table.add(name, row.contender.name, row.wrong ? "WRONG" : "not run");
    }
  }
  const auto own = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.failure.empty() && row.contender.name != hand_written_name && row.contender.name != batched_name;
  });
  if (own != rows.end()) json["errors"] = errors_of(own->contender, reference);
  std::fflush(stdout);
  return json;
}

}  // namespace tessera::bench
