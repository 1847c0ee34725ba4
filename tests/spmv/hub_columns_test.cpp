// Rules of MERBIT's hub columns, and what they promise: against a simulated cache.
#include "spmv/merbit/hub_columns.hpp"

#include "spmv/merbit/merbit_tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>
#include <unordered_map>
#include <vector>

namespace tessera {

using namespace cuda;
namespace {

UseCounts counts_of(const std::vector<unsigned>& uses) {
  UseCounts counts;
  for (const unsigned n : uses) {
    if (n == 0) continue;
    const unsigned bin = std::min(n, unsigned{UseCounts::bins - 1});
    ++counts.with_uses[bin];
    if (bin == UseCounts::bins - 1) counts.uses_of_last_bin += n;
  }
  return counts;
}

TEST(HubColumns, MostUsedTakesAsManyAsFit) {
  const UseCounts counts = counts_of({0, 1, 1, 1, 2, 2, 5, 7, 3000, 1023});
  const auto expect = [&](std::int64_t most, std::uint64_t least, std::uint64_t threshold, std::int64_t count,
                          std::uint64_t uses) {
    SCOPED_TRACE(most);
    const MostUsed found = most_used(counts, most, least);
    EXPECT_EQ(found.least_uses, threshold);
    EXPECT_EQ(found.count, count);
    EXPECT_EQ(found.uses, uses);
  };
  expect(100, 1, 1, 9, 4042);
  expect(100, 0, 1, 9, 4042);
  expect(100, 2, 2, 6, 4039);
  expect(5, 1, 3, 4, 4035);
  expect(3, 1, 6, 3, 4030);
  expect(1, 1, UseCounts::bins, 0, 0);  // two have 1023 uses or more
  expect(0, 1, UseCounts::bins, 0, 0);
  EXPECT_EQ(most_used(UseCounts{}, 10, 1).count, 0);
}

/// Least recently used lines leave first.
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}

  /// \returns whether it was there
  bool use(std::int64_t line) {
    const auto found = at_.find(line);
    const bool hit = found != at_.end();
    if (hit) order_.erase(found->second);
    order_.push_front(line);
    at_[line] = order_.begin();
    if (order_.size() > capacity_) {
      at_.erase(order_.back());
      order_.pop_back();
    }
    return hit;
  }

 private:
  std::size_t capacity_;
  std::list<std::int64_t> order_;
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> at_;
};

/// Misses of scattered lines in the second of two products. \param streamed lines between them, evenly
std::int64_t simulated_misses(const std::vector<unsigned>& uses, std::int64_t streamed, std::size_t capacity) {
  std::vector<std::int64_t> reads;
  for (std::size_t line = 0; line < uses.size(); ++line) {
    reads.insert(reads.end(), uses[line], static_cast<std::int64_t>(line));
  }
  std::mt19937_64 generator(7);
  LruCache cache(capacity);
  std::int64_t misses = 0;
  for (int product = 0; product < 2; ++product) {
    std::shuffle(reads.begin(), reads.end(), generator);
    misses = 0;
    std::int64_t passed = 0;
    for (std::size_t k = 0; k < reads.size(); ++k) {
      misses += cache.use(reads[k]) ? 0 : 1;
      const auto due = static_cast<std::int64_t>(k + 1) * streamed / static_cast<std::int64_t>(reads.size());
      for (; passed < due; ++passed) cache.use(-1 - passed);
    }
  }
  return misses;
}

std::vector<unsigned> zipf_uses(std::size_t lines, double first, double exponent) {
  std::vector<unsigned> uses;
  for (std::size_t k = 0; k < lines; ++k) {
    uses.push_back(1 + static_cast<unsigned>(first * std::pow(static_cast<double>(k + 1), -exponent)));
  }
  return uses;
}

double predicted_misses(const std::vector<unsigned>& uses, double streamed, double capacity) {
  std::vector<UsedLines> lines;
  for (const unsigned n : uses) lines.push_back({1.0, static_cast<double>(n)});
  return missed_uses(lines, streamed, capacity);
}

