#include "spgemm/analysis/selection.hpp"

#include <fmt/format.h>

namespace tessera {

WorkflowChoice choose_workflow(const WorkflowFacts& facts) {
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

}  // namespace tessera
