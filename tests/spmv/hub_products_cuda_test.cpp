// MERBIT's products with hub columns on a GPU, packed and staged: bits, NaN, threads, plans.
#include "spmv/merbit/hub_columns.hpp"
#include "spmv/merbit/merbit_arrays.hpp"
#include "spmv/merbit/merbit_plan.hpp"
#include "tests/spmv/merbit_cuda_support.hpp"
#include "tests/support/hub_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using testing::graph;
using testing::MerbitOnGpu;

class HubProductsCuda : public testing::CudaTest {};

template <class T>
Csr<T> with_storage(const Csr<double>& matrix, ValueStorage storage) {
  const Device host;
  if (storage == ValueStorage::pattern) {
    return Csr<T>::pattern(matrix.rows(), matrix.cols(), matrix.row_offsets().to(host), matrix.columns().to(host));
  }
  const std::vector<T> values = testing::random_vector<T>(static_cast<index_t>(matrix.nnz()), 4);
  return Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(host), matrix.columns().to(host),
                Array<T>::copy_of(values));
}

/// Rows longer than several tiles behind those of graph().
Csr<double> graph_with_long_rows(index_t rows, index_t cols) {
  const Csr<double> first = graph(rows, cols, 300, 13);
  std::vector<offset_t> offsets(first.row_offsets().begin(), first.row_offsets().end());
  std::vector<index_t> columns(first.columns().begin(), first.columns().end());
  for (const index_t length : {700, 3000, 4999}) {
    for (index_t k = 0; k < length; ++k) columns.push_back(static_cast<index_t>(std::int64_t{k} * cols / length));
    offsets.push_back(std::ssize(columns));
  }
  return Csr<double>::pattern(rows + 3, cols, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                              Array<index_t>::copy_of(std::span<const index_t>(columns)));
}

/// The same bits with hubs and without them, in every layout that takes them. Blocks that stage hubs have more tiles,
/// so that inner products are added up in another order.
template <class T>
void expect_same_bits(ValueStorage storage, const cuda::HubRules& rules, bool fp32_values = false,
                      index_t short_rows = testing::repetitions(20000, 3000)) {
  using enum cuda::MerbitLayout;
  const Csr<double> structure = graph_with_long_rows(short_rows, 5000);
  for (const cuda::MerbitLayout layout : {scalar, columns, local_columns}) {
    if (layout != scalar && storage == ValueStorage::weighted) continue;
    SCOPED_TRACE(static_cast<int>(layout));
    testing::MerbitCudaCase forced{"", layout};
    const auto make = [&] {
      return MerbitOnGpu<T>(with_storage<T>(structure, storage), forced, Determinism::run_to_run, fp32_values);
    };
    const MerbitOnGpu<T> plain = make();
    forced.hubs = rules;
    const MerbitOnGpu<T> packed = make();
    ASSERT_GT(packed.kernel_with_tiles().tiles().hubs.count, 100);
    ASSERT_EQ(packed.kernel_with_tiles().tiles().hubs.staged > 0, rules.most_staged > 0);
    ASSERT_EQ(plain.kernel_with_tiles().tiles().hubs.count, 0);
    const auto x = testing::random_vector<T>(structure.cols(), 1);
    const auto y = testing::random_vector<T>(structure.rows(), 2);
    EXPECT_EQ(packed.apply(T{1}, x, T{0}, y), plain.apply(T{1}, x, T{0}, y));
    const auto other = testing::random_vector<T>(structure.cols(), 3);
    EXPECT_EQ(packed.apply(T{-2}, other, T{3}, y), plain.apply(T{-2}, other, T{3}, y));
    const auto [product, dots] = packed.apply_and_dot(x, y);
    const auto [expected, expected_dots] = plain.apply_and_dot(x, y);
    EXPECT_EQ(product, expected);
    const bool stages = rules.most_staged > 0 && layout == columns;
    EXPECT_NEAR(dots.wy, expected_dots.wy, stages ? 1e-13 * expected_dots.yy : 0.0);
    EXPECT_NEAR(dots.yy, expected_dots.yy, stages ? 1e-13 * expected_dots.yy : 0.0);
    PlanInfo info;
    packed.kernel().describe(info);
    EXPECT_NE(info.reason.find("hub columns"), std::string::npos) << info.reason;
    EXPECT_EQ(info.reason.find("staged in shared memory") != std::string::npos, rules.most_staged > 0) << info.reason;
    EXPECT_EQ(info.reason.find("slots of their own") != std::string::npos, rules.slots.most > 0) << info.reason;
    EXPECT_GT(info.bytes, static_cast<std::uint64_t>(structure.nnz()) * sizeof(index_t));
  }
}

