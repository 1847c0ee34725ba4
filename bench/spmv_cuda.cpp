/// SpMV on a GPU. Timed, by events: y = A x by every kernel, on the generated families at full size, weighted and as a
/// pattern. Compared with: cuSPARSE's CSR product, or csr-vector where cuSPARSE is missing, its product in blocks
/// (BSR), a plain copy in device memory, and with its predicted time. All take turns in random order in one process; a
/// product counts only after it was found right in long double on the host; set-up and plan bytes stand beside the
/// times.
///
///   bench_spmv_cuda --json results.json
///   bench_spmv_cuda --families lap2d,kmer --kernels merbit,vendor-csr --part 0.1
///   bench_spmv_cuda --families lap2d,fem3d,road,band,stencil5,stencil27 --kernels patterns,merbit,csr-vector
///   bench_spmv_cuda --families lap2d,lap2d:any,lap2d:float,lap2d:few --kernels sell,patterns,merbit
///   bench_spmv_cuda --families shuffled5,shuffled27,bcsstk16.mtx.gz,ex31.mtx.gz --kernels patterns,auto
///   bench_spmv_cuda --families web,rmat,kmer,mawi,rowskew --kernels merbit,merbit:50
///   bench_spmv_cuda --families kmer:rcm:ones --part 0.02 --kernels sell,auto
///   bench_spmv_cuda --families elast3,block4,block6,band120,band,fem3d --kernels tiles,merbit,csr-vector
#include "bench/report.hpp"
#include "bench/spmv_entry.hpp"
#include "bench/spmv_predictions.hpp"
#include "bench/vendor_bsr.hpp"
#include "bench/zoo.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::string> families = zoo_families();
  std::vector<std::string> precisions{"fp64", "fp32"};
  std::vector<std::string> storages{"weighted", "pattern"};
  std::vector<std::string> kernels;  ///< empty: all
  std::string device = "cuda";
  std::string json;
  std::string baseline{vendor_name};  ///< of the whole run: csr-vector where the vendor's library is missing
  double part = 1.0;
  int rounds = 50;
};

/// cuSPARSE's product in blocks; its names end with the size of the blocks.
constexpr std::string_view blocks_name = "vendor-bsr";
/// So many sizes of blocks, those with the fewest bytes, are measured.
constexpr std::size_t most_block_sizes = 2;

bool wants(const Settings& settings, std::string_view name) {
  return settings.kernels.empty() ||
         std::find(settings.kernels.begin(), settings.kernels.end(), name) != settings.kernels.end();
}

std::vector<NamedKernel> contestants(const Settings& settings, const Device& device) {
  std::vector<NamedKernel> all;
  const auto add = [&](std::string name, SpmvAlgorithm algorithm, Determinism determinism,
                       std::int64_t products = SpmvOptions{}.expected_applications) {
    if (!wants(settings, name) && name != settings.baseline) return;
    SpmvOptions options;
    options.algorithm = algorithm;
    options.device = device;
    options.determinism = determinism;
    options.expected_applications = products;
    all.push_back({std::move(name), options});
  };
  for (const SpmvAlgorithm algorithm : spmv_algorithms(device)) {
    const std::string name(to_string(algorithm));
    add(name, algorithm, Determinism::not_guaranteed);
    if (algorithm != SpmvAlgorithm::merbit) continue;
    add(name + ":run", algorithm, Determinism::run_to_run);
    add(name + ":50", algorithm, Determinism::not_guaranteed, 50);
  }
  for (const SpmvAlgorithm choice : {SpmvAlgorithm::automatic, SpmvAlgorithm::measured}) {
    add(std::string(to_string(choice)), choice, Determinism::not_guaranteed);
  }
  return all;
}

template <class T>
Json row_of(const KernelRun<T>& entry, const KernelRun<T>* baseline, double bytes, double copy_rate) {
  Json row{{"kernel", entry.kernel},
           {"pattern", entry.pattern},
           {"pass", entry.failure.empty() || entry.refused},
           {"refused", entry.refused}};
  if (!entry.failure.empty()) {
    row["reason"] = entry.failure;
    return row;
  }
  const double share = bytes / entry.time.median * 1e-6 / copy_rate;
  row["time"] = json_of(entry.time);
  row["setup_ms"] = entry.setup_ms;
  row["plan_bytes"] = entry.info.bytes;
  if (!entry.kernel.starts_with(blocks_name)) {
    row["chosen"] = to_string(entry.info.algorithm);
    row["reason_of_plan"] = entry.info.reason;
  }
  row["sigma"] = entry.info.sigma;
  row["determinism"] = to_string(entry.info.determinism);
  row["error_over_bound"] = entry.error_over_bound;
  row["least_bytes"] = bytes;
  row["share_of_copy_bandwidth"] = share;
  if (baseline == nullptr) return row;
  row["speedup_over_baseline"] = json_of(median_ratio(baseline->samples, entry.samples));
  const auto pays = break_even(entry, *baseline);
  row["pays_after"] = pays ? Json(*pays) : Json(nullptr);
  return row;
}

