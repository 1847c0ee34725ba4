/// SpGEMM on a GPU. Timed, wall clock: whole products A A where A is square, else A times its transpose, C's allocation
/// from a warm pool included. Compared with: cuSPARSE, algorithm 1, from the same pool. One candidate runs after the
/// other, each after its own warm-ups. A product counts only after it was found equal to the host's.
///
///   bench_spgemm_cuda --json results.json
///   bench_spgemm_cuda --problems fem27,A.mtx.gz,A.mtx.gz:t --ways auto,hll,bitmap
///   bench_spgemm_cuda --problems ap5,ap9,ap7,ap27 --ways auto,esc
///   bench_spgemm_cuda --problems band,elast3,block2,block6,star3,plane2,thin-elast3,fem27 --ways exact,tiles,auto
///   bench_spgemm_cuda --problems grid-block,grid-blocks --ways exact,tiles,auto --most-checked 10000000000
///   bench_spgemm_cuda --problems band,elast3,block6,bcsstk16.mtx.gz --ways tiles,bmsparse,tsparse
///   bench_spgemm_cuda --problems band,elast3,block6 --ways tiles,fp16-fp32,fp32:tiles,fp32:tiles-ordered,fp32:3xtf32
///   bench_spgemm_cuda --problems band,elast3,block6 --ways tiles,tiles-resident,to-tiles,to-csr,cube,cube-resident
///   bench_spgemm_cuda --problems mg7-200:r0ap,mg27-140:a0p0 --ways auto,exact+esc,exact+small_hash,sampled+small_hash
///   bench_spgemm_cuda --problems cnr-2000.mtx.gz,cnr-2000.mtx.gz:t --ways auto,sliced --no-vendor
#include "bench/paper_product.hpp"
#include "bench/report.hpp"
#include "bench/spgemm_resident.hpp"
#include "bench/spgemm_ways.hpp"
#include "bench/spgemm_zoo.hpp"
#include "bench/vendor_spgemm.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/host/workflows/workflow_choice.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/spgemm_slices.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
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

constexpr const char* vendor_name = "cusparse-alg1";
/// In slices, within half of the bytes of C; each is dropped.
constexpr const char* sliced_name = "sliced";

struct Settings {
  std::vector<std::string> problems = spgemm_families();
  std::vector<std::string> ways{"auto"};
  std::string device = "cuda";
  std::string json;
  bool vendor = true;
  int warmups = 10;
  int rounds = 10;
  std::int64_t most_checked = 2'000'000'000;
};

/// A way to form the product, and what became of it.
struct ProductWay {
  std::string name;
  std::function<Csr<double>()>
      multiply;  ///< the vendor's C stays with it, and one in single precision or in tiles is dropped
  std::function<Csr<double>()> fetch;  ///< the same on the host; none where there is no A B
  std::vector<double> ms;
  std::string failure;
  SpgemmReport report;                  ///< of Tessera's
  std::size_t slices = 0;               ///< of a product in slices
  std::unique_ptr<PaperProduct> paper;  ///< of a paper's
  double difference = 0.0;              ///< from the host's product, see difference_of()
};

class Bench {
 public:
  Bench(const Settings& settings, const Device& device) : settings_(settings), device_(device) {}

  [[nodiscard]] Json measure(const std::string& name);

 private:
  void prepare(const SpgemmProblem& problem);
  void check(const SpgemmProblem& problem);
  void time();
  [[nodiscard]] Json rows_of() const;
  void prepare_way(ProductWay& candidate, const Csr<double>& right);
  void prepare_paper(ProductWay& candidate, const Csr<double>& right);
  void prepare_single(ProductWay& candidate);
  void prepare_resident(ProductWay& candidate, const Csr<double>& right);
  void prepare_sliced(ProductWay& candidate, const Csr<double>& right);
  void check_way(ProductWay& candidate, const Csr<double>& expected) const;

