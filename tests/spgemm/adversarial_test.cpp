// Every workflow with every accumulator on the matrices on which sparse kernels go wrong.
#include "tessera/statistics.hpp"
#include "tests/spgemm/product_check.hpp"

namespace tessera {
namespace {

/// Products that a test multiplies many ways in reasonable time.
constexpr offset_t most_products = 600'000;

/// Lengths at which windows, blocks of 64 columns and tables end.
const std::vector<index_t> path_units{64, 512};

template <class T>
void check_pair(const std::string& name, const Csr<T>& a, const Csr<T>& b) {
  if (a.cols() != b.rows() || testing::count_products(a.view(), b.view()) > most_products) return;
  SCOPED_TRACE(name);
  testing::check_all_ways(a, b);
}

template <class T>
void check_all_pairs(ValueStorage storage) {
  const auto list = testing::adversarial_matrices<T>(storage, path_units);
  for (const auto& [name, matrix] : list) {
    const Csr<T> transposed = transpose(matrix.view());
    check_pair(name + " times its transpose", matrix, transposed);
    check_pair(name + ", transpose times itself", transposed, matrix);
    for (const auto& [other, factor] : list) check_pair(name + " times " + other, matrix, factor);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SpgemmAdversarial, AllPairsDouble) { check_all_pairs<double>(ValueStorage::weighted); }
TEST(SpgemmAdversarial, AllPairsFloat) { check_all_pairs<float>(ValueStorage::weighted); }
TEST(SpgemmAdversarial, AllPairsOfPatternsGiveCounts) { check_all_pairs<double>(ValueStorage::pattern); }

TEST(SpgemmAdversarial, PatternTimesWeights) {
  const auto a = testing::with_row_lengths<double>({5, 0, 30, 64, 1}, 70, ValueStorage::pattern, 3);
  const auto b = testing::with_row_lengths<double>(std::vector<index_t>(70, 9), 200, ValueStorage::weighted, 4);
  testing::check_all_ways(a, b);
  testing::check_all_ways(transpose(b.view()), transpose(a.view()));
}

TEST(SpgemmAdversarial, HubRowsTimesHubColumns) {
  std::vector<index_t> lengths(800, 2);
  lengths[17] = 3000;
  lengths[799] = 2500;
  const auto a = testing::with_row_lengths<double>(lengths, 4000, ValueStorage::weighted, 5);
  std::vector<index_t> tall(4000, 1);
  tall[3] = 600;
  testing::check_all_ways(a, testing::with_row_lengths<double>(tall, 700, ValueStorage::weighted, 6));
}

TEST(SpgemmAdversarial, WideRangesOfFewEntries) {
  const auto a = testing::with_row_lengths<double>(std::vector<index_t>(900, 6), 900, ValueStorage::weighted, 7);
  const auto b =
      testing::with_row_lengths<double>(std::vector<index_t>(900, 3), 2'000'000'000, ValueStorage::weighted, 8);
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    for (const auto accumulator : {SpgemmAccumulator::automatic, SpgemmAccumulator::merge, SpgemmAccumulator::hash}) {
      const auto options = testing::spgemm_options(workflow, accumulator);
      SCOPED_TRACE(testing::name_of(options));
      const Csr<double> c = spgemm(a, transpose(a.view()), options).matrix;
      ASSERT_TRUE(testing::is_product(a.view(), transpose(a.view()).view(), c.view()));
      const Csr<double> wide = spgemm(a, b, options).matrix;
      ASSERT_EQ(wide.nnz(), spgemm(a, b).matrix.nnz());
      EXPECT_NO_THROW(validate(wide.view()));
    }
  }
}

}  // namespace
}  // namespace tessera
