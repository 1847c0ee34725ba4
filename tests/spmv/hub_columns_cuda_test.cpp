// MERBIT's hub columns on a GPU: which are found and staged, and their codes.
#include "spmv/merbit/hub_columns.hpp"

#include "tests/support/cuda_test.hpp"
#include "tests/support/hub_graphs.hpp"
#include "tests/support/hub_rules.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using testing::graph;

class HubColumnsCuda : public testing::CudaTest {};

struct Found {
  std::vector<index_t> codes;
  std::vector<index_t> hubs;
  std::vector<index_t> slots;  ///< their columns
  std::uint64_t uses = 0;
  index_t staged = 0;
};

Found find(const Csr<double>& matrix, const cuda::HubRules& rules) {
  const Device gpu = Device::cuda(0);
  const Csr<double> there = matrix.to(gpu);
  const cuda::HubColumns hubs =
      cuda::find_hub_columns(matrix.cols(), there.row_offsets().span(), there.columns().span(), rules, gpu);
  const Array<index_t> codes = hubs.codes.to(Device{});
  const Array<index_t> columns = hubs.columns.to(Device{});
  const auto first_hub = columns.begin() + hubs.slots;
  return {
      {codes.begin(), codes.end()}, {first_hub, columns.end()}, {columns.begin(), first_hub}, hubs.uses, hubs.staged};
}

/// Every code stands for the column that it replaced, hubs come in order, those that are staged last, and their uses
/// are counted.
void expect_codes(const Csr<double>& matrix, const Found& found) {
  ASSERT_EQ(std::ssize(found.codes), matrix.nnz());
  ASSERT_LE(found.staged, std::ssize(found.hubs));
  const auto staged = found.hubs.end() - found.staged;
  ASSERT_TRUE(std::is_sorted(found.hubs.begin(), staged));
  ASSERT_TRUE(std::is_sorted(staged, found.hubs.end()));
  ASSERT_EQ(std::set<index_t>(found.hubs.begin(), found.hubs.end()).size(), found.hubs.size());
  std::vector<index_t> packed = found.slots;
  packed.insert(packed.end(), found.hubs.begin(), found.hubs.end());
  std::uint64_t of_hubs = 0;
  for (offset_t k = 0; k < matrix.nnz(); ++k) {
    const index_t code = found.codes[static_cast<std::size_t>(k)];
    const bool is_coded = cuda::is_packed_code(code);
    of_hubs += is_coded && static_cast<std::size_t>(-code) <= found.hubs.size() ? 1U : 0U;
    const index_t column = is_coded ? packed.at(packed.size() - static_cast<std::size_t>(-code)) : code;
    ASSERT_EQ(column, matrix.columns()[k]) << "nonzero " << k;
  }
  EXPECT_EQ(found.uses, of_hubs);
}

/// Slots are those of the nonzeros that should have one, block of columns by block, and within a block in the order of
/// nonzeros.
void expect_slots(const Csr<double>& matrix, const Found& found, const cuda::SlotRules& rules) {
  const std::set<index_t> hubs(found.hubs.begin(), found.hubs.end());
  std::vector<std::vector<index_t>> by_block(static_cast<std::size_t>(cuda::slot_blocks(matrix.cols(), rules)));
  index_t strip_row = 0;
  for (index_t i = 0; i < matrix.rows(); ++i) {
    for (offset_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      if (k % 2048 == 0) strip_row = i;
      const index_t column = matrix.columns()[k];
      const index_t diagonal = cuda::diagonal_column(strip_row, matrix.rows(), matrix.cols());
      const bool has_slot = std::abs(column - diagonal) > rules.beyond && !hubs.contains(column);
      const index_t code = found.codes[static_cast<std::size_t>(k)];
      ASSERT_EQ(has_slot, code < -std::ssize(found.hubs)) << "nonzero " << k << ", column " << column;
      if (!has_slot) continue;
      std::vector<index_t>& block = by_block[static_cast<std::size_t>(column / rules.column_block)];
      block.push_back(column);
    }
  }
  std::vector<index_t> expected;
  for (const std::vector<index_t>& block : by_block) expected.insert(expected.end(), block.begin(), block.end());
  EXPECT_EQ(found.slots, expected);
}