/// Che's approximation is known to be off by a few percent; within one product uses of a line are spread more evenly
/// than at random, which the shuffle keeps.
TEST(HubColumns, MissesAreThoseOfACacheThatDropsTheLeastRecentlyUsed) {
  for (const double exponent : {0.0, 0.6, 0.9}) {
    for (const std::size_t capacity : {300U, 1500U}) {
      SCOPED_TRACE(::testing::Message() << exponent << ", " << capacity);
      const std::vector<unsigned> uses = zipf_uses(5000, exponent > 0 ? 3000 : 11, exponent);
      const std::int64_t streamed = 20000;
      const auto simulated = static_cast<double>(simulated_misses(uses, streamed, capacity));
      const double predicted = predicted_misses(uses, 1.0 * streamed, static_cast<double>(capacity));
      ASSERT_GT(simulated, 5000.0);
      EXPECT_NEAR(predicted / simulated, 1.0, 0.06);
    }
  }
  EXPECT_EQ(predicted_misses(zipf_uses(100, 50, 0.5), 10.0, 110.0), 0.0) << "all lines fit";
  // Lines that are used once per product, more than fit: hardly any is left when its turn comes again.
  const std::vector<unsigned> once(1000, 1);
  const auto simulated = static_cast<double>(simulated_misses(once, 0, 700));
  EXPECT_GT(simulated, 400.0);
  EXPECT_NEAR(predicted_misses(once, 0.0, 700.0), 300.0, 1.0) << "at random: e^-t of them, where 1 - e^-t are kept";
}

/// Lines of eight columns of a matrix, hubs packed into lines of their own.
struct Promise {
  MostUsed hubs;
  double saved = 0.0;
};
Promise promise_of(const std::vector<unsigned>& uses_of_column, const HubRules& rules) {
  std::vector<unsigned> of_line(uses_of_column.size() / static_cast<std::size_t>(rules.line_entries));
  for (std::size_t c = 0; c < uses_of_column.size(); ++c) {
    of_line[c / static_cast<std::size_t>(rules.line_entries)] += uses_of_column[c];
  }
  Promise promise;
  promise.hubs = most_used(counts_of(uses_of_column), rules.most, rules.least_uses);
  promise.saved = gain_by_hubs(counts_of(of_line), promise.hubs, rules, 1).saved;
  return promise;
}

