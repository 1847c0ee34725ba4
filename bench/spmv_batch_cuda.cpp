/// Batches of small products (SpmvBatch) on a GPU. Timed, by events: the products of 1, 8, 64 and 512 matrices with
/// 10^3, 10^4 and 10^5 nonzeros each by one plan of all; in turn by plans of their own, chosen by `auto`; those
/// recorded in a CUDA graph; and in turn by cuSPARSE. All take turns in random order in one process. Each y is held
/// against sums in long double before and after. The wall-clock times of the set-ups stand beside them. On the host the
/// batch against plans in turn.
///
///   bench_spmv_batch_cuda --json results.json
///   bench_spmv_batch_cuda --device host --parts 8,64
///   bench_spmv_batch_cuda --structures grid --nonzeros 1e4 --precision fp32
#include "bench/report.hpp"
#include "compare/oracle.hpp"
#include "core/cuda/capture.hpp"
#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/spmv_batch.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::string> structures{"grid", "equal", "varied"};
  std::vector<std::string> precisions{"fp64", "fp32"};
  std::vector<std::int64_t> parts{1, 8, 64, 512};
  std::vector<double> nonzeros{1e3, 1e4, 1e5};
  std::string device = "cuda";
  std::string json;
  int rounds = 15;
};

constexpr int kinds = 16;  ///< different parts, which come in turn
constexpr std::string_view batch_name = "batch";
constexpr std::string_view vendor_name = "vendor-csr";

/// Rows of `least` to `most` entries in columns near the diagonal.
Csr<double> band_structure(index_t rows, int least, int most, std::uint64_t seed) {
  constexpr index_t reach = 64;
  detail::SplitMix64 random(seed);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < rows; ++i) {
    const auto length = least + static_cast<int>(random.below(std::uint64_t{1} + static_cast<unsigned>(most - least)));
    std::vector<index_t> row;
    for (int k = 0; k < length; ++k) {
      const auto move = static_cast<index_t>(random.below(2 * reach + 1)) - reach;
      row.push_back(std::clamp(i + move, 0, rows - 1));
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return Csr<double>::pattern(rows, rows, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
}

/// grid: the five-point stencil, as every part; equal: one structure of ten entries per row, as every part; varied: 1
/// to 19 entries per row, and half to one and a half of the size.
Csr<double> structure_of(const std::string& name, double nonzeros, int kind) {
  if (name == "grid") {
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(nonzeros / 5.0)));
    return poisson2d<double>(side, side).structure();
  }
  const auto rows = static_cast<index_t>(std::lround(nonzeros / 10.0));
  if (name == "equal") return band_structure(rows, 10, 10, 1);
  const double share = 0.5 + static_cast<double>(kind) / (kinds - 1);
  return band_structure(static_cast<index_t>(std::lround(share * rows)), 1, 19, static_cast<std::uint64_t>(kind));
}

template <class T>
std::vector<T> random_elements(std::int64_t size, std::uint64_t seed) {
  detail::SplitMix64 random(seed);
  std::vector<T> elements(static_cast<std::size_t>(size));
  for (T& element : elements) element = static_cast<T>(2.0 * random.uniform() - 1.0);
  return elements;
}

/// A kind of part: matrix, x, and what has to come out.
template <class T>
struct Kind {
  Csr<T> matrix;
  std::vector<T> x;
  compare::ProductOracle oracle;
};

template <class T>
std::vector<Kind<T>> kinds_of(const std::string& structure, double nonzeros) {
  std::vector<Kind<T>> result;
  for (int k = 0; k < kinds; ++k) {
    const auto seed = static_cast<std::uint64_t>(k);
    const Csr<double> pattern = structure_of(structure, nonzeros, k);
    Kind<T> kind;
    kind.matrix = pattern.with_values(Array<T>::copy_of(random_elements<T>(pattern.nnz(), 100 + seed)));
    kind.x = random_elements<T>(pattern.cols(), 200 + seed);
    kind.oracle = compare::product_oracle<T>(kind.matrix.view(), kind.x);
    result.push_back(std::move(kind));
  }
  return result;
}

