/// Products in another numbering (ReorderedPlan) on a GPU. Timed, by events: y = A x by `auto` as the matrix is
/// numbered, by `blocked`, and by `auto` on P A P' with x gathered before and y brought back after each product, of
/// degree-based grouping and of reverse Cuthill-McKee; "degree:inside" and "rcm:inside" are the products of P A P'
/// alone, as in a solve that permutes once. Beside them where set-up went, and what set-up and 100 products take
/// together. All take turns in random order in one process; each product is held against one in long double before.
///
///   bench_reordering_cuda --json results.json
///   bench_reordering_cuda --families rmat,kmer,web,rowskew,road --part 0.25 --rounds 20
///   bench_reordering_cuda --families rmat:rcm,road --rcm-limit 1e6 --precision fp32
#include "bench/report.hpp"
#include "bench/spmv_entry.hpp"
#include "bench/zoo.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/reordered_plan.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::string> families{"rmat", "kmer", "web", "rowskew", "road"};
  std::vector<std::string> precisions{"fp64", "fp32"};
  std::string device = "cuda";
  std::string json;
  double part = 0.25;
  double rcm_limit = 2e7;
  std::int64_t products = 100;
  int rounds = 20;
};

constexpr int setups = 3;
constexpr std::string_view baseline_name = "auto";

/// Where the set-up of a run went.
struct SetupTimes {
  double ordering_ms = 0.0;
  double permute_ms = 0.0;
  double plan_ms = 0.0;
  [[nodiscard]] double total() const { return ordering_ms + permute_ms + plan_ms; }
};

template <class T>
struct Run {
  KernelRun<T> kernel;
  SetupTimes setup;
};

/// The product of P A P', in its numbering.
template <class T>
class Inside final : public FusedOperator<T> {
 public:
  explicit Inside(std::shared_ptr<const ReorderedPlan<T>> plan) : plan_(std::move(plan)) {}
  [[nodiscard]] std::int64_t rows() const override { return plan_->rows(); }
  [[nodiscard]] std::int64_t cols() const override { return plan_->cols(); }
  [[nodiscard]] Device device() const override { return plan_->device(); }
  [[nodiscard]] DualBuffer<T> make_output() const override { return plan_->plan().make_output(); }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    plan_->plan().apply(alpha, x, beta, y);
  }
  void do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const override { plan_->plan().apply(x, out); }

 private:
  std::shared_ptr<const ReorderedPlan<T>> plan_;
};

/// The product with a gather before it and one behind it.
template <class T>
class Outside final : public FusedOperator<T> {
 public:
  explicit Outside(std::shared_ptr<const ReorderedPlan<T>> plan) : plan_(std::move(plan)) {}
  [[nodiscard]] std::int64_t rows() const override { return plan_->rows(); }
  [[nodiscard]] std::int64_t cols() const override { return plan_->cols(); }
  [[nodiscard]] Device device() const override { return plan_->device(); }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    plan_->apply(alpha, x, beta, y);
  }

 private:
  std::shared_ptr<const ReorderedPlan<T>> plan_;
};

template <class T>
class Bench {
 public:
  Bench(const Settings& settings, const ZooMatrix& zoo, const Device& device)
      : settings_(settings), device_(device), x_host_(input_vector<T>(zoo.matrix.cols())) {
    const Csr<T> host = with_type<T>(zoo.matrix);
    case_.reference = reference_product(host.view(), std::span<const T>(x_host_), false);
    case_.least_bytes = least_bytes(host, sizeof(T));
    case_.matrix = std::make_shared<const Csr<T>>(host.to(device));
    x_ = Array<T>::copy_of(x_host_, device);
    nans_ = Array<T>::copy_of(std::vector<T>(x_host_.size(), std::numeric_limits<T>::quiet_NaN()), device);
  }

  [[nodiscard]] Json measure(const ZooMatrix& zoo, const std::string& precision, compare::CopyYardstick& copy);

 private:
  [[nodiscard]] SpmvOptions options(SpmvAlgorithm algorithm) const {
    return {.algorithm = algorithm, .device = device_, .expected_applications = settings_.products};
  }
  void add_plan(SpmvAlgorithm algorithm);
  void add_reordered(Ordering kind, int times);
  /// What P A P' has to make of x, in its numbering.
  [[nodiscard]] Case<T> inner_case(const std::vector<index_t>& order) const;
  [[nodiscard]] Json row_of(const Run<T>& run, const Run<T>& baseline) const;