/// Columns by how many groups of 32 neighbouring nonzeros have them.
std::map<index_t, std::int64_t> uses_by_counting(const Csr<double>& matrix) {
  std::map<index_t, std::set<offset_t>> groups;
  for (offset_t k = 0; k < matrix.nnz(); ++k) groups[matrix.columns()[k]].insert(k / 32);
  std::map<index_t, std::int64_t> uses;
  for (const auto& [column, of_column] : groups) uses[column] = std::ssize(of_column);
  return uses;
}

TEST_F(HubColumnsCuda, TheMostUsedColumnsOfAllNonzeros) {
  // Two strips and a part of one; then the last column, in a part of a word of 32.
  for (const index_t cols : {4000, 4001, 33}) {
    const Csr<double> matrix = graph(900, cols, cols / 20 + 1, 5);
    const std::map<index_t, std::int64_t> uses = uses_by_counting(matrix);
    for (const std::uint64_t least : {2U, 9U}) {
      SCOPED_TRACE(::testing::Message() << cols << " columns, from " << least << " uses on");
      cuda::HubRules rules = testing::hubs_of_any_gain();
      rules.least_uses = least;
      const Found found = find(matrix, rules);
      expect_codes(matrix, found);
      std::vector<index_t> expected;
      for (const auto& [column, count] : uses) {
        if (count >= static_cast<std::int64_t>(least)) expected.push_back(column);
      }
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(found.hubs, expected);
    }
  }
}

TEST_F(HubColumnsCuda, NoMoreThanAskedFor) {
  const Csr<double> matrix = graph(900, 4000, 200, 5);
  cuda::HubRules rules = testing::hubs_of_any_gain();
  rules.most = 150;
  const Found found = find(matrix, rules);
  expect_codes(matrix, found);
  ASSERT_GT(found.hubs.size(), 0U);
  EXPECT_LE(found.hubs.size(), 150U);
  const std::map<index_t, std::int64_t> uses = uses_by_counting(matrix);
  std::int64_t least = std::int64_t{1} << 40;
  for (const index_t hub : found.hubs) least = std::min(least, uses.at(hub));
  for (const auto& [column, count] : uses) {
    const bool is_hub = std::binary_search(found.hubs.begin(), found.hubs.end(), column);
    EXPECT_TRUE(is_hub || count < least) << "column " << column;
  }
}

TEST_F(HubColumnsCuda, TheMostUsedHubsAreStaged) {
  const Csr<double> matrix = graph(900, 4000, 200, 5);
  const std::map<index_t, std::int64_t> uses = uses_by_counting(matrix);
  cuda::HubRules rules = testing::hubs_of_any_gain();
  ASSERT_EQ(find(matrix, rules).staged, 0);
  for (const std::int64_t most : {3, 60, 10000}) {
    rules.most_staged = most;
    const Found found = find(matrix, rules);
    SCOPED_TRACE(::testing::Message() << found.staged << " of " << found.hubs.size() << " staged");
    expect_codes(matrix, found);
    ASSERT_LE(found.staged, most);
    ASSERT_EQ(found.staged == std::ssize(found.hubs), most == 10000);
    ASSERT_TRUE(found.staged > 0 || most == 3);
    const auto staged = found.hubs.end() - found.staged;
    std::int64_t least = std::int64_t{1} << 40;
    for (auto hub = staged; hub != found.hubs.end(); ++hub) least = std::min(least, uses.at(*hub));
    for (auto hub = found.hubs.begin(); hub != staged; ++hub) EXPECT_LT(uses.at(*hub), least) << "column " << *hub;
  }
  rules.least_staged_share = 0.9;
  const Found few = find(matrix, rules);
  EXPECT_EQ(few.staged, 0) << "they have too few nonzeros";
  expect_codes(matrix, few);
}

TEST_F(HubColumnsCuda, ColumnsNearTheDiagonalStay) {
  const Csr<double> matrix = graph(3000, 3000, 150, 9);
  cuda::HubRules rules = testing::hubs_of_any_gain();
  rules.near = 1000;
  const Found found = find(matrix, rules);
  expect_codes(matrix, found);
  ASSERT_FALSE(found.hubs.empty());
  // A strip of 2048 nonzeros has some 380 rows, all taken for its first.
  constexpr index_t rows_of_strip = 600;
  int far = 0;
  for (index_t i = 0; i < matrix.rows(); ++i) {
    for (offset_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      const index_t apart = std::abs(matrix.columns()[k] - i);
      const bool is_hub = std::binary_search(found.hubs.begin(), found.hubs.end(), matrix.columns()[k]);
      const bool is_coded = cuda::is_packed_code(found.codes[static_cast<std::size_t>(k)]);
      const bool is_near = apart <= rules.near - rows_of_strip;
      const bool is_far = apart > rules.near + rows_of_strip;
      EXPECT_FALSE(is_near && is_coded) << "row " << i;
      EXPECT_FALSE(is_far && is_hub && !is_coded) << "row " << i;
      far += is_far && is_coded ? 1 : 0;
    }
  }
  EXPECT_GT(far, 100);
}

