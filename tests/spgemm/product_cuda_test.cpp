// Every workflow with every accumulator of a GPU on the matrices on which sparse kernels go wrong.
#include "tests/spgemm/product_cuda_check.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/make_csr.hpp"

namespace tessera {
namespace {

class SpgemmOnGpu : public testing::CudaTest {};

/// Lengths at which blocks of products and tables end.
const std::vector<index_t> path_units{32, 256};

/// Products that are multiplied many ways in reasonable time.
offset_t most_products() { return testing::repetitions(400000, 6000); }

const auto kind = Device::Kind::cuda;

/// Each pair of matrices meets some ways to multiply, in turn.
class Pairs {
 public:
  explicit Pairs(const Device& gpu) : gpu_(gpu) {}

  template <class T>
  void check(const std::string& name, const Csr<T>& a, const Csr<T>& b) {
    if (a.cols() != b.rows() || testing::count_products(a.view(), b.view()) > most_products()) return;
    if (pairs_++ % (testing::sparing() ? 40 : testing::repetitions(1, 8)) != 0) return;
    SCOPED_TRACE(name);
    const SpgemmResult<T> expected = spgemm(a, b);
    const auto workflows = testing::with_automatic(spgemm_workflows());
    const auto accumulators = testing::with_automatic(spgemm_accumulators(kind));
    const int ways = testing::repetitions(12, 1);
    for (int way = 0; way < ways; ++way) {
      const auto number = static_cast<std::size_t>(turn_++);
      const auto options = testing::gpu_options(gpu_, workflows[number % workflows.size()],
                                                accumulators[number / workflows.size() % accumulators.size()]);
      testing::check_on_gpu(a, b, expected, options);
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  Device gpu_;
  int turn_ = 0;
  int pairs_ = 0;
};

template <class T>
void check_all_pairs(const Device& gpu, ValueStorage storage) {
  Pairs pairs(gpu);
  const auto b_row = testing::adversarial_matrices<T>(storage, path_units);
  for (const auto& [name, matrix] : b_row) {
    const Csr<T> transposed = transpose(matrix.view());
    pairs.check(name + " times its transpose", matrix, transposed);
    pairs.check(name + ", transpose times itself", transposed, matrix);
    for (const auto& [other, factor] : b_row) pairs.check(name + " times " + other, matrix, factor);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(SpgemmOnGpu, AllPairsDouble) { check_all_pairs<double>(gpu(), ValueStorage::weighted); }
TEST_F(SpgemmOnGpu, AllPairsFloat) { check_all_pairs<float>(gpu(), ValueStorage::weighted); }
TEST_F(SpgemmOnGpu, AllPairsOfPatternsGiveCounts) { check_all_pairs<double>(gpu(), ValueStorage::pattern); }

TEST_F(SpgemmOnGpu, EveryWorkflowWithEveryAccumulator) {
  for (const char* spec : {"fem3d:1000", "rmat:2048", "lap2d:3000", "rowskew:1000", "band:500,width=30"}) {
    const bool small = testing::gpu_is_emulated || testing::sparing();
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(small ? "rmat:128" : spec));
    const auto expected = spgemm(a, a);
    for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
      for (const auto accumulator : testing::with_automatic(spgemm_accumulators(kind))) {
        testing::check_on_gpu(a, a, expected, testing::gpu_options(gpu(), workflow, accumulator));
        ASSERT_FALSE(HasFailure());
      }
    }
    if (small) return;
  }
}

TEST_F(SpgemmOnGpu, FactorsOfTheHostAndOfTheGpu) {
  const auto a = testing::with_row_lengths<double>({5, 0, 30, 64, 1}, 70, ValueStorage::pattern, 3);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(70, 9), 200, ValueStorage::weighted, 4);
  const auto expected = spgemm(a, b);
  const auto options = testing::gpu_options(gpu(), SpgemmWorkflow::automatic);
  const Csr<double> a_there = a.to(gpu());
  const Csr<double> b_there = b.to(gpu());
  for (const auto* left : {&a, &a_there}) {
    for (const auto* right : {&b, &b_there}) {
      const auto c = testing::product_on_gpu(*left, *right, options, expected.report);
      testing::expect_identical(expected.matrix.view(), c.view());
    }
  }
  EXPECT_THROW(static_cast<void>(spgemm(a_there, b)), NotSupported) << "C was to lie on the host";
}

TEST_F(SpgemmOnGpu, HubRowsTimesHubColumns) {
  const int hub = testing::repetitions(300000, 3000);
  std::vector<index_t> lengths(800, 2);
  lengths[17] = hub;
  lengths[799] = hub / 2;
  const auto a = testing::with_row_lengths<double>(lengths, 2 * hub, ValueStorage::weighted, 5);
  std::vector<index_t> tall(static_cast<std::size_t>(2 * hub), 1);
  tall[3] = 600;
  const auto b = testing::with_row_lengths<double>(tall, 700, ValueStorage::weighted, 6);
  const auto expected = spgemm(a, b);
  for (const auto workflow : spgemm_workflows()) {
    testing::check_on_gpu(a, b, expected, testing::gpu_options(gpu(), workflow));
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(SpgemmOnGpu, WideRangesOfFewEntries) {
  const auto rows = static_cast<std::size_t>(testing::repetitions(900, 24));
  const auto a = testing::with_row_lengths<double>(std::vector<index_t>(rows, 12), static_cast<index_t>(rows),
                                                   ValueStorage::weighted, 7);
  const auto b =
      testing::with_row_lengths<double>(std::vector<index_t>(rows, 9), 2'000'000'000, ValueStorage::weighted, 8);
  const auto expected = spgemm(a, b);
  for (const auto workflow : spgemm_workflows()) {
    for (const auto accumulator : testing::with_automatic(spgemm_accumulators(kind))) {
      const auto options = testing::gpu_options(gpu(), workflow, accumulator);
      SCOPED_TRACE(testing::gpu_name_of(options));
      testing::expect_identical(expected.matrix.view(), testing::product_on_gpu(a, b, options, expected.report).view());
      ASSERT_FALSE(HasFailure());
    }
    if (testing::gpu_is_emulated) return;
  }
}

/// Most rows compress much, so that few entries are foreseen of those that do not: their tables must hold them all.
TEST_F(SpgemmOnGpu, TablesOfRowsWithMoreEntriesThanForeseen) {
  constexpr index_t b_rows = 20;
  constexpr index_t length = 60;
  constexpr index_t cols = 400'000;
  const index_t in_group = testing::repetitions(600, 60);
  // Rows of B: `b_rows` with the same columns, then `b_rows` with columns of their own.
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t l = 0; l < 2 * b_rows; ++l) {
    for (index_t j = 0; j < length; ++j) columns.push_back(l < b_rows ? j : (j * b_rows + l - b_rows) * 333);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto b_values = testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 3);
  const auto b = testing::make_csr<double>(2 * b_rows, cols, offsets, columns, b_values);
  offsets = {0};
  columns.clear();
  for (index_t i = 0; i < in_group + 4; ++i) {
    for (index_t l = 0; l < b_rows; ++l) columns.push_back(i < in_group ? l : b_rows + l);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto a_values = testing::random_vector<double>(static_cast<std::int64_t>(columns.size()), 5);
  const auto a = testing::make_csr<double>(in_group + 4, 2 * b_rows, offsets, columns, a_values);
  const auto expected = spgemm(a, b);
  ASSERT_EQ(expected.matrix.row_offsets()[in_group + 1] - expected.matrix.row_offsets()[in_group], b_rows * length);
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    testing::check_on_gpu(a, b, expected, testing::gpu_options(gpu(), workflow));
  }
  auto any = testing::gpu_options(gpu(), SpgemmWorkflow::symbolic);
  any.determinism = Determinism::not_guaranteed;
  EXPECT_EQ(spgemm(a, b, any).report.determinism, Determinism::not_guaranteed) << "1200 entries in a table";
}

TEST_F(SpgemmOnGpu, SignsOfZeroAndNumbersThatAreNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto b =
      testing::make_csr<double>(3, 3, {0, 2, 4, 5}, {0, 1, 0, 2, 2}, {infinity, 1.0, -infinity, -0.0, infinity});
  const auto a = testing::make_csr<double>(3, 3, {0, 2, 3, 4}, {0, 1, 2, 0}, {1.0, 1.0, 0.0, 2.0});
  for (const auto accumulator : testing::with_automatic(spgemm_accumulators(kind))) {
    for (const auto workflow : {SpgemmWorkflow::symbolic, SpgemmWorkflow::upper_bound}) {
      const auto c = spgemm(a, b, testing::gpu_options(gpu(), workflow, accumulator)).matrix.to(Device{});
      ASSERT_EQ(c.nnz(), 6);
      EXPECT_TRUE(std::isnan(c.values()[0])) << "inf - inf";
      EXPECT_EQ(c.values()[1], 1.0);
      EXPECT_TRUE(c.values()[2] == 0.0 && std::signbit(c.values()[2]));
      EXPECT_TRUE(std::isnan(c.values()[3])) << "0 inf";
      EXPECT_EQ(c.values()[4], infinity);
      EXPECT_EQ(c.values()[5], 2.0);
    }
  }
}

TEST_F(SpgemmOnGpu, RefusesAnAccumulatorOfTheOtherBackend) {
  const auto a = testing::make_pattern<double>(1, 1, {0, 1}, {0});
  SpgemmOptions options;
  options.accumulator = SpgemmAccumulator::bitmap_tiled;
  EXPECT_THROW(static_cast<void>(spgemm(a, a, options)), NotSupported);
}

TEST_F(SpgemmOnGpu, ComposedProducts) {
  const auto a = generate<double>(parse_generator(testing::gpu_is_emulated ? "lap2d:100" : "lap2d:10000"));
  const auto link = testing::with_row_lengths<double>(std::vector<index_t>(static_cast<std::size_t>(a.rows()), 1),
                                                      a.rows() / 4, ValueStorage::weighted, 3);
  const auto options = testing::gpu_options(gpu(), SpgemmWorkflow::automatic);
  const Csr<double> restriction = transpose(link.view());
  testing::expect_identical(galerkin(restriction, a, link).matrix.view(),
                            galerkin(restriction, a, link, options).matrix.to(Device{}).view());
  for (const int k : {0, 1, 2, 5}) {
    const auto power = matrix_power(a, k, options).matrix;
    EXPECT_TRUE(power.device() == gpu());
    testing::expect_identical(matrix_power(a, k).matrix.view(), power.to(Device{}).view());
  }
}

}  // namespace
}  // namespace tessera