/// A way to form all products into one y.
template <class T>
struct Contender {
  std::string name;
  std::string kernel;
  std::string reason;
  std::function<void()> run;
  double setup_ms = 0.0;
  std::string failure;
  std::vector<double> samples;
};

template <class T>
class Bench {
 public:
  Bench(const Settings& settings, const Device& device, const std::vector<Kind<T>>& kinds_of_parts, std::int64_t count);
  [[nodiscard]] Json measure();

 private:
  using Plans = std::vector<std::unique_ptr<const SpmvPlan<T>>>;
  [[nodiscard]] const Kind<T>& kind(std::int64_t p) const { return kinds_[static_cast<std::size_t>(p % kinds)]; }
  void add_batch();
  [[nodiscard]] const Plans* add_plans(SpmvAlgorithm algorithm, std::string name);
  void add_graph(const Plans& plans);
  void run_in_turn(const Plans& plans);
  void check(Contender<T>& contender);
  void time();
  [[nodiscard]] Json row_of(const Contender<T>& contender, const Contender<T>* vendor) const;

  const Settings& settings_;
  Device device_;
  const std::vector<Kind<T>>& kinds_;
  std::vector<std::shared_ptr<const Csr<T>>> parts_;  ///< on the device, each with arrays of its own
  std::optional<SpmvBatch<T>> batch_;
  std::vector<std::unique_ptr<const Plans>> plans_;
  std::unique_ptr<cuda::LoopGraph> graph_;
  Array<T> x_;
  Array<T> y_;
  std::vector<Contender<T>> contenders_;
};

template <class T>
Bench<T>::Bench(const Settings& settings, const Device& device, const std::vector<Kind<T>>& kinds_of_parts,
                std::int64_t count)
    : settings_(settings), device_(device), kinds_(kinds_of_parts) {
  std::vector<T> x;
  for (std::int64_t p = 0; p < count; ++p) {
    parts_.push_back(std::make_shared<const Csr<T>>(kind(p).matrix.to(device)));
    x.insert(x.end(), kind(p).x.begin(), kind(p).x.end());
  }
  x_ = Array<T>::copy_of(x, device);
}

template <class T>
void Bench<T>::add_batch() {
  constexpr int setups = 3;
  std::vector<CsrView<T>> views;
  for (const auto& part : parts_) views.push_back(part->view());
  std::vector<double> setup_ms;
  for (int i = 0; i < setups; ++i) {
    batch_.reset();
    setup_ms.push_back(timed(device_, [&] { batch_.emplace(views, device_, SpmvOptions{.device = device_}); }));
  }
  y_ = Array<T>(batch_->plan().rows(), Init::none, device_);
  const PlanInfo& info = batch_->plan().info();
  contenders_.push_back({std::string(batch_name),
                         std::string(to_string(info.algorithm)),
                         info.reason,
                         [this] { batch_->apply(std::as_const(x_).span(), y_.span()); },
                         summarise(setup_ms).median,
                         {},
                         {}});
}

template <class T>
void Bench<T>::run_in_turn(const Plans& plans) {
  for (std::int64_t p = 0; p < batch_->size(); ++p) {
    plans[static_cast<std::size_t>(p)]->apply(batch_->x_of(p, std::as_const(x_).span()), batch_->y_of(p, y_.span()));
  }
}