TEST_F(HubColumnsCuda, NoneWherePackingDoesNotPay) {
  const Csr<double> matrix = graph(900, 4000, 200, 5);
  cuda::HubRules rules = testing::hubs_of_any_gain();
  rules.least_saved = 1e12;
  EXPECT_TRUE(find(matrix, rules).hubs.empty());
  rules = testing::hubs_of_any_gain();
  rules.least_uses = 100000;
  EXPECT_TRUE(find(matrix, rules).hubs.empty());
  rules.most = 0;
  EXPECT_TRUE(find(matrix, rules).hubs.empty());
  EXPECT_TRUE(find(Csr<double>{}, testing::hubs_of_any_gain()).hubs.empty());
  EXPECT_TRUE(find(graph(5, 0, 0, 1), testing::hubs_of_any_gain()).hubs.empty());
}

/// Rows of eight nonzeros, so that strips of 2048 are 256 rows each. Every other nonzero lies in one of 400 columns in
/// the strips for which has_hubs(strip), the others anywhere.
template <class HasHubs>
Csr<double> graph_of_strips(int strips, const HasHubs& has_hubs) {
  constexpr index_t rows_of_strip = 256;
  const index_t n = strips * rows_of_strip;
  std::mt19937_64 generator(21);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < n; ++i) {
    std::set<index_t> row;
    while (row.size() < 8) {
      const bool is_hub = has_hubs(i / rows_of_strip) && row.size() % 2 == 0;
      const std::uint64_t any = generator();
      row.insert(static_cast<index_t>((is_hub ? any % 400 * 61 : any) % static_cast<std::uint64_t>(n)));
    }
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(std::ssize(columns));
  }
  return Csr<double>::pattern(n, n, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                              Array<index_t>::copy_of(std::span<const index_t>(columns)));
}

/// Of more than 16 strips the first of each 16 are counted, then the ninth tell what hubs of the first are worth.
TEST_F(HubColumnsCuda, TwoSamplesHaveToPromiseGain) {
  constexpr int strips = 41;
  cuda::HubRules rules = testing::hubs_of_any_gain();
  rules.cached_lines = 150;
  rules.streamed_lines = 10000;
  rules.least_saved = 150'000;
  rules.most = 4000;
  rules.least_uses = 20;
  const auto hubs_of = [&](const auto& has_hubs) { return find(graph_of_strips(strips, has_hubs), rules); };
  const Csr<double> everywhere = graph_of_strips(strips, [](index_t) { return true; });
  const Found found = find(everywhere, rules);
  ASSERT_EQ(found.hubs.size(), 400U);
  expect_codes(everywhere, found);
  EXPECT_TRUE(hubs_of([](index_t) { return false; }).hubs.empty());
  EXPECT_FALSE(hubs_of([](index_t strip) { return strip % 2 == 0; }).hubs.empty());
  EXPECT_TRUE(hubs_of([](index_t strip) { return strip % 16 != 0; }).hubs.empty()) << "not in the first sample";
  EXPECT_TRUE(hubs_of([](index_t strip) { return strip % 16 != 8; }).hubs.empty()) << "not in the second";
}

/// Sixty columns, which all have more uses than histograms tell apart, twenty of them most.
TEST_F(HubColumnsCuda, StagedAmongManyThatAreUsedOften) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 4000; ++i) {
    for (index_t j = 0; j < 60; ++j) {
      if (i % (1 + j / 20) == 0) columns.push_back(50 * j);
    }
    offsets.push_back(std::ssize(columns));
  }
  const Csr<double> matrix =
      Csr<double>::pattern(4000, 3000, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                           Array<index_t>::copy_of(std::span<const index_t>(columns)));
  const Found found = find(matrix, testing::staged_hubs(30));
  expect_codes(matrix, found);
  ASSERT_EQ(found.hubs.size(), 60U);
  ASSERT_EQ(found.staged, 20);
  EXPECT_EQ(found.hubs[40], 0);
  EXPECT_EQ(found.hubs[59], 950);
}

