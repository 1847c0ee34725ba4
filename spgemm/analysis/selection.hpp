/// \file
/// Which workflow a product takes.
#pragma once

#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <optional>
#include <string>

namespace tessera {

/// What the analysis says of a product.
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

/// Products a row from which room for all of them is too much.
inline constexpr double upper_bound_products = 64.0;
/// Products up to which counting costs less than a sample and the copy out of a store (bench/NOTES.md, "SpGEMM on the
/// host").
inline constexpr offset_t counted_products = offset_t{1} << 21;

/// Expansion and compression from which the paper estimates all rows (ocean-hll-spgemm.txt, table 1).
inline constexpr double sketch_expansion = 8.0;
inline constexpr double sketch_compression = 8.0;

/// Largest relative error of a sample that is trusted with the size of C.
inline constexpr double trusted_sample_error = 0.1;

/// Whether the choice needs a sample.
[[nodiscard]] constexpr bool wants_sample(const WorkflowFacts& facts) noexcept {
  return facts.mean_products >= upper_bound_products && facts.products > counted_products;
}

/// The rule for the host. \param facts with a sample where wants_sample() says so
[[nodiscard]] WorkflowChoice choose_workflow(const WorkflowFacts& facts);

/// The rule of the paper (ocean-hll-spgemm.txt, table 1), which neither host nor GPU follows: what it estimates is
/// sooner counted or sampled (bench/NOTES.md).
[[nodiscard]] constexpr SpgemmWorkflow workflow_of_paper(double mean_products, double expansion,
                                                         double compression) noexcept {
  if (mean_products < upper_bound_products) return SpgemmWorkflow::upper_bound;
  const bool estimates = expansion >= sketch_expansion && compression >= sketch_compression;
  return estimates ? SpgemmWorkflow::hll : SpgemmWorkflow::symbolic;
}

/// Registers of a sketch: 32 below an expansion of 48, else 64 (ocean-hll-spgemm.txt, §4.3).
[[nodiscard]] constexpr int sketch_registers(double expansion) noexcept { return expansion < 48.0 ? 32 : 64; }

/// Room for an estimated row, as a multiple of its estimate.
[[nodiscard]] constexpr double estimate_margin(int registers) noexcept { return registers == 32 ? 2.0 : 1.5; }

}  // namespace tessera