/// \returns null where the kernel does not run here
template <class T>
const typename Bench<T>::Plans* Bench<T>::add_plans(SpmvAlgorithm algorithm, std::string name) {
  auto made = std::make_unique<Plans>();
  Contender<T> contender{std::move(name), {}, {}, {}, 0.0, {}, {}};
  try {
    contender.setup_ms = timed(device_, [&] {
      for (const auto& part : parts_) {
        made->push_back(std::make_unique<SpmvPlan<T>>(part, SpmvOptions{.algorithm = algorithm, .device = device_}));
      }
    });
  } catch (const NotSupported& error) {
    fmt::print("  {}: {}\n", contender.name, error.what());
    return nullptr;
  }
  const PlanInfo& info = made->front()->info();
  contender.kernel = to_string(info.algorithm);
  contender.reason = info.reason;
  const Plans& plans = *plans_.emplace_back(std::move(made));
  contender.run = [this, &plans] { run_in_turn(plans); };
  contenders_.push_back(std::move(contender));
  return &plans;
}

template <class T>
void Bench<T>::add_graph(const Plans& plans) {
  const double setup_ms = timed(device_, [&] {
    graph_ = std::make_unique<cuda::LoopGraph>(device_);
    graph_->record_before([&] { run_in_turn(plans); });
    graph_->complete();
  });
  contenders_.push_back({"graph of auto in turn", {}, {}, [this] { graph_->launch(); }, setup_ms, {}, {}});
}

/// Into NaN, part by part.
template <class T>
void Bench<T>::check(Contender<T>& contender) {
  const std::vector<T> nans(static_cast<std::size_t>(y_.size()), std::numeric_limits<T>::quiet_NaN());
  detail::copy_bytes(device_, y_.data(), Device{}, nans.data(), y_.bytes());
  contender.run();
  const Array<T> found = y_.to(Device{});
  for (std::int64_t p = 0; p < batch_->size(); ++p) {
    const compare::Deviation deviation = compare::deviation<T>(kind(p).oracle, batch_->y_of(p, found.span()));
    if (deviation.within_bound()) continue;
    contender.failure = fmt::format("WRONG in part {}: {}", p, deviation.reason);
    return;
  }
}

template <class T>
void Bench<T>::time() {
  std::vector<TimingCandidate> candidates;
  for (const Contender<T>& contender : contenders_) candidates.push_back({contender.name, contender.run, {}});
  TimingOptions options;
  options.min_rounds = settings_.rounds;
  options.max_rounds = settings_.rounds;
  options.min_seconds = 0.0;
  options.min_sample_ms = 0.5;  // so that the start of the work after the first event is a small part
  options.clock = timing_clock(device_);
  const TimingSamples samples = time_interleaved(candidates, options);
  for (std::size_t i = 0; i < samples.size(); ++i) contenders_[i].samples = samples[i];
}

template <class T>
Json Bench<T>::row_of(const Contender<T>& contender, const Contender<T>* vendor) const {
  const TimingSummary summary = summarise(contender.samples);
  Json row{{"name", contender.name},   {"kernel", contender.kernel},     {"reason", contender.reason},
           {"time", json_of(summary)}, {"setup_ms", contender.setup_ms}, {"pass", contender.failure.empty()}};
  if (!contender.failure.empty()) row["failure"] = contender.failure;
  if (contender.name == batch_name) {
    row["join_ms"] = batch_->info().join_ms;
    row["upload_ms"] = batch_->plan().info().upload_ms;
    row["build_ms"] = batch_->plan().info().build_ms;
  }
  if (vendor != nullptr) add_speedup(row, vendor->name, vendor->samples, contender.samples);
  fmt::print("  {:22} {:10.4f} ms{}  set-up {:9.3f} ms  {} {}\n", contender.name, summary.median, speedup_text(row),
             contender.setup_ms, contender.kernel, contender.failure);
  return row;
}

