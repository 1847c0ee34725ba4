// Hub columns of MERBIT on a GPU: what samples promise of them, against counts of all nonzeros.
#include "spmv/merbit/hub_columns.hpp"

#include "tests/support/cuda_test.hpp"
#include "tests/support/hub_graphs.hpp"
#include "tests/support/hub_rules.hpp"

#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

constexpr index_t columns = 24'000;
constexpr index_t popular = 300;

/// 300 columns have half of the nonzeros.
const Csr<double>& popular_graph() {
  static const Csr<double> graph = testing::graph(80'000, columns, popular, 17);
  return graph;
}

/// For 300 hubs, and a cache that holds a quarter of x.
cuda::HubRules rules_for_popular() {
  cuda::HubRules rules = testing::hubs_of_any_gain();
  rules.most = popular + popular / 10;
  rules.least_uses = 32;
  rules.cached_lines = columns / 8.0 / 4.0;
  rules.streamed_lines = 10'000;
  return rules;
}

cuda::HubForecast forecast(const Csr<double>& matrix, const cuda::HubRules& rules) {
  const Device gpu = Device::cuda(0);
  const Csr<double> there = matrix.to(gpu);
  return cuda::forecast_hub_columns(matrix.cols(), there.row_offsets().span(), there.columns().span(), rules, gpu);
}

/// Uses of all columns or lines; neighbouring nonzeros of 32 in one column are one use.
struct CountedUses {
  cuda::UseCounts lines;
  cuda::MostUsed hubs;
};
CountedUses count_uses(const Csr<double>& matrix, const cuda::HubRules& rules) {
  std::map<index_t, std::set<offset_t>> groups;
  for (offset_t k = 0; k < matrix.nnz(); ++k) groups[matrix.columns()[k]].insert(k / 32);
  CountedUses counted;
  std::map<index_t, std::uint64_t> of_lines;
  counted.hubs.least_uses = rules.least_uses;
  for (const auto& [column, of_column] : groups) {
    of_lines[column / rules.line_entries] += of_column.size();
    if (of_column.size() < rules.least_uses) continue;
    ++counted.hubs.count;
    counted.hubs.uses += of_column.size();
  }
  for (const auto& [line, uses] : of_lines) {
    if (uses >= cuda::UseCounts::bins - 1) {
      ++counted.lines.with_uses[cuda::UseCounts::bins - 1];
      counted.lines.uses_of_last_bin += uses;
    } else {
      ++counted.lines.with_uses[uses];
    }
  }
  return counted;
}

class HubForecastCuda : public testing::CudaTest {};

TEST_F(HubForecastCuda, SparesWhatCountsOfAllNonzerosPromise) {
  const cuda::HubRules rules = rules_for_popular();
  const CountedUses counted = count_uses(popular_graph(), rules);
  ASSERT_EQ(counted.hubs.count, popular);
  const cuda::HubGain gain = cuda::gain_by_hubs(counted.lines, counted.hubs, rules, 1);
  const double expected = gain.saved / cuda::memory_line_bytes / static_cast<double>(popular_graph().nnz());
  ASSERT_GT(expected, 0.1);
  const cuda::HubForecast found = forecast(popular_graph(), rules);
  EXPECT_NEAR(found.spared, expected, 0.15 * expected);
  EXPECT_EQ(found.staged, 0.0);
}

TEST_F(HubForecastCuda, StagedHubsHaveTheirShareOfTheNonzeros) {
  cuda::HubRules rules = rules_for_popular();
  rules.most_staged = rules.most;
  const double share =
      static_cast<double>(count_uses(popular_graph(), rules).hubs.uses) / static_cast<double>(popular_graph().nnz());
  EXPECT_NEAR(forecast(popular_graph(), rules).staged, share, 0.05 * share);
  rules.least_staged_share = 1.5 * share;
  EXPECT_EQ(forecast(popular_graph(), rules).staged, 0.0);
}

TEST_F(HubForecastCuda, SlotsSpareMore) {
  cuda::HubRules rules = rules_for_popular();
  rules.cached_lines = 300;
  const double hubs = forecast(popular_graph(), rules).spared;
  rules.slots = {1 << 20, 5000, columns, -1e300};
  const CountedUses counted = count_uses(popular_graph(), rules);
  const Csr<double> there = popular_graph().to(gpu());
  const auto slots =
      cuda::find_hub_columns(there.cols(), there.row_offsets().span(), there.columns().span(), rules, gpu()).slots;
  ASSERT_GT(slots, 10'000);
  const double missed = cuda::gain_by_hubs(counted.lines, counted.hubs, rules, 1).missed;
  const double expected =
      cuda::saved_by_slots(slots, missed, rules) / cuda::memory_line_bytes / static_cast<double>(there.nnz());
  ASSERT_GT(expected, 0.01);
  EXPECT_NEAR(forecast(popular_graph(), rules).spared - hubs, expected, 0.1 * expected);
  rules.slots.most = slots / 2;
  EXPECT_EQ(forecast(popular_graph(), rules).spared, hubs) << "no room";
  rules.slots = {1 << 20, 5000, columns, 1e300};
  EXPECT_EQ(forecast(popular_graph(), rules).spared, hubs) << "they do not pay";
}

TEST_F(HubForecastCuda, NothingWhereThereWillBeNoHubs) {
  cuda::HubRules rules = rules_for_popular();
  rules.least_saved = 1e12;
  EXPECT_EQ(forecast(popular_graph(), rules).spared, 0.0);
  rules = rules_for_popular();
  rules.near = columns;
  EXPECT_EQ(forecast(popular_graph(), rules).spared, 0.0) << "no column is far";
  rules = rules_for_popular();
  rules.most = 0;
  EXPECT_EQ(forecast(popular_graph(), rules).spared, 0.0);
  rules = testing::hubs_of_any_gain();
  EXPECT_EQ(forecast(testing::graph(900, 4000, 200, 5), rules).spared, 0.0) << "too small for a sample";
  EXPECT_EQ(forecast(Csr<double>{}, rules).spared, 0.0);
  EXPECT_EQ(forecast(testing::graph(5, 0, 0, 1), rules).spared, 0.0);
}

}  // namespace
}  // namespace tessera
