/// SpMM on a GPU. Timed, by events: Y = A X with some columns, by the kernels that are named, column-major and
/// row-major, and as so many products y = A x of `auto`. Compared with: cuSPARSE's SpMM by its algorithms. All take
/// turns in random order in one process; a product counts only after its columns were found right in long double on the
/// host.
///
///   bench_spmm_cuda --json results.json
///   bench_spmm_cuda --families elast3 --columns 32 --kernels tiles
///   bench_spmm_cuda --kernels auto --panels rows,rows:4,direct,path,path:64
#include "bench/report.hpp"
#include "bench/vendor_spmm.hpp"
#include "bench/zoo.hpp"
#include "spmv/multi_vector/panel_product.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

constexpr auto by_columns = MultiVectorLayout::column_major;
constexpr auto by_rows = MultiVectorLayout::row_major;

struct Settings {
  std::vector<std::string> families = zoo_families();
  std::vector<std::string> precisions{"fp64", "fp32"};
  std::vector<std::string> kernels{"auto", "csr-vector", "merbit"};
  std::vector<std::string> panels;  ///< forms of panels, as PanelTuning
  std::string device = "cuda";
  std::string json;
  double part = 1.0;
  std::int64_t columns = 8;
  std::int64_t checked = 1024;  ///< columns
  int rounds = 50;
};

/// One way to form Y, and what became of it.
struct Way {
  std::string name;
  MultiVectorLayout layout = by_columns;
  std::function<void()> multiply;
  std::string failure;
  double error_over_bound = 0.0;
  std::vector<double> ms;
};

template <class T>
class Bench {
 public:
  Bench(const Settings& settings, const Device& device, const ZooMatrix& zoo)
      : settings_(settings), device_(device), host_(with_type<T>(zoo.matrix)) {
    matrix_ = std::make_shared<const Csr<T>>(host_.to(device));
    for (const auto layout : {by_columns, by_rows}) {
      const std::vector<T> elements = block_of_inputs(layout);
      x_.push_back(Array<T>::copy_of(elements, device));
      y_.emplace_back(std::int64_t{host_.rows()} * settings.columns, Init::none, device);
    }
    for (std::int64_t j = 0; j < std::min(settings.columns, settings.checked); ++j) {
      references_.push_back(reference_product<T>(host_.view(), input_column(j), false));
    }
  }

  [[nodiscard]] Json measure();

 private:
  [[nodiscard]] std::vector<T> input_column(std::int64_t j) const {
    std::vector<T> column = input_vector<T>(host_.cols());
    std::rotate(column.begin(), column.begin() + std::min<std::int64_t>(17 * j, host_.cols() - 1), column.end());
    return column;
  }
  [[nodiscard]] std::vector<T> block_of_inputs(MultiVectorLayout layout) const {
    std::vector<T> elements(static_cast<std::size_t>(host_.cols() * settings_.columns));
    const MultiVectorView<T> view(elements, host_.cols(), settings_.columns, layout);
    for (std::int64_t j = 0; j < settings_.columns; ++j) {
      const std::vector<T> column = input_column(j);
      for (std::int64_t i = 0; i < host_.cols(); ++i) view(i, j) = column[static_cast<std::size_t>(i)];
    }
    return elements;
  }
  [[nodiscard]] MultiVectorView<const T> x(MultiVectorLayout layout) const {
    return {x_[layout == by_columns ? 0 : 1].span(), host_.cols(), settings_.columns, layout};
  }
  [[nodiscard]] MultiVectorView<T> y(MultiVectorLayout layout) {
    return {y_[layout == by_columns ? 0 : 1].span(), host_.rows(), settings_.columns, layout};
  }

  void add(std::string name, MultiVectorLayout layout, std::function<void()> multiply) {
    ways_.push_back({std::move(name), layout, std::move(multiply), {}, 0.0, {}});
  }
  void add_kernel(const std::string& name);
  void add_panels(const std::string& form);
  void add_vendor();
  void check(Way& way);
  void time();
  [[nodiscard]] Json row_of(const Way& way) const;

  const Settings& settings_;
  Device device_;
  Csr<T> host_;
  std::shared_ptr<const Csr<T>> matrix_;
  std::vector<Array<T>> x_;  ///< column-major, row-major
  std::vector<Array<T>> y_;
  std::vector<Reference> references_;  ///< one per column that is checked
  std::vector<Way> ways_;
};