  const Settings& settings_;
  Device device_;
  Csr<double> a_;
  Csr<double> b_;
  Csr<float> a_single_;  ///< where single precision is measured
  Csr<float> b_single_;
  std::optional<VendorSpgemm> vendor_;
  std::optional<ResidentTiles> resident_;
  std::vector<ProductWay> candidates_;
  std::uint64_t product_bytes_ = 0;
};

void Bench::prepare(const SpgemmProblem& problem) {
  candidates_.clear();
  resident_.reset();
  vendor_.reset();
  a_ = problem.a.to(device_);
  const bool squared = &problem.right() == &problem.a;
  b_ = squared ? Csr<double>() : problem.right().to(device_);
  const Csr<double>& right = squared ? a_ : b_;
  if (std::any_of(settings_.ways.begin(), settings_.ways.end(), is_single)) {
    a_single_ = converted<float>(problem.a, device_);
    b_single_ = squared ? Csr<float>() : converted<float>(problem.right(), device_);
  }
  candidates_.reserve(settings_.ways.size() + 1);
  if (settings_.vendor) {
    ProductWay& vendor = candidates_.emplace_back();
    vendor.name = vendor_name;
    try {
      vendor_.emplace(a_, right, device_);
      vendor.multiply = [this] {
        static_cast<void>(vendor_->multiply());
        return Csr<double>();
      };
    } catch (const Error& error) {
      vendor.failure = error.what();
    }
  }
  for (const std::string& way : settings_.ways) {
    ProductWay& candidate = candidates_.emplace_back();
    candidate.name = way;
    prepare_way(candidate, right);
  }
}

void Bench::prepare_paper(ProductWay& candidate, const Csr<double>& right) {
  try {
    candidate.paper = std::make_unique<PaperProduct>(candidate.name, a_, right, device_);
    candidate.multiply = [paper = candidate.paper.get()] {
      paper->multiply();
      return Csr<double>();
    };
  } catch (const Error& error) {
    candidate.failure = error.what();
  }
}

void Bench::prepare_single(ProductWay& candidate) {
  const Csr<float>& right = b_.rows() == 0 ? a_single_ : b_single_;
  const auto product = [this, &candidate, &right, options = options_of(candidate.name, device_)] {
    SpgemmResult<float> result = spgemm(a_single_, right, options);
    candidate.report = std::move(result.report);
    return std::move(result.matrix);
  };
  candidate.multiply = [product] {
    static_cast<void>(product());
    return Csr<double>();
  };
  candidate.fetch = [product] { return converted<double>(product(), Device{}); };
}

void Bench::prepare_resident(ProductWay& candidate, const Csr<double>& right) {
  if (!resident_) resident_.emplace(a_, right, device_);
  candidate.multiply = [this, &candidate] {
    if (auto report = resident_->run(candidate.name)) candidate.report = std::move(*report);
    return Csr<double>();
  };
  if (candidate.name == "tiles-resident") candidate.fetch = [this] { return resident_->product().to(Device{}); };
}

void Bench::prepare_sliced(ProductWay& candidate, const Csr<double>& right) {
  const auto options = [this] {
    SpgemmOptions result = options_of("auto", device_);
    result.memory_limit_bytes = product_bytes_ / 2;
    return result;
  };
  candidate.multiply = [this, &candidate, &right, options] {
    SlicedReport report = spgemm_sliced(a_, right, options(), [](SpgemmSlice<double> /*slice*/) {});
    candidate.report = std::move(report.product);
    candidate.slices = report.slices.size();
    return Csr<double>();
  };
  candidate.fetch = [this, &right, options] { return spgemm_to_host(a_, right, options()).matrix; };
}

