// Settings of spgemm: factors, power, workflow and accumulator.
#include "errors.hpp"
#include "option_values.hpp"
#include "spgemm_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::int64_t largest_power = 1'000'000;

[[nodiscard]] Factor transposed_factor(const Options& options) {
  const auto factor = options.text("transpose");
  if (!factor) return Factor::none;
  if (factor == "a") return Factor::left;
  if (factor == "b") return Factor::right;
  throw OptionError("transpose", "option --transpose: expected a or b, the factor to transpose",
                    "solve spgemm A.mtx --transpose b multiplies A by its transpose");
}

/// A is a file or generated; B a file, or A where one of them is transposed.
void take_factors(const Options& options, SpgemmSettings& settings) {
  settings.left = problem_settings(options);
  settings.transposed = transposed_factor(options);
  const auto right = options.text("right");
  if (options.given("power") && settings.transposed != Factor::none) {
    throw UsageError("--power is that of one matrix, --transpose is of one factor of a product");
  }
  if (options.given("power") && right) {
    throw UsageError("--power is that of one matrix, found B as well: " + *right);
  }
  settings.left.transposed = right && settings.transposed == Factor::left;
  if (!right) return;
  settings.right = file_settings(options, *right);
  settings.right->transposed = settings.transposed == Factor::right;
}

/// fp64 and fp32 are types of the factors, the others roundings of the product.
[[nodiscard]] SpgemmPrecision product_precision(const Options& options, SpgemmWorkflow workflow) {
  const std::string name = options.text("precision").value_or("");
  for (const SpgemmPrecision precision : spgemm_precisions()) {
    if (to_string(precision) != name) continue;
    if (workflow != SpgemmWorkflow::automatic && workflow != SpgemmWorkflow::tiles) {
      throw OptionError(
          "precision",
          fmt::format("--precision {} is for products in tiles, not for --estimate {}", name, to_string(workflow)),
          "--estimate tiles, or --precision fp64");
    }
    return precision;
  }
  return SpgemmPrecision::working;
}

/// "TOL" or "TOL,MOST".
[[nodiscard]] std::optional<Keep> keep_setting(const Options& options) {
  const auto text = options.text("keep");
  if (!text) return std::nullopt;
  const std::size_t comma = text->find(',');
  const auto tolerance = parse_number(text->substr(0, comma));
  const auto most = comma == std::string::npos ? std::optional<std::int64_t>(0) : parse_count(text->substr(comma + 1));
  if (!tolerance || *tolerance < 0.0 || !most || *most > std::numeric_limits<index_t>::max()) {
    refuse_text("keep", *text, "TOL or TOL,MOST: a share of the largest entry of a row, and entries per row");
  }
  if (options.flag("verify")) {
    throw UsageError("--verify checks whole products, from which --keep leaves entries out");
  }
  return Keep{*tolerance, static_cast<index_t>(*most)};
}

}  // namespace

SpgemmSettings spgemm_settings(const Options& options) {
  SpgemmSettings result;
  take_factors(options, result);
  result.machine = machine_settings(options);
  result.output = output_settings(options);
  if (options.given("power")) result.power = static_cast<int>(count_option(options, "power", 0, largest_power));
  std::vector<std::string_view> names{to_string(SpgemmWorkflow::automatic)};
  for (const SpgemmWorkflow workflow : spgemm_workflows()) names.push_back(to_string(workflow));
  result.product.workflow = parse_spgemm_workflow(names[choose(options, "estimate", names)]);
  result.product.precision = product_precision(options, result.product.workflow);
  std::vector<std::string_view> accumulators{to_string(SpgemmAccumulator::automatic)};
  for (const auto name : spgemm_accumulators(Device::Kind::cuda)) accumulators.push_back(to_string(name));
  result.product.accumulator = parse_spgemm_accumulator(accumulators[choose(options, "accumulator", accumulators)]);
  result.product.determinism = determinism_setting(options);
  result.product.memory_limit_bytes = result.machine.memory_limit_bytes;
  result.product.device = result.machine.device;
  result.verify = options.flag("verify");
  result.keep = keep_setting(options);
  result.predict = options.flag("predict");
  constexpr int most_predicted = 8;
  if (result.predict && !result.has_two_factors() && (result.power < 2 || result.power > most_predicted)) {
    throw UsageError(fmt::format("--predict: products and the powers 2 to {} are predicted, not --power {}",
                                 most_predicted, result.power));
  }
  if (result.predict && result.keep && !result.has_two_factors() && result.power > 2) {
    throw UsageError("--predict: powers whose products --keep filters are not predicted");
  }
  return result;
}

}  // namespace tessera::cli