void print_prediction(const Json& prediction) {
  if (prediction["rank"].is_null()) return;
  fmt::print("  fastest{}: {}, number {} by prediction\n", prediction["pattern"].get<bool>() ? " pattern" : "",
             prediction["fastest"].get<std::string>(), prediction["rank"].get<int>());
}

void print_row(const Json& row) {
  const std::string name = row["kernel"].get<std::string>();
  const char* storage = row["pattern"].get<bool>() ? "pattern" : "";
  if (row.contains("reason")) {
    fmt::print("  {:12}{:8} {}\n", name, storage, row["reason"].get<std::string>());
    return;
  }
  std::string ratio;
  std::string pays;
  if (row.contains("speedup_over_baseline")) {
    const Json& speedup = row["speedup_over_baseline"];
    ratio = fmt::format("{:5.2f}x [{:.2f}, {:.2f}]", speedup["ratio"].get<double>(), speedup["low"].get<double>(),
                        speedup["high"].get<double>());
    pays = row["pays_after"].is_null() ? "never" : fmt::format("{}", row["pays_after"].get<std::int64_t>());
  }
  fmt::print("  {:12}{:8} ({:8.3f} ms) {:8.4f} ms  {}  {:3.0f} % of copy  pays {:>6}  plan {:.1f} MB\n", name, storage,
             row["setup_ms"].get<double>(), row["time"]["median_ms"].get<double>(), ratio,
             100.0 * row["share_of_copy_bandwidth"].get<double>(), pays, 1e-6 * row["plan_bytes"].get<double>());
}

/// Speed-ups over the baseline of one precision, by kernel and storage, for the geometric means.
using Speedups = std::map<std::string, std::vector<double>>;

template <class T>
class Bench {
 public:
  Bench(const Settings& settings, std::string precision, const Device& device, compare::CopyYardstick& copy)
      : settings_(settings), precision_(std::move(precision)), device_(device), copy_(copy) {}

  [[nodiscard]] Json measure(const ZooMatrix& zoo);
  [[nodiscard]] Json means() const;

 private:
  [[nodiscard]] Case<T> make_case(const ZooMatrix& zoo, bool pattern, std::span<const T> x) const;
  void add_blocks(const Csr<double>& matrix, const Case<T>& given, const Array<T>& x, const Array<T>& nans,
                  std::vector<KernelRun<T>>& entries) const;
  [[nodiscard]] detail::ProductTraits traits_of(const Case<T>& given) const;
  [[nodiscard]] bool mixed() const { return precision_ == "mixed"; }

  const Settings& settings_;
  std::string precision_;
  Device device_;
  compare::CopyYardstick& copy_;
  Speedups speedups_;
};

template <class T>
Case<T> Bench<T>::make_case(const ZooMatrix& zoo, bool pattern, std::span<const T> x) const {
  const Csr<T> host = pattern ? pattern_of<T>(zoo.matrix) : with_type<T>(zoo.matrix);
  Case<T> result;
  result.pattern = pattern;
  result.reference = reference_product(host.view(), x, mixed());
  result.least_bytes = least_bytes(host, mixed() ? sizeof(float) : sizeof(T));
  result.matrix = std::make_shared<const Csr<T>>(host.to(device_));
  return result;
}

/// Where the matrix has values, all of the type of the sums. The set-up is a conversion on one thread of the host.
template <class T>
void Bench<T>::add_blocks(const Csr<double>& matrix, const Case<T>& given, const Array<T>& x, const Array<T>& nans,
                          std::vector<KernelRun<T>>& entries) const {
  if (given.pattern || mixed() || !wants(settings_, blocks_name)) return;
  const Csr<T> host = with_type<T>(matrix);
  std::vector<BlockSize> sizes = block_sizes(host.view());
  sizes.resize(std::min(sizes.size(), most_block_sizes));
  for (const BlockSize& blocks : sizes) {
    entries.push_back(
        prepare_product<T>(fmt::format("{}{}", blocks_name, blocks.size), given, x, nans, [&](KernelRun<T>& entry) {
          const Stopwatch converting;
          auto product = std::make_unique<VendorBsr<T>>(host.view(), blocks.size, device_);
          entry.setup_ms = converting.milliseconds();
          entry.info.bytes = product->bytes();
          entry.product = std::move(product);
        }));
    fmt::print("{}: blocks of {} filled by {:.2f}\n", blocks_name, blocks.size, blocks.fill);
  }
}