  const Settings& settings_;
  Device device_;
  std::vector<T> x_host_;
  Case<T> case_;
  Array<T> x_;
  Array<T> nans_;
  std::vector<Run<T>> runs_;
};

template <class T>
void Bench<T>::add_plan(SpmvAlgorithm algorithm) {
  KernelRun<T> kernel = prepare<T>({std::string(to_string(algorithm)), options(algorithm)}, case_, x_, nans_);
  const double ms = kernel.setup_ms;
  runs_.push_back({std::move(kernel), {0.0, 0.0, ms}});
}

template <class T>
Case<T> Bench<T>::inner_case(const std::vector<index_t>& order) const {
  Case<T> inner;
  for (const index_t row : order) {
    const auto from = static_cast<std::size_t>(row);
    inner.reference.y.push_back(case_.reference.y[from]);
    inner.reference.magnitude.push_back(case_.reference.magnitude[from]);
    inner.reference.length.push_back(case_.reference.length[from]);
  }
  return inner;
}

/// \param times how often it is set up
template <class T>
void Bench<T>::add_reordered(Ordering kind, int times) {
  std::vector<double> ordering_ms;
  std::vector<double> permute_ms;
  std::vector<double> plan_ms;
  std::shared_ptr<const ReorderedPlan<T>> plan;
  for (int i = 0; i < times; ++i) {
    plan.reset();
    plan = std::make_shared<const ReorderedPlan<T>>(*case_.matrix, kind, options(SpmvAlgorithm::automatic));
    ordering_ms.push_back(plan->info().ordering_ms);
    permute_ms.push_back(plan->info().permute_ms);
    plan_ms.push_back(plan->info().build_ms);
  }
  const SetupTimes setup{summarise(ordering_ms).median, summarise(permute_ms).median, summarise(plan_ms).median};
  const std::string name(to_string(kind));
  const auto describe = [&plan](KernelRun<T>& entry) {
    entry.info = plan->plan().info();
    entry.info.bytes = plan->info().bytes;
  };
  runs_.push_back({prepare_product<T>(name, case_, x_, nans_,
                                      [&](KernelRun<T>& entry) {
                                        describe(entry);
                                        entry.product = std::make_unique<Outside<T>>(plan);
                                      }),
                   setup});
  Array<index_t> order(std::ssize(plan->order()), Init::none);
  detail::copy_bytes(Device{}, order.data(), device_, plan->order().data(), order.bytes());
  Array<T> inner_x(x_.size(), Init::none, device_);
  plan->gather(x_.span(), inner_x.span());
  runs_.push_back({prepare_product<T>(name + ":inside", inner_case({order.begin(), order.end()}), inner_x, nans_,
                                      [&](KernelRun<T>& entry) {
                                        describe(entry);
                                        entry.product = std::make_unique<Inside<T>>(plan);
                                      }),
                   setup});
}

template <class T>
Json Bench<T>::row_of(const Run<T>& run, const Run<T>& baseline) const {
  const KernelRun<T>& kernel = run.kernel;
  Json row{{"name", kernel.kernel}, {"pass", kernel.failure.empty() || kernel.refused}, {"refused", kernel.refused}};
  if (!kernel.failure.empty()) {
    row["reason"] = kernel.failure;
    fmt::print("  {:14} {}\n", kernel.kernel, kernel.failure);
    return row;
  }
  const auto products = static_cast<double>(settings_.products);
  const double total = run.setup.total() + products * kernel.time.median;
  const double of_baseline = baseline.setup.total() + products * baseline.kernel.time.median;
  row["time"] = json_of(kernel.time);
  row["ordering_ms"] = run.setup.ordering_ms;
  row["permute_ms"] = run.setup.permute_ms;
  row["plan_ms"] = run.setup.plan_ms;
  row["bytes"] = kernel.info.bytes;
  row["chosen"] = to_string(kernel.info.algorithm);
  row["reason_of_plan"] = kernel.info.reason;
  row["error_over_bound"] = kernel.error_over_bound;
  row["end_to_end_ms"] = total;
  row["end_to_end_speedup"] = of_baseline / total;
  row["speedup"] = json_of(median_ratio(baseline.kernel.samples, kernel.samples));
  fmt::print(
      "  {:14} order {:9.3f}  permute {:8.3f}  plan {:8.3f} ms   {:8.4f} ms {:5.2f}x   {} products {:10.2f} ms "
      "{:5.2f}x  "
      "({})\n",
      kernel.kernel, run.setup.ordering_ms, run.setup.permute_ms, run.setup.plan_ms, kernel.time.median,
      row["speedup"]["ratio"].get<double>(), settings_.products, total, of_baseline / total,
      to_string(kernel.info.algorithm));
  return row;
}

