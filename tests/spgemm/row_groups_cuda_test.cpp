// Rows of A with the positions of the row before, which a GPU counts once.
#include "spgemm/cuda/analysis.hpp"
#include "tests/spgemm/product_cuda_check.hpp"
#include "tests/support/make_csr.hpp"

#include "tessera/generators.hpp"

namespace tessera {
namespace {

class RowGroupsOnGpu : public testing::CudaTest {};

/// Rows with the same positions and values of their own.
struct Group {
  index_t rows = 1;
  index_t first = 0;
  index_t step = 1;
  index_t entries = 0;
};

Csr<double> rows_of(const std::vector<Group>& groups, index_t cols) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (const Group& group : groups) {
    for (index_t i = 0; i < group.rows; ++i) {
      for (index_t k = 0; k < group.entries; ++k) columns.push_back(group.first + k * group.step);
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
  }
  const auto values = testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 4);
  return testing::make_csr<double>(static_cast<index_t>(offsets.size()) - 1, cols, offsets, columns, values);
}

/// Some are like the ones before but for the places of their columns or one entry more; some are longer than is looked
/// back.
std::vector<Group> many_groups() {
  return {{3, 0, 2, 20},  {3, 0, 2, 20},  {1, 1, 2, 20},  {2, 0, 2, 21}, {5, 0, 2, 7},    {4, 0, 0, 0},
          {97, 5, 1, 33}, {96, 5, 1, 34}, {200, 7, 3, 9}, {1, 7, 3, 8},  {70, 10, 1, 64}, {2, 10, 1, 65}};
}

std::vector<bool> expected_repeats(const Csr<double>& a) {
  std::vector<bool> repeats;
  for (index_t i = 0; i < a.rows(); ++i) {
    const auto begin = a.row_offsets()[i];
    const auto length = a.row_offsets()[i + 1] - begin;
    bool in_group = i % 96 != 0 && length >= 8 && begin - a.row_offsets()[i - 1] == length;
    for (offset_t k = 0; in_group && k < length; ++k) {
      in_group = a.columns()[begin + k] == a.columns()[begin - length + k];
    }
    repeats.push_back(in_group);
  }
  return repeats;
}

TEST_F(RowGroupsOnGpu, AreFound) {
  const Csr<double> a = rows_of(many_groups(), 80);
  const Csr<double> there = a.to(gpu());
  const cuda::DeviceGuard current(gpu());
  const cuda::Context& context = cuda::Context::of(gpu());
  cuda::RowAnalysis analysis(a.rows(), gpu());
  const auto factors = host::factors_of<cuda::NoValue>(there.view(), there.view());
  cuda::enqueue_repeats(context, factors, {a.rows(), a.cols(), a.nnz()}, analysis);
  ASSERT_TRUE(analysis.repeats);
  const auto bins = analysis.bins.to(Device{});
  const std::vector<bool> expected = expected_repeats(a);
  index_t found = 0;
  for (index_t i = 0; i < a.rows(); ++i) {
    ASSERT_EQ(cuda::is_repeat(bins[i]), expected[static_cast<std::size_t>(i)]) << "row " << i;
    found += cuda::is_repeat(bins[i]) ? 1 : 0;
  }
  EXPECT_GT(found, 450);
}

/// Of each row: how many it is done along with are after it, or -1 where it goes along itself.
std::vector<int> expected_followers(const std::vector<bool>& repeats) {
  std::vector<int> followers(repeats.size(), 0);
  std::size_t leader = 0;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] && followers[leader] < 2) {
      ++followers[leader];
      followers[i] = -1;
    } else {
      leader = i;
    }
  }
  return followers;
}