/// One by one: by `auto` alone, and by kernels with panels of their own.
template <class T>
void Bench<T>::add_kernel(const std::string& name) {
  SpmvOptions options;
  options.device = device_;
  options.algorithm = parse_spmv_algorithm(name);
  const auto plan = std::make_shared<SpmvPlan<T>>(matrix_, options);
  PlanInternals::prepare_columns(*plan);
  if (name == "auto" || name == "tiles") {
    add(name + " one by one", by_columns, [this, plan] {
      for (std::int64_t j = 0; j < settings_.columns; ++j) {
        plan->apply(x(by_columns).column(j), y(by_columns).column(j));
      }
    });
  }
  add(name + " columns", by_columns, [this, plan] { plan->apply_many(x(by_columns), y(by_columns)); });
  add(name + " rows", by_rows, [this, plan] { plan->apply_many(x(by_rows), y(by_rows)); });
}

/// \param form rows, direct (X of columns as it is) or path, and after a colon strands per row or items per share
template <class T>
void Bench<T>::add_panels(const std::string& form) {
  const std::string kind = form.substr(0, form.find(':'));
  const int number = kind == form ? 0 : std::stoi(form.substr(kind.size() + 1));
  cuda::PanelTuning tuning;
  tuning.form = kind == "path" ? cuda::PanelForm::path : cuda::PanelForm::rows;
  (kind == "path" ? tuning.items : tuning.strands) = number;
  tuning.packs_columns = kind != "direct";
  const std::shared_ptr<cuda::PanelProduct<T>> product = cuda::make_panel_product(device_, matrix_->view(), tuning);
  for (const auto layout : {by_columns, by_rows}) {
    if (kind == "direct" && layout == by_rows) continue;
    add(form + (layout == by_columns ? " columns" : " rows"), layout,
        [this, product, layout] { product->multiply(matrix_->view(), T{1}, x(layout), T{0}, y(layout)); });
  }
}

template <class T>
void Bench<T>::add_vendor() {
  for (const auto& [layout, algorithm] : {std::pair{by_columns, 1}, {by_columns, 3}, {by_rows, 2}, {by_rows, 3}}) {
    const std::string name = fmt::format("cusparse {} {}", layout == by_columns ? "columns" : "rows", algorithm);
    try {
      const auto vendor = std::make_shared<VendorSpmm<T>>(matrix_->view(), x(layout), y(layout), device_, algorithm);
      add(name, layout, [vendor] { vendor->multiply(); });
    } catch (const Error& error) {
      add(name, layout, {});
      ways_.back().failure = error.what();
    }
  }
}

/// Into a Y of NaN.
template <class T>
void Bench<T>::check(Way& way) {
  if (!way.failure.empty()) return;
  const MultiVectorView<T> result = y(way.layout);
  std::vector<T> elements(result.elements().size(), std::numeric_limits<T>::quiet_NaN());
  detail::copy_bytes(device_, result.data(), Device{}, elements.data(), elements.size() * sizeof(T));
  way.multiply();
  detail::copy_bytes(Device{}, elements.data(), device_, result.data(), elements.size() * sizeof(T));
  const MultiVectorView<T> found(elements, result.rows(), result.columns(), result.layout());
  std::vector<T> column(static_cast<std::size_t>(found.rows()));
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(references_.size()); ++j) {
    for (std::int64_t i = 0; i < found.rows(); ++i) column[static_cast<std::size_t>(i)] = found(i, j);
    way.error_over_bound = std::max(
        way.error_over_bound, error_over_bound<T>(references_[static_cast<std::size_t>(j)], std::as_const(column)));
  }
  if (!(way.error_over_bound <= 1.0)) {
    way.failure = fmt::format("WRONG: error {:.3g} times what rounding explains", way.error_over_bound);
  }
}

template <class T>
void Bench<T>::time() {
  std::vector<TimingCandidate> candidates;
  std::vector<Way*> timed;
  for (Way& way : ways_) {
    if (!way.failure.empty()) continue;
    timed.push_back(&way);
    candidates.push_back({way.name, way.multiply, {}});
  }
  TimingOptions options;
  options.warmup = 3;
  options.min_rounds = settings_.rounds;
  options.max_rounds = settings_.rounds;
  options.min_seconds = 0.0;
  options.min_sample_ms = 1.0;
  options.clock = timing_clock(device_);
  const TimingSamples samples = time_interleaved(candidates, options);
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i]->ms = samples[i];
}

template <class T>
Json Bench<T>::row_of(const Way& way) const {
  Json row{{"name", way.name}, {"pass", way.failure.empty()}};
  if (!way.failure.empty()) {
    row["reason"] = way.failure;
    return row;
  }
  row["time"] = json_of(summarise(way.ms));
  row["error_over_bound"] = way.error_over_bound;
  for (const Way& other : ways_) {
    const bool is_base = other.name.ends_with("one by one") || other.name.starts_with("cusparse");
    if (is_base && &other != &way && !other.ms.empty()) add_speedup(row, other.name, other.ms, way.ms);
  }
  return row;
}

