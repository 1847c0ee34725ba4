#include "bench/spgemm_ways.hpp"

#include "bench/spgemm_resident.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace tessera::bench {

namespace {

constexpr std::string_view single_prefix = "fp32:";

Json json_of_loss(const SpgemmLoss& loss) {
  return {{"values", loss.values},
          {"largest_rounding", loss.largest_rounding},
          {"to_zero", loss.to_zero},
          {"to_subnormal", loss.to_subnormal},
          {"sampled_entries", loss.sampled_entries},
          {"frobenius_error", loss.frobenius_error},
          {"largest_error", loss.largest_error}};
}

}  // namespace

bool is_single(const std::string& way) { return way.starts_with(single_prefix); }

SpgemmOptions options_of(const std::string& way, const Device& device) {
  SpgemmOptions options;
  options.device = device;
  if (is_single(way)) return options_of(way.substr(single_prefix.size()), device);
  for (const SpgemmPrecision precision : spgemm_precisions()) {
    if (to_string(precision) != way) continue;
    options.precision = precision;
    return options;
  }
  if (way == "tiles-ordered") {
    options.workflow = SpgemmWorkflow::tiles;
    options.determinism = Determinism::gpu_to_gpu;
    return options;
  }
  if (way == "auto" || way == plan_name) return options;
  if (way == "short-rows") {
    options.short_rows = true;
    return options;
  }
  if (way == "ordered") {
    options.determinism = Determinism::gpu_to_gpu;
    return options;
  }
  if (const auto plus = way.find('+'); plus != std::string::npos) {
    options.workflow = parse_spgemm_workflow(way.substr(0, plus));
    options.accumulator = parse_spgemm_accumulator(way.substr(plus + 1));
    options.determinism = Determinism::gpu_to_gpu;
    return options;
  }
  for (const SpgemmWorkflow workflow : spgemm_workflows()) {
    if (to_string(workflow) == way) options.workflow = workflow;
  }
  if (options.workflow == SpgemmWorkflow::automatic) options.accumulator = parse_spgemm_accumulator(way);
  return options;
}

double tolerance_of(const std::string& way) {
  if (is_resident_way(way)) return 1e-12;
  if (options_of(way, Device{}).precision == SpgemmPrecision::fp16_fp32) return 0.05;
  return is_single(way) ? 1e-4 : 1e-12;
}

double difference_of(const Csr<double>& expected, const Csr<double>& found) {
  constexpr double unlike = std::numeric_limits<double>::infinity();
  if (expected.nnz() != found.nnz()) return unlike;
  const auto same = [](const auto& one, const auto& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  };
  if (!same(expected.row_offsets(), found.row_offsets()) || !same(expected.columns(), found.columns())) return unlike;
  double result = 0.0;
  for (index_t i = 0; i < expected.rows(); ++i) {
    double largest = 0.0;
    double worst = 0.0;
    for (offset_t k = expected.row_offsets()[i]; k < expected.row_offsets()[i + 1]; ++k) {
      largest = std::max(largest, std::fabs(expected.values()[k]));
      const double difference = std::fabs(expected.values()[k] - found.values()[k]);
      worst = difference <= worst ? worst : difference;
    }
    if (!(worst <= std::numeric_limits<double>::max())) return unlike;
    if (worst > 0.0) result = std::max(result, worst / largest);
  }
  return result;
}

Json json_of_report(const SpgemmReport& report, std::uint64_t product_bytes) {
  Json accumulators = Json::array();
  for (const SpgemmAccumulatorUse& use : report.accumulators) {
    accumulators.push_back({{"name", to_string(use.accumulator)}, {"rows", use.rows}, {"products", use.products}});
  }
  Json json{{"workflow", to_string(report.workflow)},
            {"reason", report.reason},
            {"fallback", report.fallback},
            {"accumulators", accumulators},
            {"determinism", to_string(report.determinism)},
            {"analysis_ms", report.analysis_ms},
            {"sizing_ms", report.sizing_ms},
            {"numeric_ms", report.numeric_ms},
            {"compaction_ms", report.compaction_ms},
            {"peak_bytes", report.peak_bytes},
            {"peak_over_product", static_cast<double>(report.peak_bytes) / static_cast<double>(product_bytes)}};
  if (report.loss) json["loss"] = json_of_loss(*report.loss);
  if (report.registers > 0) {
    json["registers"] = report.registers;
    json["estimate_error"] = report.estimate_error;
  }
  if (report.registers > 0 || report.sample) json["overflow_rows"] = report.overflow_rows;
  if (report.sample) {
    json["sample"] = {{"rows", report.sample->rows},
                      {"compression", report.sample->compression},
                      {"relative_error", report.sample->relative_error}};
  }
  return json;
}

std::string loss_text(const SpgemmLoss& loss) {
  return fmt::format("values off by {:.2g}, {} became 0; C by {:.2g} (Frobenius), an entry by {:.2g} of its terms",
                     loss.largest_rounding, loss.to_zero, loss.frobenius_error, loss.largest_error);
}

}  // namespace tessera::bench