template <class T>
Json Bench<T>::measure() {
  add_batch();
  const Plans* const own = add_plans(SpmvAlgorithm::automatic, "auto in turn");
  if (!device_.is_host()) {
    if (cuda::graphs_are_usable()) add_graph(*own);
    static_cast<void>(add_plans(SpmvAlgorithm::vendor_csr, std::string(vendor_name)));
  }
  for (Contender<T>& contender : contenders_) check(contender);
  time();
  for (Contender<T>& contender : contenders_) check(contender);
  const auto vendor = std::find_if(contenders_.begin(), contenders_.end(),
                                   [](const Contender<T>& each) { return each.name == vendor_name; });
  const Contender<T>* const baseline = vendor == contenders_.end() ? &contenders_[1] : &*vendor;
  Json runs = Json::array();
  for (const Contender<T>& contender : contenders_) runs.push_back(row_of(contender, baseline));
  return {{"parts", batch_->size()},
          {"rows", batch_->plan().rows()},
          {"nonzeros", batch_->plan().matrix().nnz()},
          {"matrix_bytes", batch_->info().matrix_bytes},
          {"baseline", baseline->name},
          {"runs", std::move(runs)}};
}

/// All numbers of parts of one kind.
template <class T>
void measure_structure(const Settings& settings, const Device& device, const std::string& structure, double nonzeros,
                       Json& results) {
  const std::vector<Kind<T>> kinds_of_parts = kinds_of<T>(structure, nonzeros);
  for (const std::int64_t count : settings.parts) {
    const char* const precision = sizeof(T) == sizeof(float) ? "fp32" : "fp64";
    fmt::print("{} {}, {} parts of {:.0g} nonzeros\n", structure, precision, count, nonzeros);
    Json result = Bench<T>(settings, device, kinds_of_parts, count).measure();
    result["structure"] = structure;
    result["precision"] = precision;
    result["nonzeros_per_part"] = nonzeros;
    results.push_back(std::move(result));
    std::fflush(stdout);
  }
}

[[nodiscard]] bool all_pass(const Json& results) {
  for (const Json& result : results) {
    for (const Json& row : result["runs"]) {
      if (!row["pass"].get<bool>()) return false;
    }
  }
  return true;
}

bool run(const Settings& settings) {
  const Stopwatch watch;
  const Device device = Device::parse(settings.device);
  Json report = document("spmv_batch_cuda");
  if (!device.is_host()) report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["results"] = Json::array();
  fmt::print("{}\n", support::device_text(device, Device{}));
  // Kernels are loaded and handles made before a set-up is timed.
  Json unused = Json::array();
  Settings few = settings;
  few.parts = {2};
  few.rounds = 1;
  measure_structure<double>(few, device, "grid", 1e3, unused);
  measure_structure<float>(few, device, "grid", 1e3, unused);
  fmt::print("(so far to warm up)\n");
  for (const std::string& structure : settings.structures) {
    for (const double nonzeros : settings.nonzeros) {
      for (const std::string& precision : settings.precisions) {
        precision == "fp32" ? measure_structure<float>(settings, device, structure, nonzeros, report["results"])
                            : measure_structure<double>(settings, device, structure, nonzeros, report["results"]);
        report["seconds"] = watch.seconds();
        write(report, settings.json);  // so that a run that is cut short leaves something
      }
    }
  }
  fmt::print("{:.0f} s in all\n", watch.seconds());
  return all_pass(report["results"]);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Products of many small matrices: as a batch, in turn, in a CUDA graph");
  app.add_option("--structures", settings.structures, "grid, equal, varied")
      ->delimiter(',')
      ->check(CLI::IsMember({"grid", "equal", "varied"}))
      ->capture_default_str();
  app.add_option("--precision", settings.precisions, "fp64, fp32")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp64", "fp32"}))
      ->capture_default_str();
  app.add_option("--parts", settings.parts, "Matrices of a batch")
      ->delimiter(',')
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--nonzeros", settings.nonzeros, "Nonzeros of each")
      ->delimiter(',')
      ->check(CLI::Range(100.0, 1e7))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each contender")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--device", settings.device, "cuda, cuda:N or host")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_spmv_batch_cuda", [&] { return tessera::bench::run(settings); });
}