/// A plan's report is that of its set-up, which its time leaves out.
void Bench::prepare_way(ProductWay& candidate, const Csr<double>& right) {
  if (PaperProduct::knows(candidate.name)) return prepare_paper(candidate, right);
  if (is_single(candidate.name)) return prepare_single(candidate);
  if (is_resident_way(candidate.name)) return prepare_resident(candidate, right);
  if (candidate.name == sliced_name) return prepare_sliced(candidate, right);
  candidate.fetch = [&candidate] { return candidate.multiply().to(Device{}); };
  const SpgemmOptions options = options_of(candidate.name, device_);
  if (candidate.name != plan_name) {
    candidate.multiply = [this, &candidate, &right, options] {
      SpgemmResult<double> result = spgemm(a_, right, options);
      candidate.report = std::move(result.report);
      return std::move(result.matrix);
    };
    return;
  }
  candidate.multiply = [this, &candidate, &right, options, plan = std::shared_ptr<SpgemmPlan<double>>()]() mutable {
    const auto lent = [](const Csr<double>& matrix) {
      return std::shared_ptr<const Csr<double>>(std::shared_ptr<void>(), &matrix);
    };
    if (!plan) plan = std::make_shared<SpgemmPlan<double>>(lent(a_), lent(right), options);
    candidate.report = plan->report();
    return plan->multiply();
  };
}

/// The workflow that the rule of Ocean, §3 takes, from a sample of the rows.
Json paper_choice(const Csr<double>& a, const Csr<double>& b, const Device& device) {
  const SpgemmReport report = spgemm(a, b, options_of("sampled", device)).report;
  if (!report.sample) return nullptr;
  const double mean_products = a.rows() == 0 ? 0.0 : static_cast<double>(report.products) / a.rows();
  return {{"workflow", to_string(host::workflow_of_paper(mean_products, report.expansion, report.sample->compression))},
          {"mean_products", mean_products},
          {"expansion", report.expansion},
          {"sampled_compression", report.sample->compression},
          {"compression", report.compression()}};
}

void Bench::check_way(ProductWay& candidate, const Csr<double>& expected) const {
  try {
    if (candidate.paper) {
      static_cast<void>(candidate.multiply());
      candidate.failure = candidate.paper->check(expected);
      return;
    }
    candidate.difference = difference_of(expected, candidate.fetch());
    const double tolerance = tolerance_of(candidate.name == sliced_name ? "auto" : candidate.name);
    if (!(candidate.difference <= tolerance)) {
      candidate.failure = fmt::format("the product differs from the host's by {:.2g}", candidate.difference);
    }
  } catch (const Error& error) {
    candidate.failure = error.what();
  }
}

/// Compares every way but the vendor's with the host, entry by entry.
void Bench::check(const SpgemmProblem& problem) {
  const Csr<double> expected = spgemm(problem.a, problem.right()).matrix;
  for (ProductWay& candidate : candidates_) {
    if (candidate.name == vendor_name || !candidate.failure.empty()) continue;
    if (candidate.paper || candidate.fetch) check_way(candidate, expected);
  }
}

void Bench::time() {
  for (ProductWay& candidate : candidates_) {
    try {
      // At least one is not timed: a plan is made in the first.
      for (int round = std::min(-settings_.warmups, -1); round < settings_.rounds && candidate.failure.empty();
           ++round) {
        const Stopwatch watch;
        static_cast<void>(candidate.multiply());
        if (round >= 0) candidate.ms.push_back(watch.milliseconds());
      }
    } catch (const Error& error) {
      candidate.failure = error.what();
      candidate.ms.clear();
    }
  }
}