TEST_F(RowGroupsOnGpu, AreDoneThreeAtATime) {
  const Csr<double> a = rows_of(many_groups(), 80);
  const std::vector<bool> repeats = expected_repeats(a);
  const cuda::DeviceGuard current(gpu());
  cuda::RowAnalysis analysis(a.rows(), gpu());
  analysis.repeats = true;
  std::vector<std::uint8_t> bins;
  std::vector<offset_t> counts;
  for (index_t i = 0; i < a.rows(); ++i) {
    const bool repeat = repeats[static_cast<std::size_t>(i)];
    bins.push_back(repeat ? cuda::repeat_bit : 0);
    counts.push_back(repeat ? -1 : i);
  }
  analysis.bins = Array<std::uint8_t>::copy_of(bins, gpu());
  Array<offset_t> on_gpu = Array<offset_t>::copy_of(counts, gpu());
  cuda::enqueue_repeated_counts(cuda::Context::of(gpu()), analysis, a.rows(), on_gpu.data());
  const auto found = analysis.bins.to(Device{});
  const auto found_counts = on_gpu.to(Device{});
  const std::vector<int> expected = expected_followers(repeats);
  for (index_t i = 0; i < a.rows(); ++i) {
    const int followers = expected[static_cast<std::size_t>(i)];
    ASSERT_EQ(cuda::is_follower(found[i]), followers < 0) << "row " << i;
    ASSERT_EQ(cuda::is_repeat(found[i]), repeats[static_cast<std::size_t>(i)]) << "row " << i;
    if (followers > 0) {
      ASSERT_EQ((found[i + 1] & cuda::third_bit) != 0, followers == 2) << "row " << i;
    }
    if (repeats[static_cast<std::size_t>(i)]) {
      ASSERT_EQ(found_counts[i], found_counts[i - 1]) << "row " << i;
    }
  }
}

TEST_F(RowGroupsOnGpu, AreGivenToAWindowTogether) {
  const Csr<double> a = rows_of(many_groups(), 80);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(80, 40), 3000, ValueStorage::weighted, 6);
  const Csr<double> a_there = a.to(gpu());
  const Csr<double> b_there = b.to(gpu());
  const auto factors = host::factors_of<cuda::NoValue>(a_there.view(), b_there.view());
  const cuda::DeviceGuard current(gpu());
  const cuda::Context& context = cuda::Context::of(gpu());
  cuda::RowPolicy policy;
  policy.preferred = SpgemmAccumulator::bitmap;
  cuda::RowAnalysis analysis(a.rows(), gpu());
  const cuda::ProductShape shape{a.rows(), a.cols(), a.nnz()};
  cuda::enqueue_repeats(context, factors, shape, analysis);
  cuda::enqueue_analysis(context, factors, shape, policy, analysis);
  const Csr<double> c = spgemm(a, b).matrix;
  std::vector<offset_t> counts;
  for (index_t i = 0; i < a.rows(); ++i) counts.push_back(c.row_offsets()[i + 1] - c.row_offsets()[i]);
  Array<offset_t> on_gpu = Array<offset_t>::copy_of(counts, gpu());
  cuda::enqueue_repeated_counts(context, analysis, a.rows(), on_gpu.data());
  cuda::RowEntries entries;
  entries.counts = on_gpu.data();
  policy.counted = true;
  cuda::enqueue_choice(context, a_there.row_offsets().data(), a.rows(), entries, policy, analysis);
  const auto totals = cuda::fetch_totals(context, analysis, nullptr).totals;
  const auto bins = analysis.bins.to(Device{});

  const std::vector<int> followers = expected_followers(expected_repeats(a));
  unsigned leaders = 0;
  unsigned others = 0;
  for (index_t i = 0; i < a.rows(); ++i) {
    const int after = followers[static_cast<std::size_t>(i)];
    ASSERT_EQ(cuda::is_follower(bins[i]), after < 0) << "row " << i;
    ASSERT_EQ(bins[i] == static_cast<std::uint8_t>(cuda::RowBin::bitmap_row_group), after > 0) << "row " << i;
    leaders += after > 0 ? 1U : 0U;
    others += after < 0 ? 1U : 0U;
  }
  const cuda::BinTotals& in_group = totals[static_cast<std::size_t>(cuda::RowBin::bitmap_row_group)];
  EXPECT_GT(leaders, 100U);
  EXPECT_EQ(in_group.rows, leaders);
  EXPECT_EQ(in_group.followers, others);
}