TEST_F(HubColumnsCuda, OtherNonzerosHaveSlots) {
  for (const auto& [rows, cols, popular] : {std::tuple{1000, 800, 20}, {7000, 9000, 200}}) {
    for (const index_t column_block : {1000000, 700, 71}) {
      SCOPED_TRACE(::testing::Message() << rows << " x " << cols << ", blocks of " << column_block);
      const Csr<double> matrix = graph(rows, cols, popular, 11);
      cuda::HubRules rules = testing::hubs_and_slots(column_block);
      for (const index_t beyond : {-1, 50}) {
        rules.slots.beyond = beyond;
        const Found found = find(matrix, rules);
        ASSERT_FALSE(found.hubs.empty());
        ASSERT_GT(found.slots.size(), 100U);
        expect_codes(matrix, found);
        expect_slots(matrix, found, rules.slots);
      }
    }
  }
  const Csr<double> matrix = graph(7000, 64 * cuda::most_slot_blocks, 200, 11);
  const cuda::HubRules rules = testing::hubs_and_slots(64);
  ASSERT_EQ(cuda::slot_blocks(matrix.cols(), rules.slots), cuda::most_slot_blocks);
  const Found found = find(matrix, rules);
  ASSERT_GT(found.slots.size(), 1000U);
  expect_slots(matrix, found, rules.slots);
}

TEST_F(HubColumnsCuda, OneNonzeroHasAHubAndNoSlot) {
  cuda::HubRules rules = testing::hubs_and_slots(1);
  rules.least_uses = 1;
  const Csr<double> matrix = Csr<double>::pattern(1, 1, Array<offset_t>::copy_of(std::vector<offset_t>{0, 1}),
                                                  Array<index_t>::copy_of(std::vector<index_t>{0}));
  const Found found = find(matrix, rules);
  EXPECT_EQ(found.hubs, std::vector<index_t>{0});
  EXPECT_TRUE(found.slots.empty());
  expect_codes(matrix, found);
}

/// By the uses of x that miss the cache: nearly all of them without a cache, none where it holds everything.
TEST_F(HubColumnsCuda, SlotsPayWhereTheCacheIsSmall) {
  const Csr<double> matrix = graph(7000, 9000, 200, 11);
  cuda::HubRules rules = testing::hubs_and_slots(500);
  const auto slots = static_cast<double>(find(matrix, rules).slots.size());
  rules.slots.least_saved = 10.0 * slots;
  rules.cached_lines = 1.0;
  EXPECT_EQ(static_cast<double>(find(matrix, rules).slots.size()), slots);
  rules.cached_lines = 1e9;
  EXPECT_TRUE(find(matrix, rules).slots.empty());
}

/// Beside staged hubs, and only as far as hubs are looked for.
TEST_F(HubColumnsCuda, SlotsLieBeforeStagedHubs) {
  const Csr<double> matrix = graph(7000, 9000, 200, 11);
  cuda::HubRules rules = testing::hubs_and_slots(500);
  rules.most_staged = 60;
  rules.near = 300;
  const Found found = find(matrix, rules);
  ASSERT_GT(found.staged, 10);
  ASSERT_LE(found.staged, 60);
  expect_codes(matrix, found);
  rules.slots.beyond = rules.near;
  expect_slots(matrix, found, rules.slots);
}

TEST_F(HubColumnsCuda, NoSlotsWhereTheyDoNotPay) {
  const Csr<double> matrix = graph(7000, 9000, 200, 11);
  cuda::HubRules rules = testing::hubs_and_slots(500);
  const auto slots = static_cast<std::int64_t>(find(matrix, rules).slots.size());
  ASSERT_GT(slots, 1000);
  const auto expect_none = [&](const cuda::HubRules& changed) {
    const Found found = find(matrix, changed);
    EXPECT_TRUE(found.slots.empty());
    EXPECT_FALSE(found.hubs.empty());
    expect_codes(matrix, found);
  };
  rules.slots.most = slots;
  EXPECT_EQ(std::ssize(find(matrix, rules).slots), slots);
  rules.slots.most = slots - 1;
  expect_none(rules);
  rules.slots.most = 0;
  expect_none(rules);
  rules = testing::hubs_and_slots(500);
  rules.slots.least_saved = 64.0 * static_cast<double>(slots);
  expect_none(rules);
  rules = testing::hubs_and_slots(9000 / cuda::most_slot_blocks - 1);  // more blocks than there may be
  expect_none(rules);
}

}  // namespace
}  // namespace tessera