TEST_F(HubProductsCuda, ProductsKeepTheirBits) {
  const cuda::HubRules rules = testing::hubs_of_any_gain();
  expect_same_bits<float>(ValueStorage::weighted, rules);
  expect_same_bits<double>(ValueStorage::weighted, rules);
  expect_same_bits<double>(ValueStorage::weighted, rules, true);
  expect_same_bits<float>(ValueStorage::pattern, rules);
  expect_same_bits<double>(ValueStorage::pattern, rules);
}

TEST_F(HubProductsCuda, ProductsWithStagedHubsKeepTheirBits) {
  for (const cuda::HubRules& rules : {testing::staged_hubs(100), testing::staged_hubs(16384)}) {
    expect_same_bits<float>(ValueStorage::pattern, rules);
    expect_same_bits<double>(ValueStorage::pattern, rules);
  }
  expect_same_bits<double>(ValueStorage::weighted, testing::staged_hubs(100));
  // More tiles than there are warps on a GPU.
  expect_same_bits<double>(ValueStorage::pattern, testing::staged_hubs(100), false, testing::repetitions(500000, 6000));
}

TEST_F(HubProductsCuda, ProductsWithSlotsKeepTheirBits) {
  cuda::HubRules rules = testing::hubs_and_slots(700);
  expect_same_bits<float>(ValueStorage::weighted, rules);
  expect_same_bits<double>(ValueStorage::weighted, rules);
  expect_same_bits<double>(ValueStorage::weighted, rules, true);
  expect_same_bits<float>(ValueStorage::pattern, rules);
  expect_same_bits<double>(ValueStorage::pattern, rules);
  rules.most_staged = 100;
  expect_same_bits<float>(ValueStorage::pattern, rules);
  expect_same_bits<double>(ValueStorage::pattern, rules);
}

/// By the columns of a pattern matrix.
MerbitOnGpu<double> columns_product(const Csr<double>& structure, const cuda::HubRules& rules) {
  const testing::MerbitCudaCase forced{"", cuda::MerbitLayout::columns, 0, 0, rules};
  return MerbitOnGpu<double>(with_storage<double>(structure, ValueStorage::pattern), forced, Determinism::run_to_run);
}

/// NaN stays in the rows that have its column, whether that has slots, or is a packed hub or a staged one.
TEST_F(HubProductsCuda, NanStaysInItsRows) {
  const Csr<double> structure = graph(3000, 2000, 100, 3);
  for (const cuda::HubRules& rules :
       {testing::hubs_of_any_gain(), testing::staged_hubs(50), testing::hubs_and_slots(300)}) {
    const MerbitOnGpu<double> a = columns_product(structure, rules);
    const cuda::HubArrays& hubs = a.kernel_with_tiles().tiles().hubs;
    ASSERT_GT(hubs.count, 100);
    ASSERT_EQ(hubs.staged > 0, rules.most_staged > 0);
    for (const index_t number : {5, hubs.count - 1}) {
      SCOPED_TRACE(::testing::Message() << "packed column " << number << ", " << hubs.staged << " staged");
      index_t hub = 0;
      detail::copy_bytes(Device{}, &hub, Device::cuda(0), hubs.columns + number, sizeof(hub));
      std::vector<double> x(2000, 1.0);
      x[static_cast<std::size_t>(hub)] = std::numeric_limits<double>::quiet_NaN();
      const std::vector<double> y = a.apply(1.0, x, 0.0, std::vector<double>(3000, 0.0));
      int with_nan = 0;
      for (index_t i = 0; i < structure.rows(); ++i) {
        const auto begin = structure.columns().begin() + structure.row_offsets()[i];
        const auto end = structure.columns().begin() + structure.row_offsets()[i + 1];
        const bool has_it = std::find(begin, end, hub) != end;
        with_nan += has_it ? 1 : 0;
        ASSERT_EQ(std::isnan(y[static_cast<std::size_t>(i)]), has_it) << "row " << i;
      }
      EXPECT_GT(with_nan, 1);
    }
  }
}

