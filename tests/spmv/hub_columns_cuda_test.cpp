// MERBIT's hub columns on a GPU: which are found, their codes, and products with them.
#include "spmv/merbit/hub_columns.hpp"

#include "spmv/merbit/merbit_arrays.hpp"
#include "tests/spmv/merbit_cuda_support.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using testing::MerbitOnGpu;

class HubColumnsCuda : public testing::CudaTest {};

/// Columns of a few popular ones and of any, rows of any length.
Csr<double> graph(index_t rows, index_t cols, index_t popular, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < rows; ++i) {
    std::set<index_t> row;
    for (std::uint64_t k = cols > 0 ? generator() % 12 : 0; k > 0; --k) {
      const bool is_popular = popular > 0 && generator() % 2 == 0;
      const std::uint64_t number = generator() % static_cast<std::uint64_t>(is_popular ? popular : cols);
      row.insert(static_cast<index_t>(is_popular ? number * 7919 % static_cast<std::uint64_t>(cols) : number));
    }
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(std::ssize(columns));
  }
  return Csr<double>::pattern(rows, cols, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                              Array<index_t>::copy_of(std::span<const index_t>(columns)));
}

struct Found {
  std::vector<index_t> codes;
  std::vector<index_t> hubs;
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
  return {{codes.begin(), codes.end()}, {columns.begin(), columns.end()}, hubs.uses, hubs.staged};
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
  std::uint64_t coded = 0;
  for (offset_t k = 0; k < matrix.nnz(); ++k) {
    const index_t code = found.codes[static_cast<std::size_t>(k)];
    const bool is_coded = cuda::is_hub_code(code);
    coded += is_coded ? 1 : 0;
    const index_t column = is_coded ? found.hubs[found.hubs.size() - static_cast<std::size_t>(-code)] : code;
    ASSERT_EQ(column, matrix.columns()[k]) << "nonzero " << k;
  }
  EXPECT_EQ(found.uses, coded);
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
      const bool is_coded = cuda::is_hub_code(found.codes[static_cast<std::size_t>(k)]);
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
    EXPECT_GT(info.bytes, static_cast<std::uint64_t>(structure.nnz()) * sizeof(index_t));
  }
}

TEST_F(HubColumnsCuda, ProductsKeepTheirBits) {
  const cuda::HubRules rules = testing::hubs_of_any_gain();
  expect_same_bits<float>(ValueStorage::weighted, rules);
  expect_same_bits<double>(ValueStorage::weighted, rules);
  expect_same_bits<double>(ValueStorage::weighted, rules, true);
  expect_same_bits<float>(ValueStorage::pattern, rules);
  expect_same_bits<double>(ValueStorage::pattern, rules);
}

TEST_F(HubColumnsCuda, ProductsWithStagedHubsKeepTheirBits) {
  for (const cuda::HubRules& rules : {testing::staged_hubs(100), testing::staged_hubs(16384)}) {
    expect_same_bits<float>(ValueStorage::pattern, rules);
    expect_same_bits<double>(ValueStorage::pattern, rules);
  }
  expect_same_bits<double>(ValueStorage::weighted, testing::staged_hubs(100));
  // More tiles than there are warps on a GPU.
  expect_same_bits<double>(ValueStorage::pattern, testing::staged_hubs(100), false, testing::repetitions(500000, 6000));
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

/// NaN stays in the rows that have its column, whether that is a packed hub or a staged one.
TEST_F(HubColumnsCuda, NanStaysInItsRows) {
  const Csr<double> structure = graph(3000, 2000, 100, 3);
  testing::MerbitCudaCase forced{"", cuda::MerbitLayout::columns};
  for (const std::int64_t most_staged : {0, 50}) {
    forced.hubs = testing::staged_hubs(most_staged);
    const MerbitOnGpu<double> a(with_storage<double>(structure, ValueStorage::pattern), forced,
                                Determinism::run_to_run);
    const cuda::HubArrays& hubs = a.kernel_with_tiles().tiles().hubs;
    ASSERT_GT(hubs.count, 100);
    ASSERT_EQ(hubs.staged > 0, most_staged > 0);
    for (const index_t number : {5, hubs.count - 1}) {
      SCOPED_TRACE(::testing::Message() << "hub " << number << ", " << hubs.staged << " staged");
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

/// Scattered rows of four over more than the cache of any GPU of today keeps of x; half of the columns are hubs'.
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

TEST_F(HubColumnsCuda, PlansOfLargeGraphsPackThem) {
  if (testing::repetitions(1, 0) == 0) GTEST_SKIP() << "12 million rows: not on an emulated GPU";
  auto graph = std::make_shared<const Csr<double>>(large_graph(12'000'000));
  const auto there = std::make_shared<const Csr<double>>(graph->to(gpu()));
  SpmvOptions options;
  options.device = gpu();
  options.algorithm = SpmvAlgorithm::merbit;
  options.determinism = Determinism::run_to_run;
  const SpmvPlan<double> packed(there, options);
  EXPECT_NE(packed.info().reason.find("hub columns"), std::string::npos) << packed.info().reason;
  options.expected_applications = cuda::applications_worth_hubs_of_pattern - 1;
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

}  // namespace
}  // namespace tessera