Json Bench::rows_of() const {
  Json rows = Json::array();
  for (const ProductWay& candidate : candidates_) {
    Json row{{"name", candidate.name}};
    if (!candidate.failure.empty()) {
      row["failure"] = candidate.failure;
      fmt::print("  {:14} {}\n", candidate.name, candidate.failure);
      rows.push_back(std::move(row));
      continue;
    }
    double sum = 0.0;
    for (const double ms : candidate.ms) sum += ms;
    row["time"] = json_of(summarise(candidate.ms));
    row["mean_ms"] = sum / static_cast<double>(candidate.ms.size());
    if (candidate.name == vendor_name) {
      row["peak_bytes"] = vendor_->peak_bytes();
    } else if (candidate.paper) {
      row["paper"] = candidate.paper->facts();
    } else {
      row["report"] = json_of_report(candidate.report, product_bytes_);
      row["difference"] = candidate.difference;
      if (candidate.slices > 0) row["slices"] = candidate.slices;
    }
    if (settings_.vendor) add_speedup(row, vendor_name, candidates_.front().ms, candidate.ms);
    fmt::print("  {:14} {:9.3f} ms{}  (analysis {:.3f}, sizing {:.3f}, numeric {:.3f}, compaction {:.3f})\n",
               candidate.name, row["time"]["median_ms"].get<double>(), speedup_text(row), candidate.report.analysis_ms,
               candidate.report.sizing_ms, candidate.report.numeric_ms, candidate.report.compaction_ms);
    if (candidate.report.loss) fmt::print("  {:14} {}\n", "", loss_text(*candidate.report.loss));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json Bench::measure(const std::string& name) {
  const Stopwatch generating;
  const SpgemmProblem problem = make_spgemm_problem(name);
  const double generate_ms = generating.milliseconds();
  prepare(problem);
  // The first product warms the pool.
  const SpgemmReport report = spgemm(a_, b_.rows() == 0 ? a_ : b_, options_of("auto", device_)).report;
  product_bytes_ = (static_cast<std::uint64_t>(a_.rows()) + 1) * sizeof(offset_t) +
                   static_cast<std::uint64_t>(report.nnz) * (sizeof(index_t) + sizeof(double));
  const bool checked = report.products <= settings_.most_checked;
  if (checked) check(problem);
  time();
  fmt::print("{}: {} rows, {} products, {} entries, {:.2f} products an entry{}\n", problem.name, a_.rows(),
             report.products, report.nnz, report.compression(), checked ? "" : ", not checked");
  return {{"problem", problem.name},
          {"rows", a_.rows()},
          {"nnz", a_.nnz()},
          {"right_nnz", problem.right().nnz()},
          {"products", report.products},
          {"product_nnz", report.nnz},
          {"expansion", report.expansion},
          {"product_bytes", product_bytes_},
          {"generate_or_read_ms", generate_ms},
          {"checked", checked},
          {"paper", paper_choice(a_, b_.rows() == 0 ? a_ : b_, device_)},
          {"entrants", rows_of()}};
}

void run(const Settings& settings) {
  const Device device = Device::parse(settings.device);
  const Stopwatch total;
  Json report = document("spgemm_cuda");
  report["machine"]["gpu"] = support::gpu_json(device);
  report["baseline"] = "cusparseSpGEMM, algorithm 1, fp64, 32-bit offsets, buffers and C from the same pool";
  report["protocol"] =
      fmt::format("wall clock of whole products, C allocated from a warm pool; each alone, {} warm-ups, {} rounds",
                  settings.warmups, settings.rounds);
  report["problems"] = Json::array();
  Bench bench(settings, device);
  for (const std::string& name : settings.problems) {
    try {
      report["problems"].push_back(bench.measure(name));
    } catch (const OutOfMemory& error) {
      fmt::print("{}: {}\n", name, error.what());
      report["problems"].push_back({{"problem", name}, {"failure", error.what()}});
    }
    std::fflush(stdout);
    report["seconds"] = 1e-3 * total.milliseconds();
    write(report, settings.json);
  }
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Sparse products on a GPU against cuSPARSE's");
  app.add_option("--problems", settings.problems, "Families and files, separated by commas")->delimiter(',');
  app.add_option(
         "--ways", settings.ways,
         "auto, short-rows (auto, expecting short rows), ordered, plan, workflows, accumulators, tiles-ordered, "
         "precisions; sliced (in slices, within half of C's bytes); fp32:NAME in single precision; bmsparse, tsparse "
         "(as their papers, from tiles to tiles); " +
             tessera::bench::resident_ways())
      ->delimiter(',');
  app.add_option("--device", settings.device, "GPU")->capture_default_str();
  app.add_option("--warmups", settings.warmups, "Untimed products of each")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->capture_default_str();
  app.add_option("--most-checked", settings.most_checked, "Scalar products up to which the host is asked")
      ->capture_default_str();
  app.add_flag("!--no-vendor", settings.vendor, "Leave the vendor out");
  app.add_option("--json", settings.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_spgemm_cuda", [&] { tessera::bench::run(settings); });
}
