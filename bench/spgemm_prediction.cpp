/// Predictions of sparse products, chains and powers from sketches, held against what is formed: sizes, times, and the
/// order of association against the others, all formed and timed in the same run. Wall clock; matrices lie on the
/// device.
///
///   bench_spgemm_prediction --json results.json
///   bench_spgemm_prediction --device host --products bcsstk16.mtx.gz --powers cage8.mtx.gz --chains mg7-40:a0p0
#include "tessera/spgemm_prediction.hpp"
#include "bench/report.hpp"
#include "bench/spgemm_zoo.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::string> products = spgemm_families();
  std::vector<std::string> powers;
  std::vector<std::string> chains;
  std::string device = "cuda";
  std::string json;
  int rounds = 7;
};

/// Median time of work() after one run that is not timed.
double median_ms(int rounds, const std::function<void()>& work) {
  work();
  std::vector<double> ms;
  for (int round = 0; round < rounds; ++round) {
    const Stopwatch watch;
    work();
    ms.push_back(watch.milliseconds());
  }
  return summarise(ms).median;
}

double off(double predicted, double value) { return value > 0.0 ? predicted / value - 1.0 : predicted; }

/// Mean and largest magnitude of relative errors.
struct Errors {
  std::vector<double> of;
  [[nodiscard]] Json json() const {
    double sum = 0.0;
    double worst = 0.0;
    for (const double error : of) {
      sum += std::fabs(error);
      worst = std::max(worst, std::fabs(error));
    }
    return {{"count", of.size()}, {"mean", of.empty() ? 0.0 : sum / static_cast<double>(of.size())}, {"worst", worst}};
  }
};

class Bench {
 public:
  Bench(const Settings& settings, Device device) : settings_(settings), device_(std::move(device)) {
    options_.device = device_;
  }

  [[nodiscard]] Json product(const std::string& name);
  [[nodiscard]] Json power(const std::string& name, int k);
  [[nodiscard]] Json chain(const std::string& name);
  [[nodiscard]] Json summary() const {
    return {{"products", products_.json()},
            {"powers_and_chains", chains_.json()},
            {"orders", orders_},
            {"orders_that_were_best", best_},
            {"slowest_choice_over_best", slowest_}};
  }

 private:
  [[nodiscard]] Json steps_of(const ChainPrediction& predicted, const std::vector<SpgemmReport>& formed);
  [[nodiscard]] Json orders_of(const std::string& chosen, double chosen_ms,
                               const std::vector<std::pair<std::string, double>>& all);

  const Settings& settings_;
  Device device_;
  SpgemmOptions options_;
  Errors products_;
  Errors chains_;
  int orders_ = 0;
  int best_ = 0;
  double slowest_ = 1.0;
};

Json Bench::product(const std::string& name) {
  const SpgemmProblem problem = make_spgemm_problem(name);
  const Csr<double> a = problem.a.to(device_);
  const Csr<double> other = &problem.right() == &problem.a ? Csr<double>() : problem.right().to(device_);
  const Csr<double>& b = &problem.right() == &problem.a ? a : other;
  ProductPrediction predicted;
  const double predict_ms = median_ms(settings_.rounds, [&] { predicted = predict(a, b, device_); });
  SpgemmReport formed;
  const double product_ms = median_ms(settings_.rounds, [&] { formed = spgemm(a, b, options_).report; });
  const auto nnz = static_cast<double>(formed.nnz);
  products_.of.push_back(off(predicted.nnz.value, nnz));
  fmt::print(
      "{:22} {:12} products, {:11} entries, {:+6.2f} % (+- {:.2f}); predict {:8.3f} ms, {:5.1f} % of {:9.3f}; "
      "model {:9.3f} ({:.2f})\n",
      problem.name, formed.products, formed.nnz, 100.0 * products_.of.back(), 100.0 * predicted.nnz.error, predict_ms,
      100.0 * predict_ms / product_ms, product_ms, predicted.total().ms, predicted.total().ms / product_ms);
  return {{"problem", problem.name},
          {"rows", a.rows()},
          {"nnz", a.nnz()},
          {"products", formed.products},
          {"predicted_products", predicted.products.value},
          {"product_nnz", formed.nnz},
          {"predicted_nnz", predicted.nnz.value},
          {"off", products_.of.back()},
          {"standard_error", predicted.nnz.error},
          {"predict_ms", predict_ms},
          {"product_ms", product_ms},
          {"predict_share", predict_ms / product_ms},
          {"model_ms", predicted.total().ms},
          {"model_factor", predicted.total().factor},
          {"peak_bytes", formed.peak_bytes},
          {"predicted_peak_bytes", predicted.peak_bytes}};
}

