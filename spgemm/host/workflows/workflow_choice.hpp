/// \file
/// The choice of the workflow on the host.
#pragma once

#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>

namespace tessera::host {

/// Facts about a product, from its analysis.
struct WorkflowFacts {
  double mean_products = 0.0;  ///< per row of A
  double expansion = 0.0;      ///< products per entry of A
  offset_t products = 0;
  std::optional<SpgemmSample> sample;
};

struct WorkflowChoice {
  SpgemmWorkflow workflow = SpgemmWorkflow::symbolic;
  std::string reason;
};

/// Products per row from which a store for all of them is too large.
inline constexpr double upper_bound_products = 64.0;
/// Products up to which counting costs less than a sample and the copy out of a store (bench/NOTES.md, "SpGEMM on the
/// host").
inline constexpr offset_t counted_products = offset_t{1} << 21;

/// Expansion and compression from which the paper estimates all rows (Ocean, table 1).
inline constexpr double sketch_expansion = 8.0;
inline constexpr double sketch_compression = 8.0;

/// Largest relative error of a sample that is trusted with the size of C.
inline constexpr double trusted_sample_error = 0.1;

/// Whether the choice needs a sample.
[[nodiscard]] constexpr bool wants_sample(const WorkflowFacts& facts) noexcept {
  return facts.mean_products >= upper_bound_products && facts.products > counted_products;
}

/// The rule of the paper (Ocean, table 1), which neither host nor GPU follows: what it estimates is
/// sooner counted or sampled (bench/NOTES.md).
[[nodiscard]] constexpr SpgemmWorkflow workflow_of_paper(double mean_products, double expansion,
                                                         double compression) noexcept {
  if (mean_products < upper_bound_products) return SpgemmWorkflow::upper_bound;
  const bool estimates = expansion >= sketch_expansion && compression >= sketch_compression;
  return estimates ? SpgemmWorkflow::hll : SpgemmWorkflow::symbolic;
}

/// The rule for the host. \param facts with a sample where wants_sample() says so
[[nodiscard]] inline WorkflowChoice choose_workflow(const WorkflowFacts& facts) {
  if (facts.mean_products >= upper_bound_products && facts.products <= counted_products) {
    return {SpgemmWorkflow::symbolic, fmt::format("{} products: counting costs less than a sample", facts.products)};
  }
  if (!facts.sample) {
    return {SpgemmWorkflow::upper_bound,
            fmt::format("{:.3g} products a row: room for all of them costs less than to count or to sample",
                        facts.mean_products)};
  }
  const SpgemmSample& sample = *facts.sample;
  const std::string found = fmt::format(
      "{:.3g} products an entry of C (sample of {} rows, error {:.2g} %), {:.3g} an "
      "entry of A",
      sample.compression, sample.rows, 100.0 * sample.relative_error, facts.expansion);
  if (sample.relative_error > trusted_sample_error) {
    return {SpgemmWorkflow::symbolic, found + ": rows are too unlike to foresee the size of C"};
  }
  return {SpgemmWorkflow::sampled, found + ": the sample foresees the size of C"};
}

}  // namespace tessera::host