template <class T>
detail::ProductTraits Bench<T>::traits_of(const Case<T>& given) const {
  SpmvOptions options;
  options.device = device_;
  options.fp32_values = mixed();
  return detail::product_traits(given.matrix->view(), options);
}

/// Milliseconds of the kernels of the registry that were timed by their own names.
template <class T>
std::map<SpmvAlgorithm, double> times_by_kernel(const std::vector<KernelRun<T>>& entries, bool pattern) {
  std::map<SpmvAlgorithm, double> timed;
  for (const KernelRun<T>& entry : entries) {
    if (entry.pattern != pattern || entry.time.count == 0 || entry.kernel != to_string(entry.info.algorithm)) continue;
    timed[entry.info.algorithm] = entry.time.median;
  }
  return timed;
}

template <class T>
Json Bench<T>::measure(const ZooMatrix& zoo) {
  const Stopwatch whole;
  const std::vector<T> host_x = input_vector<T>(zoo.matrix.cols());
  const auto x = Array<T>::copy_of(host_x, device_);
  const auto nans = Array<T>::copy_of(
      std::vector<T>(static_cast<std::size_t>(zoo.matrix.rows()), std::numeric_limits<T>::quiet_NaN()), device_);
  std::vector<Case<T>> cases;
  std::vector<detail::ProductTraits> traits;
  std::vector<KernelRun<T>> entries;
  for (const std::string& storage : settings_.storages) {
    cases.push_back(make_case(zoo, storage == "pattern", host_x));
    traits.push_back(traits_of(cases.back()));  // before plans take memory
    for (NamedKernel contestant : contestants(settings_, device_)) {
      contestant.options.fp32_values = mixed();
      entries.push_back(prepare(contestant, cases.back(), x, nans));
    }
    add_blocks(zoo.matrix, cases.back(), x, nans, entries);
  }
  const double prepare_ms = whole.milliseconds();
  const double copy_rate = time_all(entries, x, copy_, settings_.rounds);
  check_again(entries, cases, x);
  const KernelRun<T>* baseline = baseline_of(entries, settings_.baseline);
  Json result{
      {"family", zoo.family},           {"precision", precision_},
      {"rows", zoo.matrix.rows()},      {"nonzeros", zoo.matrix.nnz()},
      {"generate_ms", zoo.generate_ms}, {"prepare_and_check_ms", prepare_ms},
      {"copy_gbytes_per_s", copy_rate}, {"baseline", baseline == nullptr ? Json(nullptr) : Json(baseline->kernel)}};
  fmt::print(
      "{:8} {}  {:.1f} M rows, {:.1f} M nonzeros  copy {:.0f} GB/s  (generated in {:.1f} s, checked in {:.1f} s, "
      "timed in {:.1f} s)  against {}\n",
      zoo.family, precision_, 1e-6 * zoo.matrix.rows(), 1e-6 * static_cast<double>(zoo.matrix.nnz()), copy_rate,
      1e-3 * zoo.generate_ms, 1e-3 * prepare_ms, 1e-3 * (whole.milliseconds() - prepare_ms),
      baseline == nullptr ? "nothing" : baseline->kernel);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool pattern = cases[i].pattern;
    Json prediction = prediction_json(traits[i], device_figures(device_), times_by_kernel(entries, pattern));
    prediction["pattern"] = pattern;
    print_prediction(prediction);
    result["predictions"].push_back(std::move(prediction));
  }
  for (const KernelRun<T>& entry : entries) {
    const auto own = std::find_if(cases.begin(), cases.end(),
                                  [&entry](const Case<T>& each) { return each.pattern == entry.pattern; });
    Json row = row_of(entry, baseline, own->least_bytes, copy_rate);
    print_row(row);
    if (row.contains("speedup_over_baseline")) {
      speedups_[entry.kernel + (entry.pattern ? " pattern" : "")].push_back(
          row["speedup_over_baseline"]["ratio"].get<double>());
    }
    result["kernels"].push_back(std::move(row));
  }
  std::fflush(stdout);
  return result;
}