Json Bench::steps_of(const ChainPrediction& predicted, const std::vector<SpgemmReport>& formed) {
  Json steps = Json::array();
  for (std::size_t k = 0; k < formed.size(); ++k) {
    const ProductPrediction& of = predicted.products[k];
    const double entries = off(of.nnz.value, static_cast<double>(formed[k].nnz));
    chains_.of.push_back(entries);
    steps.push_back({{"name", of.name},
                     {"nnz", formed[k].nnz},
                     {"predicted_nnz", of.nnz.value},
                     {"off", entries},
                     {"standard_error", of.nnz.error},
                     {"products", formed[k].products},
                     {"products_off", off(of.products.value, static_cast<double>(formed[k].products))}});
    fmt::print("    {:12} {:11} entries, {:+6.2f} % (+- {:.2f}), products {:+6.2f} %\n", of.name, formed[k].nnz,
               100.0 * entries, 100.0 * of.nnz.error, 100.0 * steps.back()["products_off"].get<double>());
  }
  return steps;
}

/// \param all orders and their times; an order within a twentieth of the best is the best, too
Json Bench::orders_of(const std::string& chosen, double chosen_ms,
                      const std::vector<std::pair<std::string, double>>& all) {
  double least = chosen_ms;
  Json orders = Json::array();
  for (const auto& [order, ms] : all) {
    orders.push_back({{"order", order}, {"ms", ms}});
    least = std::min(least, ms);
    fmt::print("    {:22} {:9.3f} ms{}\n", order, ms, order == chosen ? "  (chosen)" : "");
  }
  constexpr double level = 1.05;
  ++orders_;
  if (chosen_ms <= level * least) ++best_;
  slowest_ = std::max(slowest_, chosen_ms / least);
  return orders;
}

Json Bench::power(const std::string& name, int k) {
  const SpgemmProblem problem = make_spgemm_problem(name);
  const Csr<double> a = problem.a.to(device_);
  ChainPrediction predicted;
  const double predict_ms = median_ms(settings_.rounds, [&] { predicted = predict_power(a, k, device_); });
  std::vector<std::pair<std::string, double>> times;
  MatrixPower<double> power;
  for (const PowerOrder order : {PowerOrder::binary, PowerOrder::one_by_one}) {
    const double ms = median_ms(settings_.rounds, [&] { power = matrix_power(a, k, options_, order); });
    times.emplace_back(power.order, ms);
  }
  double choose_ms = 0.0;
  const double whole_ms = median_ms(settings_.rounds, [&] { power = matrix_power(a, k, options_); });
  choose_ms = power.predict_ms;
  // An order has one time.
  double chosen_ms = whole_ms - choose_ms;
  for (const auto& [order, ms] : times) {
    if (order == power.order) chosen_ms = ms;
  }
  fmt::print("{}^{}: choose {:.3f} ms, {:.1f} %; predict {:.3f} ms; {}\n", problem.name, k, choose_ms,
             100.0 * choose_ms / chosen_ms, predict_ms, power.reason);
  Json json{{"problem", problem.name},  {"power", k},
            {"predict_ms", predict_ms}, {"choose_ms", choose_ms},
            {"power_ms", chosen_ms},    {"chosen", power.order},
            {"reason", power.reason}};
  json["steps"] = steps_of(predicted, power.products);
  json["orders"] = orders_of(predicted.order, chosen_ms, times);
  return json;
}