TEST(HubColumns, SaveWhereAFewColumnsHaveMostUses) {
  constexpr std::size_t cols = 1 << 16;
  HubRules rules = hub_rules(600'000, sizeof(double), sizeof(double), 64 * 1024);
  rules.least_uses = 8;
  std::vector<unsigned> uses = zipf_uses(cols, 20000, 0.9);
  std::shuffle(uses.begin(), uses.end(), std::mt19937_64(3));
  const Promise skewed = promise_of(uses, rules);
  EXPECT_GT(skewed.hubs.count, 500);
  EXPECT_LE(skewed.hubs.count, rules.most);
  EXPECT_GT(skewed.saved, rules.least_saved);

  const Promise even = promise_of(std::vector<unsigned>(cols, 9), rules);
  EXPECT_EQ(even.hubs.count, 0) << "more than fit have equally many uses";
  EXPECT_EQ(even.saved, 0.0);

  // One in 16 of all uses, each for 16.
  std::vector<unsigned> sampled = uses;
  for (unsigned& n : sampled) n /= 16;
  MostUsed same = skewed.hubs;
  same.uses /= 16;
  std::vector<unsigned> lines(cols / 8);
  for (std::size_t c = 0; c < cols; ++c) lines[c / 8] += sampled[c];
  EXPECT_NEAR(gain_by_hubs(counts_of(lines), same, rules, 16).saved / skewed.saved, 1.0, 0.25);

  HubRules large = rules;
  large.cached_lines = cols;
  EXPECT_LT(promise_of(uses, large).saved, 0.0) << "all of x and of the matrix fits the cache, and packing costs";
}

TEST(HubColumns, RulesFollowTheCache) {
  constexpr std::int64_t cache = 50 * 1024 * 1024;
  const HubRules doubles = hub_rules(1'000'000, 8, 8.0, cache);
  EXPECT_EQ(doubles.line_entries, 8);
  EXPECT_NEAR(static_cast<double>(doubles.most) * 8, cache / 6.0, 8.0);
  EXPECT_NEAR(doubles.cached_lines * memory_line_bytes, 0.4 * cache, 1.0);
  EXPECT_NEAR(doubles.streamed_lines * memory_line_bytes, 12e6, 1.0);
  EXPECT_NEAR(doubles.least_saved, 0.05 * 12e6, 1.0);
  const HubRules floats = hub_rules(1'000'000, 4, 0.0, cache);
  EXPECT_EQ(floats.line_entries, 16);
  EXPECT_NEAR(static_cast<double>(floats.most), 2.0 * static_cast<double>(doubles.most), 2.0);
  EXPECT_NEAR(floats.streamed_lines * memory_line_bytes, 4e6, 1.0);
}

/// Columns, nonzeros and lines per nonzero of the generated families at full size, on a GPU with 50 MB of cache.
TEST(HubColumns, AreLookedForInLargeScatteredMatrices) {
  constexpr std::int64_t cache = 50 * 1024 * 1024;
  const auto looks = [](index_t cols, offset_t nnz, double share, std::size_t bytes, std::int64_t products = 1000,
                        double room = 1e10) {
    return may_gain_by_hubs({cols, nnz, share, products, room}, hub_rules(nnz, bytes, 8.0, cache));
  };
  EXPECT_TRUE(looks(15'000'000, 231'973'930, 0.48, 8)) << "web";
  EXPECT_TRUE(looks(15'000'000, 231'973'930, 0.36, 4)) << "web";
  EXPECT_TRUE(looks(4'194'304, 65'243'493, 1.0, 8)) << "rmat";
  EXPECT_FALSE(looks(4'194'304, 65'243'493, 0.99, 4)) << "rmat: the cache holds x";
  EXPECT_FALSE(looks(2'000'000, 48'200'000, 0.69, 8)) << "rowskew: the cache holds x";
  EXPECT_FALSE(looks(55'000'000, 117'153'018, 1.0, 8)) << "kmer: two nonzeros per column";
  EXPECT_FALSE(looks(30'000'000, 62'998'636, 0.23, 8)) << "mawi: two nonzeros per column";
  EXPECT_FALSE(looks(25'000'000, 124'980'000, 0.06, 8)) << "lap2d: near columns";
  EXPECT_FALSE(looks(15'000'000, 231'973'930, 0.48, 8, applications_worth_hubs - 1)) << "few products";
  EXPECT_FALSE(looks(15'000'000, 231'973'930, 0.48, 8, 1000, 4.0 * 231'973'929)) << "no room for codes";
  const HubTraits web{15'000'000, 231'973'930, 0.48, applications_worth_hubs_of_pattern, 1e10, true};
  EXPECT_TRUE(may_gain_by_hubs(web, hub_rules(web.nnz, 8, 0.0, cache))) << "without values they pay sooner";
  HubTraits fewer = web;
  --fewer.products;
  EXPECT_FALSE(may_gain_by_hubs(fewer, hub_rules(web.nnz, 8, 0.0, cache)));
}

TEST(HubSlots, RulesFollowTheCache) {
  constexpr std::int64_t cache = 60 * 1024 * 1024;
  constexpr index_t cols = 15'000'000;
  const HubRules hubs = hub_rules(231'973'930, 8, 8.0, cache);
  const double beside = 4.0 * 231'973'930 + 12.0 * static_cast<double>(hubs.most);
  const SlotRules rules = slot_rules(cols, 231'973'930, beside + 12e6, hubs, cache);
  EXPECT_EQ(rules.most, 1'000'000) << "what is left of the room, 4 and 8 bytes each";
  EXPECT_EQ(rules.beyond, 524'288);
  EXPECT_EQ(rules.column_block, 983'040);
  EXPECT_EQ(rules.least_saved, hubs.least_saved);
  EXPECT_EQ(slot_blocks(cols, rules), 16);
  EXPECT_EQ(slot_rules(cols, 231'973'930, beside, hubs, cache).most, 0) << "no room beside codes and hubs";
  EXPECT_EQ(slot_rules(cols, 1'000, 1e15, hubs, cache).most, 1 << 30) << "codes are of 31 bits";
  EXPECT_EQ(slot_rules(0, 0, 1e9, hubs, cache).most, 0);

  const HubRules floats = hub_rules(231'973'930, 4, 4.0, cache);
  EXPECT_EQ(slot_rules(cols, 231'973'930, 2e9, floats, cache).beyond, 1'048'576);
  // 128 blocks of more than an eighth of the cache each, up to a third.
  const SlotRules large = slot_rules(200'000'000, 231'973'930, 2e9, hubs, cache);
  EXPECT_EQ(large.column_block, 1'562'500);
  EXPECT_EQ(slot_blocks(200'000'000, large), most_slot_blocks);
  EXPECT_EQ(slot_rules(400'000'000, 231'973'930, 2e9, hubs, cache).most, 0) << "no cache holds a block";
}

TEST(HubSlots, PayWhereUsesMissTheCache) {
  const HubRules doubles = hub_rules(1'000'000, 8, 8.0, 1 << 20);
  const HubRules floats = hub_rules(1'000'000, 4, 4.0, 1 << 20);
  EXPECT_EQ(saved_by_slots(1000, 1000.0, doubles), 1000.0 * (64 - 20 - 16));
  EXPECT_EQ(saved_by_slots(1000, 1e9, doubles), 1000.0 * (64 - 20 - 16)) << "only their own";
  EXPECT_EQ(saved_by_slots(1000, 1000.0, floats), 1000.0 * (64 - 20 - 8));
  EXPECT_LT(saved_by_slots(1000, 500.0, doubles), 0.0) << "half of them are in the cache";
  EXPECT_EQ(saved_by_slots(0, 1000.0, doubles), 0.0);
}

TEST(HubSlots, AreOfUsesThatHubsLeave) {
  constexpr std::size_t cols = 1 << 16;
  const HubRules rules = hub_rules(600'000, sizeof(double), sizeof(double), 64 * 1024);
  const UseCounts counts = counts_of(zipf_uses(cols / 8, 20000, 0.9));
  const HubGain few = gain_by_hubs(counts, {8, 100, 2'000}, rules, 1);
  const HubGain many = gain_by_hubs(counts, {8, 100, 20'000}, rules, 1);
  EXPECT_GT(many.missed, 1000.0);
  EXPECT_LT(many.missed, few.missed);
  EXPECT_NEAR(many.saved - few.saved, memory_line_bytes * (few.missed - many.missed), 1e-6 * few.missed);
  const HubGain none = gain_by_hubs(UseCounts{}, {8, 100, 20'000}, rules, 1);
  EXPECT_EQ(none.missed, 0.0);
  EXPECT_EQ(none.saved, 0.0);
  EXPECT_EQ(gain_by_hubs(counts, MostUsed{}, rules, 1).saved, 0.0);
}

TEST(HubColumns, AreDescribedWithTheirSlots) {
  HubColumns hubs;
  hubs.columns = Array<index_t>(3, Init::zero);
  hubs.codes = Array<index_t>(100, Init::zero);
  hubs.uses = 20;
  EXPECT_EQ(describe_hubs(hubs), "x at 3 hub columns, which have 20 % of the nonzeros, is packed before each product");
  hubs.slots = 2;
  EXPECT_EQ(describe_hubs(hubs),
            "x at 1 hub column, which has 20 % of the nonzeros, is packed before each product; 2 % have slots of their "
            "own in it");
}

/// Beside the columns of 32 warps.
TEST(HubColumns, StagedOnesLeaveRoomForColumns) {
  constexpr int columns = MerbitCudaPolicy<double, Ones>::ColumnsOfStagedHubs::dynamic_shared_bytes;
  const auto room = [](std::int64_t largest, int taken) {
    DeviceLimits gpu;
    gpu.largest_shared_per_block = largest;
    return staged_hub_room(gpu, taken);
  };
  EXPECT_EQ(room(227 * 1024, columns), 128 * 1024);
  EXPECT_LE(room(99 * 1024, columns) + columns, 97 * 1024);
  EXPECT_GT(room(99 * 1024, columns), 30 * 1024);
  EXPECT_EQ(room(48 * 1024, columns), 0);
  EXPECT_EQ(room(10'000, 0), (10'000 - 2048) / 16 * 16);
}

TEST(HubColumns, AreStoredByTheirNumbers) {
  EXPECT_EQ(HubArrays{}.storage(), HubStorage::none);
  EXPECT_EQ((HubArrays{nullptr, nullptr, 5, 0}.storage()), HubStorage::packed);
  EXPECT_EQ((HubArrays{nullptr, nullptr, 5, 2}.storage()), HubStorage::staged);
}

TEST(HubColumns, FarIsFromTheDiagonalOfAnyShape) {
  EXPECT_EQ(diagonal_column(7, 10, 10), 7);
  EXPECT_EQ(diagonal_column(7, 10, 1000), 700);
  EXPECT_EQ(diagonal_column(700, 1000, 10), 7);
  EXPECT_EQ(diagonal_column(2'147'483'646, 2'147'483'647, 2'000'000'000), 1'999'999'999);
  HubRules rules;
  rules.near = 5;
  EXPECT_FALSE(rules.is_far(distance_between(10, 5)));
  EXPECT_TRUE(rules.is_far(distance_between(11, 5)));
  EXPECT_TRUE(rules.is_far(distance_between(0, 6)));
  EXPECT_FALSE(rules.is_far(distance_between(1, 6)));
  EXPECT_EQ(distance_between(2'147'483'646, 0), 2'147'483'646);
  rules.near = -1;
  EXPECT_TRUE(rules.is_far(0));
  EXPECT_FALSE(rules.is_far(no_distance)) << "no nonzero";
}

TEST(HubColumns, CodesOfHubsAreNegative) {
  EXPECT_EQ(code_of_hub(0, 3), -3);
  EXPECT_EQ(code_of_hub(2, 3), -1);
  EXPECT_EQ(code_of_slot(0, 7), -7) << "slots lie before the hubs";
  EXPECT_EQ(code_of_slot(3, 7), code_of_hub(0, 3) - 1);
  EXPECT_TRUE(is_packed_code(-1));
  EXPECT_FALSE(is_packed_code(0));
}

}  // namespace
}  // namespace tessera