TEST_F(RowGroupsOnGpu, AreNotLookedForInShortRows) {
  cuda::RowAnalysis analysis(100, gpu());
  cuda::enqueue_repeats(cuda::Context::of(gpu()), {}, {100, 100, 799}, analysis);
  EXPECT_FALSE(analysis.repeats);
}

TEST_F(RowGroupsOnGpu, HaveTheCountsOfTheFirstAndSumsOfTheirOwn) {
  const Csr<double> a = rows_of(many_groups(), 80);
  const std::vector<index_t> lengths =
      testing::gpu_is_emulated ? std::vector<index_t>{3} : std::vector<index_t>{0, 3, 40};
  for (const index_t length : lengths) {
    SCOPED_TRACE(length);
    const auto b = testing::with_row_lengths<double>(testing::lengths_of(80, length), 3000, ValueStorage::weighted, 6);
    const auto expected = spgemm(a, b);
    const auto all = testing::with_automatic(spgemm_accumulators(Device::Kind::cuda));
    for (const auto accumulator : all) {
      testing::check_on_gpu(a, b, expected, testing::gpu_options(gpu(), SpgemmWorkflow::symbolic, accumulator));
      ASSERT_FALSE(HasFailure());
    }
    for (const auto accumulator : {SpgemmAccumulator::automatic, SpgemmAccumulator::bitmap}) {
      const auto options = testing::gpu_options(gpu(), SpgemmWorkflow::automatic, accumulator);
      SpgemmPlan<double> plan(a.to(gpu()), b.to(gpu()), options);
      testing::expect_identical(expected.matrix.view(), plan.multiply().to(Device{}).view());
    }
  }
}

/// Rows that go along with others count as rows of the accumulator, and their products as its products.
TEST_F(RowGroupsOnGpu, TheReportCountsAllOfThem) {
  const Csr<double> a = rows_of(many_groups(), 80);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(80, 40), 3000, ValueStorage::weighted, 6);
  const auto options = testing::gpu_options(gpu(), SpgemmWorkflow::symbolic, SpgemmAccumulator::bitmap);
  const SpgemmReport report = spgemm(a, b, options).report;
  ASSERT_EQ(report.accumulators.size(), 1U);
  EXPECT_EQ(report.accumulators[0].accumulator, SpgemmAccumulator::bitmap);
  EXPECT_EQ(report.accumulators[0].rows, a.rows() - 4);  // four are empty
  EXPECT_EQ(report.accumulators[0].products, report.products);
}

TEST_F(RowGroupsOnGpu, InFloat) {
  const Csr<double> a = rows_of(many_groups(), 80);
  Array<float> values(a.nnz());
  for (offset_t k = 0; k < a.nnz(); ++k) values[k] = static_cast<float>(a.values()[k]);
  const Csr<float> narrow(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}),
                          std::move(values));
  const auto b = testing::with_row_lengths<float>(testing::lengths_of(80, 9), 700, ValueStorage::weighted, 3);
  testing::check_on_gpu(narrow, b, spgemm(narrow, b),
                        testing::gpu_options(gpu(), SpgemmWorkflow::symbolic, SpgemmAccumulator::bitmap));
}

/// Three unknowns a node.
TEST_F(RowGroupsOnGpu, ThreeUnknownsANode) {
  const auto nodes = generate<double>(parse_generator(testing::gpu_is_emulated ? "fem3d:64" : "fem3d:4000"));
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 3 * nodes.rows(); ++i) {
    for (offset_t k = nodes.row_offsets()[i / 3]; k < nodes.row_offsets()[i / 3 + 1]; ++k) {
      for (index_t unknown = 0; unknown < 3; ++unknown) columns.push_back(3 * nodes.columns()[k] + unknown);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto values = testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 8);
  const auto a = testing::make_csr<double>(3 * nodes.rows(), 3 * nodes.rows(), offsets, columns, values);
  testing::check_on_gpu(a, a, spgemm(a, a), testing::gpu_options(gpu(), SpgemmWorkflow::automatic));
}

}  // namespace
}  // namespace tessera