template <class T>
Json Bench<T>::measure() {
  for (const std::string& kernel : settings_.kernels) add_kernel(kernel);
  for (const std::string& form : settings_.panels) add_panels(form);
  add_vendor();
  for (Way& way : ways_) check(way);
  time();
  Json rows = Json::array();
  for (const Way& way : ways_) {
    rows.push_back(row_of(way));
    if (way.ms.empty()) {
      fmt::print("  {:24} {}\n", way.name, way.failure);
    } else {
      fmt::print("  {:24} {:8.4f} ms\n", way.name, summarise(way.ms).median);
    }
  }
  std::fflush(stdout);
  return rows;
}

template <class T>
Json measure(const Settings& settings, const std::string& precision, const Device& device, const ZooMatrix& zoo) {
  fmt::print("{} {}, {} columns: {:.1f} M rows, {:.1f} M nonzeros\n", zoo.family, precision, settings.columns,
             1e-6 * zoo.matrix.rows(), 1e-6 * static_cast<double>(zoo.matrix.nnz()));
  return {{"family", zoo.family},         {"precision", precision},
          {"columns", settings.columns},  {"rows", zoo.matrix.rows()},
          {"nonzeros", zoo.matrix.nnz()}, {"ways", Bench<T>(settings, device, zoo).measure()}};
}

/// Geometric means over all results: of cuSPARSE's best time, and of the products one by one, over that of each way.
Json means_of(const Json& results) {
  struct Sums {
    double of_vendor = 0.0;
    double of_ones = 0.0;
    int count = 0;
  };
  std::map<std::string, Sums> sums;
  for (const Json& result : results) {
    std::map<std::string, double> ms;
    double vendor = std::numeric_limits<double>::infinity();
    for (const Json& way : result["ways"]) {
      if (!way["pass"].get<bool>()) continue;
      const std::string name = way["name"];
      const double median = way["time"]["median_ms"];
      if (name.starts_with("cusparse")) vendor = std::min(vendor, median);
      ms[name] = median;
    }
    const auto ones = ms.find("auto one by one");
    for (const auto& [name, median] : ms) {
      Sums& of_way = sums[name];
      of_way.of_vendor += std::log(vendor / median);
      if (ones != ms.end()) of_way.of_ones += std::log(ones->second / median);
      ++of_way.count;
    }
  }
  Json means = Json::array();
  for (const auto& [name, of_way] : sums) {
    means.push_back({{"name", name},
                     {"results", of_way.count},
                     {"cusparse_over_way", std::exp(of_way.of_vendor / of_way.count)},
                     {"one_by_one_over_way", std::exp(of_way.of_ones / of_way.count)}});
    fmt::print("{:24} {:3} results: best cuSPARSE / way {:.3f}, one by one / way {:.3f}\n", name, of_way.count,
               means.back()["cusparse_over_way"].get<double>(), means.back()["one_by_one_over_way"].get<double>());
  }
  return means;
}

bool run(const Settings& settings) {
  const Device device = Device::parse(settings.device);
  if (device.is_host()) throw InvalidArgument("bench_spmm_cuda needs --device cuda or cuda:N");
  Json report = document("spmm_cuda");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["tessera"]["cuda_toolkit"] = build_info().cuda;
  report["results"] = Json::array();
  fmt::print("{}\n", support::device_text(device, Device{}));
  for (const std::string& family : settings.families) {
    const ZooMatrix zoo = make_zoo_matrix(family, settings.part);
    for (const std::string& precision : settings.precisions) {
      report["results"].push_back(precision == "fp32" ? measure<float>(settings, precision, device, zoo)
                                                      : measure<double>(settings, precision, device, zoo));
      write(report, settings.json);
    }
  }
  report["geometric_means"] = means_of(report["results"]);
  write(report, settings.json);
  const auto failed = [](const Json& result) {
    return std::any_of(result["ways"].begin(), result["ways"].end(),
                       [](const Json& way) { return !way["pass"].template get<bool>(); });
  };
  return std::none_of(report["results"].begin(), report["results"].end(), failed);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Products of a sparse matrix and several columns on a GPU");
  app.add_option("--families", settings.families, "Families to measure")->delimiter(',')->capture_default_str();
  app.add_option("--precision", settings.precisions, "fp64, fp32")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp64", "fp32"}))
      ->capture_default_str();
  app.add_option("--kernels", settings.kernels, "Kernels to measure")->delimiter(',')->capture_default_str();
  app.add_option("--panels", settings.panels,
                 "Forms of panels to measure: rows, rows:STRANDS, direct, path, path:ITEMS")
      ->delimiter(',');
  app.add_option("--checked", settings.checked, "Columns to check")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--columns", settings.columns, "Columns of X")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--part", settings.part, "Part of the full number of rows")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--device", settings.device, "cuda or cuda:N")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_spmm_cuda", [&] { return tessera::bench::run(settings); });
}