/// Scattered rows of five over more than the cache of any GPU of today keeps of x; three in five nonzeros are hubs'.
Csr<double> large_graph(index_t rows) {
  std::mt19937_64 generator(11);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  columns.reserve(static_cast<std::size_t>(rows) * 5);
  for (index_t i = 0; i < rows; ++i) {
    index_t row[5];
    for (int k = 0; k < 5; ++k) {
      const std::uint64_t any = generator();
      const auto n = static_cast<std::uint64_t>(rows);
      row[k] = static_cast<index_t>((k < 3 ? any % (n / 64) * 61 : any) % n);
    }
    std::sort(row, row + 5);
    columns.insert(columns.end(), row, std::unique(row, row + 5));
    offsets.push_back(std::ssize(columns));
  }
  return Csr<double>::pattern(rows, rows, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                              Array<index_t>::copy_of(std::span<const index_t>(columns)));
}

TEST_F(HubProductsCuda, PlansOfLargeGraphsPackThem) {
  if (testing::repetitions(1, 0) == 0) GTEST_SKIP() << "20 million rows: not on an emulated GPU";
  auto graph = std::make_shared<const Csr<double>>(large_graph(20'000'000));
  const auto there = std::make_shared<const Csr<double>>(graph->to(gpu()));
  SpmvOptions options;
  options.device = gpu();
  options.algorithm = SpmvAlgorithm::merbit;
  options.determinism = Determinism::run_to_run;
  const SpmvPlan<double> packed(there, options);
  EXPECT_NE(packed.info().reason.find("hub columns"), std::string::npos) << packed.info().reason;
  EXPECT_NE(packed.info().reason.find("slots of their own"), std::string::npos) << packed.info().reason;
  const cuda::HubForecast forecast = cuda::forecast_hubs(there->view(), options);
  EXPECT_GT(forecast.spared, 0.2);
  EXPECT_LT(forecast.spared, 1.0);
  options.rank_products = true;
  EXPECT_LT(cuda::forecast_hubs(there->view(), options).spared, forecast.spared) << "slots spare some, too";
  const SpmvPlan<double> of_ranking(there, options);
  EXPECT_NE(of_ranking.info().reason.find("hub columns"), std::string::npos) << of_ranking.info().reason;
  EXPECT_EQ(of_ranking.info().reason.find("slots of their own"), std::string::npos) << of_ranking.info().reason;
  options.rank_products = false;
  options.expected_applications = cuda::applications_worth_hubs_of_pattern - 1;
  EXPECT_EQ(cuda::forecast_hubs(there->view(), options).spared, 0.0);
  const SpmvPlan<double> plain(there, options);
  EXPECT_EQ(plain.info().reason.find("hub columns"), std::string::npos) << plain.info().reason;
  const auto x = Array<double>::copy_of(testing::random_vector<double>(graph->cols(), 1), gpu());
  Array<double> y(graph->rows(), Init::none, gpu());
  Array<double> expected(graph->rows(), Init::none, gpu());
  packed.apply(1.0, x.span(), 0.0, y.span());
  plain.apply(1.0, x.span(), 0.0, expected.span());
  const Array<double> found = y.to(Device{});
  const Array<double> on_host = expected.to(Device{});
  EXPECT_TRUE(std::equal(found.begin(), found.end(), on_host.begin()));
}

/// Packed x is the kernel's: products of two threads take turns. No row is shared by tiles, so that nothing else makes
/// them.
TEST_F(HubProductsCuda, ServeTwoThreadsAtOnce) {
  const Csr<double> structure = graph(3000, 2000, 100, 3);
  for (const std::int64_t most_staged : {0, 50}) {
    const MerbitOnGpu<double> a = columns_product(structure, testing::staged_hubs(most_staged));
    ASSERT_FALSE(a.kernel_with_tiles().tiles().share_rows);
    const std::vector<double> zeros(3000, 0.0);
    const std::vector<double> x[2] = {testing::random_vector<double>(2000, 1), testing::random_vector<double>(2000, 2)};
    const std::vector<double> expected[2] = {a.apply(1.0, x[0], 0.0, zeros), a.apply(1.0, x[1], 0.0, zeros)};
    int wrong[2] = {};
    const auto work = [&](std::size_t which) {
      for (int run = 0; run < testing::repetitions(200, 100); ++run) {
        wrong[which] += a.apply(1.0, x[which], 0.0, zeros) != expected[which] ? 1 : 0;
      }
    };
    std::thread other([&] { work(1); });
    work(0);
    other.join();
    EXPECT_EQ(wrong[0], 0);
    EXPECT_EQ(wrong[1], 0);
  }
}

}  // namespace
}  // namespace tessera