template <class T>
Json Bench<T>::measure(const ZooMatrix& zoo, const std::string& precision, compare::CopyYardstick& copy) {
  add_plan(SpmvAlgorithm::automatic);
  add_plan(SpmvAlgorithm::blocked);
  add_reordered(Ordering::degree, setups);
  if (static_cast<double>(zoo.matrix.nnz()) <= settings_.rcm_limit) add_reordered(Ordering::rcm, 1);
  std::vector<KernelRun<T>> kernels;
  for (Run<T>& run : runs_) kernels.push_back(std::move(run.kernel));
  const double copy_rate = time_all(kernels, x_, copy, settings_.rounds);
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i].kernel = std::move(kernels[i]);
  Json result{{"family", zoo.family},           {"precision", precision},           {"rows", zoo.matrix.rows()},
              {"nonzeros", zoo.matrix.nnz()},   {"least_bytes", case_.least_bytes}, {"copy_gbytes_per_s", copy_rate},
              {"products", settings_.products}, {"baseline", baseline_name},        {"runs", Json::array()}};
  fmt::print("{:8} {}  {:.2f} M rows, {:.1f} M nonzeros, x {:.0f} MB, copy {:.0f} GB/s\n", zoo.family, precision,
             1e-6 * zoo.matrix.rows(), 1e-6 * static_cast<double>(zoo.matrix.nnz()),
             1e-6 * static_cast<double>(x_.bytes()), copy_rate);
  if (!runs_.front().kernel.failure.empty()) throw std::runtime_error("auto: " + runs_.front().kernel.failure);
  for (const Run<T>& run : runs_) result["runs"].push_back(row_of(run, runs_.front()));
  std::fflush(stdout);
  return result;
}

bool all_pass(const Json& results) {
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
  Json report = document("reordering_cuda");
  if (!device.is_host()) report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["part"] = settings.part;
  report["results"] = Json::array();
  fmt::print("{}\n", support::device_text(device, Device{}));
  compare::CopyYardstick copy(device.is_host() ? copied_bytes / 64 : copied_bytes, device);
  // Kernels are loaded and handles made before a set-up is timed.
  const ZooMatrix small = make_zoo_matrix("rmat", 1e-3);
  static_cast<void>(Bench<double>(settings, small, device).measure(small, "fp64", copy));
  static_cast<void>(Bench<float>(settings, small, device).measure(small, "fp32", copy));
  fmt::print("(so far to warm up)\n");
  for (const std::string& family : settings.families) {
    const ZooMatrix zoo = make_zoo_matrix(family, settings.part);
    for (const std::string& precision : settings.precisions) {
      report["results"].push_back(precision == "fp32"
                                      ? Bench<float>(settings, zoo, device).measure(zoo, precision, copy)
                                      : Bench<double>(settings, zoo, device).measure(zoo, precision, copy));
      report["seconds"] = watch.seconds();
      write(report, settings.json);  // so that a run that is cut short leaves something
    }
  }
  fmt::print("{:.0f} s in all\n", watch.seconds());
  return all_pass(report["results"]);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Products in another numbering, set-up included");
  app.add_option("--families", settings.families, "Square families and matrices, as of bench_spmv_cuda")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--precision", settings.precisions, "fp64, fp32")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp64", "fp32"}))
      ->capture_default_str();
  app.add_option("--part", settings.part, "Part of the full number of rows")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--rcm-limit", settings.rcm_limit, "Most nonzeros that the host orders by rcm")->capture_default_str();
  app.add_option("--products", settings.products, "Products that set-up has to repay")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each product")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--device", settings.device, "cuda, cuda:N or host")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_reordering_cuda", [&] { return tessera::bench::run(settings); });
}
