// HITS and Katz centrality on a GPU: the scores of the host, and the loop runs without it.
#include "tessera/centrality.hpp"

#include "tessera/error.hpp"
#include "tessera/statistics.hpp"
#include "tests/solvers/rank_graphs.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace tessera::testing {
namespace {

class CentralityOnGpu : public CudaTest {
 protected:
  static constexpr SpmvAlgorithm kernels[] = {SpmvAlgorithm::merbit, SpmvAlgorithm::csr_vector};
};

/// Unweighted and weighted graphs over several blocks of a GPU.
std::vector<std::shared_ptr<const Csr<double>>> graphs() {
  std::vector<std::shared_ptr<const Csr<double>>> all;
  all.push_back(std::make_shared<const Csr<double>>(star<double>(300)));
  for (const ValueStorage storage : {ValueStorage::pattern, ValueStorage::weighted}) {
    Csr<double> graph = with_row_lengths<double>(power_law_lengths(300, 200, 5), 300, storage, 7);
    if (storage == ValueStorage::weighted) {
      Array<double> weights(graph.nnz(), Init::none);
      for (offset_t k = 0; k < graph.nnz(); ++k) weights[k] = static_cast<double>(1 + k % 5);
      graph = graph.with_values(std::move(weights));
    }
    all.push_back(std::make_shared<const Csr<double>>(std::move(graph)));
  }
  return all;
}

struct Outcome {
  std::vector<double> first, second;
  CentralityReport report;
};

std::vector<double> fetched(const Array<double>& x) {
  const Array<double> there = x.to(Device{});
  return {there.begin(), there.end()};
}

Outcome hits_on(const Device& device, const std::shared_ptr<const Csr<double>>& graph, SpmvAlgorithm kernel) {
  const SpmvPlan<double> plan(graph, {.algorithm = kernel, .device = device, .with_transpose = true});
  Array<double> hubs(graph->rows(), Init::none, device);
  Array<double> authorities(graph->cols(), Init::none, device);
  CentralityReport report = hits<double>(plan, hubs.span(), authorities.span(), {.tolerance = 1e-12});
  return {fetched(hubs), fetched(authorities), std::move(report)};
}

Outcome katz_on(const Device& device, const std::shared_ptr<const Csr<double>>& graph, SpmvAlgorithm kernel) {
  const SpmvPlan<double> plan(transpose(graph->view()), {.algorithm = kernel, .device = device});
  Array<double> scores(graph->rows(), Init::none, device);
  KatzOptions options;
  options.tolerance = 1e-10;
  CentralityReport report = katz<double>(plan, scores.span(), options);
  return {fetched(scores), {}, std::move(report)};
}

void expect_close(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-10 * (1e-3 + expected[i]));
}

TEST_F(CentralityOnGpu, ScoresAreThoseOfTheHost) {
  for (const auto& graph : graphs()) {
    const Outcome hits_expected = hits_on(Device{}, graph, SpmvAlgorithm::csr);
    const Outcome katz_expected = katz_on(Device{}, graph, SpmvAlgorithm::csr);
    for (const SpmvAlgorithm kernel : kernels) {
      SCOPED_TRACE(to_string(kernel));
      const Outcome found = hits_on(gpu(), graph, kernel);
      EXPECT_TRUE(found.report.converged()) << found.report.reason;
      expect_close(found.first, hits_expected.first);
      expect_close(found.second, hits_expected.second);
      const Outcome scores = katz_on(gpu(), graph, kernel);
      EXPECT_TRUE(scores.report.converged()) << scores.report.reason;
      expect_close(scores.first, katz_expected.first);
    }
  }
}

TEST_F(CentralityOnGpu, DivergenceAndRefusals) {
  const auto ring = std::make_shared<const Csr<double>>(from_dense<double>({{0, 2}, {2, 0}}, 2));
  const SpmvPlan<double> plan(ring, {.device = gpu(), .with_transpose = true});
  Array<double> scores(2, Init::none, gpu());
  KatzOptions options;
  options.alpha = 0.6;
  const KatzReport report = katz<double>(plan, scores.span(), options);
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_NEAR(report.spectral_bound, 2.0, 1e-12);
  std::vector<double> on_host(2);
  EXPECT_THROW((void)katz<double>(plan, on_host), InvalidArgument);
  EXPECT_THROW((void)hits<double>(plan, scores.span(), on_host), InvalidArgument);
  const SpmvPlan<double> negative(from_dense<double>({{0, 2}, {-1, 0}}, 2), {.device = gpu(), .with_transpose = true});
  Array<double> others(2, Init::none, gpu());
  EXPECT_THROW((void)hits<double>(negative, scores.span(), others.span()), InvalidMatrix);
}

}  // namespace
}  // namespace tessera::testing