Json Bench::chain(const std::string& name) {
  const SpgemmProblem problem = make_spgemm_problem(name);
  const Csr<double> a = problem.a.to(device_);
  // Of two factors A and P: R A P with R = P^T; of one: A A A^T.
  const bool is_pair = &problem.right() != &problem.a;
  const Csr<double> p = is_pair ? problem.right().to(device_) : transpose(a.view(), device_);
  const Csr<double> r = is_pair ? transpose(p.view(), device_) : Csr<double>();
  const std::array<const Csr<double>*, 3> factors{is_pair ? &r : &a, &a, &p};
  const std::span<const Csr<double>* const> span(factors);
  ChainPrediction predicted;
  const double predict_ms = median_ms(settings_.rounds, [&] { predicted = predict_chain(span, device_); });
  std::vector<std::pair<std::string, double>> times;
  ChainResult<double> formed;
  double chosen_ms = 0.0;
  for (const ChainOrder order : {ChainOrder::left_to_right, ChainOrder::right_to_left}) {
    const double ms = median_ms(settings_.rounds, [&] { formed = spgemm_chain(span, options_, order); });
    times.emplace_back(formed.order, ms);
    if (formed.order == predicted.order) chosen_ms = ms;
  }
  formed = spgemm_chain(span, options_);
  fmt::print("{} {}: choose {:.3f} ms, {:.1f} %; predict {:.3f} ms; {}\n", is_pair ? "R A P" : "A A A^T", problem.name,
             formed.predict_ms, 100.0 * formed.predict_ms / chosen_ms, predict_ms, formed.reason);
  Json json{{"problem", problem.name},  {"chain", is_pair ? "R A P" : "A A A^T"},
            {"predict_ms", predict_ms}, {"choose_ms", formed.predict_ms},
            {"chain_ms", chosen_ms},    {"chosen", formed.order},
            {"reason", formed.reason}};
  json["steps"] = steps_of(predicted, formed.products);
  json["orders"] = orders_of(predicted.order, chosen_ms, times);
  return json;
}

void run(const Settings& settings) {
  const Device device = Device::parse(settings.device);
  Json report = document("spgemm_prediction");
  if (!device.is_host()) report["machine"]["gpu"] = support::gpu_json(device);
  report["protocol"] = fmt::format(
      "wall clock, matrices on the device, C from a warm pool, median of {} after one; the baseline of a prediction is "
      "the product that it predicts, of an order all orders",
      settings.rounds);
  Bench bench(settings, device);
  const auto measure = [&](const char* key, const auto& body) {
    try {
      report[key].push_back(body());
    } catch (const OutOfMemory& error) {
      fmt::print("{}\n", error.what());
      report[key].push_back({{"failure", error.what()}});
    }
    std::fflush(stdout);
    report["summary"] = bench.summary();
    write(report, settings.json);
  };
  for (const std::string& name : settings.products) measure("products", [&] { return bench.product(name); });
  for (const std::string& name : settings.powers) {
    for (const int k : {3, 4}) measure("powers", [&] { return bench.power(name, k); });
  }
  for (const std::string& name : settings.chains) measure("chains", [&] { return bench.chain(name); });
  fmt::print("{}\n", report["summary"].dump());
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Settings settings;
  CLI::App app("Predicted sizes and orders of sparse products against what is formed");
  app.add_option("--products", settings.products, "Families and files, separated by commas")->delimiter(',');
  app.add_option("--powers", settings.powers, "Families and files whose powers 3 and 4 are formed")->delimiter(',');
  app.add_option("--chains", settings.chains, "A P of multigrid (mg7-100:a0p0) for R A P; others for A A A^T")
      ->delimiter(',');
  app.add_option("--device", settings.device, "host, cuda or cuda:N")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Samples of each")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here, after every problem");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_spgemm_prediction", [&] { tessera::bench::run(settings); });
}