template <class T>
Json Bench<T>::means() const {
  Json means = Json::array();
  fmt::print("geometric means over the baseline, {}\n", precision_);
  for (const auto& [name, ratios] : speedups_) {
    double logs = 0.0;
    for (const double ratio : ratios) logs += std::log(ratio);
    const double mean = std::exp(logs / static_cast<double>(ratios.size()));
    const double least = *std::min_element(ratios.begin(), ratios.end());
    fmt::print("  {:20} {:5.2f}x over {} families, least {:.2f}x\n", name, mean, ratios.size(), least);
    means.push_back({{"kernel", name},
                     {"precision", precision_},
                     {"families", ratios.size()},
                     {"geometric_mean_speedup", mean},
                     {"least_speedup", least}});
  }
  return means;
}

/// One plan of each kernel on a small matrix: libraries are loaded and handles made before a set-up is timed.
/// \returns the names of those that this machine offers
template <class T>
std::vector<std::string> wake_up(const Settings& settings, const Device& device) {
  std::vector<std::string> awake;
  const auto small = std::make_shared<const Csr<T>>(with_type<T>(make_zoo_matrix("lap2d", 1e-3).matrix));
  for (const NamedKernel& contestant : contestants(settings, device)) {
    try {
      const SpmvPlan<T> plan(small, contestant.options);
      DualBuffer<T> out = plan.make_output();
      const Array<T> x(plan.cols(), Init::zero, device);
      plan.apply(x.span(), out);
      awake.push_back(contestant.name);
    } catch (const NotSupported& error) {
      fmt::print("{}: {}\n", contestant.name, error.what());
    }
  }
  synchronize(device);
  return awake;
}

bool all_pass(const Json& results) {
  for (const Json& result : results) {
    for (const Json& row : result["kernels"]) {
      if (!row["pass"].get<bool>()) return false;
    }
  }
  return true;
}

bool run(Settings settings) {
  const Stopwatch watch;
  const Device device = Device::parse(settings.device);
  if (device.is_host())
    throw InvalidArgument("bench_spmv measures the host; this program needs --device cuda or cuda:N");
  Json report = document("spmv_cuda");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["results"] = Json::array();
  report["means"] = Json::array();
  fmt::print("{}\n", support::device_text(device, Device{}));
  const auto awake = wake_up<double>(settings, device);
  static_cast<void>(wake_up<float>(settings, device));
  if (std::find(awake.begin(), awake.end(), vendor_name) == awake.end()) settings.baseline = plain_name;
  report["baseline"] = settings.baseline;
  compare::CopyYardstick copy(copied_bytes, device);
  std::map<std::string, Bench<double>> doubles;
  std::map<std::string, Bench<float>> floats;
  for (const std::string& precision : settings.precisions) {
    if (precision == "fp32") {
      floats.emplace(precision, Bench<float>(settings, precision, device, copy));
    } else {
      doubles.emplace(precision, Bench<double>(settings, precision, device, copy));
    }
  }
  for (const std::string& family : settings.families) {
    const ZooMatrix zoo = make_zoo_matrix(family, settings.part);
    for (auto& [precision, bench] : doubles) report["results"].push_back(bench.measure(zoo));
    for (auto& [precision, bench] : floats) report["results"].push_back(bench.measure(zoo));
    report["seconds"] = watch.seconds();
    write(report, settings.json);  // so that a run that is cut short leaves something
  }
  for (const auto& [precision, bench] : doubles) report["means"].push_back(bench.means());
  for (const auto& [precision, bench] : floats) report["means"].push_back(bench.means());
  report["seconds"] = watch.seconds();
  write(report, settings.json);
  fmt::print("{:.0f} s in all\n", watch.seconds());
  return all_pass(report["results"]);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("SpMV kernels on a GPU over the matrix families");
  app.add_option("--families", settings.families,
                 "Families to measure, also lap2d:any, :few, :float, :ones, :symmetric, :rcm, and Matrix Market files")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--precision", settings.precisions, "fp64, fp32, mixed (values in fp32, sums in fp64)")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp64", "fp32", "mixed"}))
      ->capture_default_str();
  app.add_option("--storage", settings.storages, "weighted, pattern")
      ->delimiter(',')
      ->check(CLI::IsMember({"weighted", "pattern"}))
      ->capture_default_str();
  app.add_option("--kernels", settings.kernels,
                 "Kernels to measure besides the baseline; merbit:run, merbit:50 (planned for 50 products), auto and "
                 "vendor-bsr too")
      ->delimiter(',');
  app.add_option("--part", settings.part, "Part of the full number of rows")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each kernel")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_spmv_cuda", [&] { return tessera::bench::run(settings); });
}
