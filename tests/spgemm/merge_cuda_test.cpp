// Merging short rows of B, a thread a row, against the host's product.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "tests/spgemm/accumulator_cuda_pairs.hpp"

namespace tessera {
namespace {

using cuda::merge_b_rows;
using cuda::NoValue;
using testing::AccumulatorCheck;
using testing::PairShape;

constexpr auto weighted = ValueStorage::weighted;
constexpr auto pattern = ValueStorage::pattern;
constexpr int emulated_stride = 2;

class MergeCuda : public testing::CudaTest {
 protected:
  /// All rows that can be merged. \returns how many
  template <class V, class T>
  static index_t check(const Csr<T>& a, const Csr<T>& b) {
    return check_by<V>(a, b, cuda::enqueue_merge<V>);
  }
  template <class V, class T>
  static index_t check_by(const Csr<T>& a, const Csr<T>& b, typename AccumulatorCheck<V, T>::Enqueue enqueue) {
    return AccumulatorCheck<V, T>(gpu(), a, b).run(enqueue, [](const host::RowTask& row, offset_t) {
      return row.a_row_nnz() <= merge_b_rows;
    });
  }
  /// With and without values, which A and B may both lack.
  template <class T>
  static void check_storages(const PairShape& shape) {
    for (const auto a_storage : {weighted, pattern}) {
      for (const auto b_storage : {weighted, pattern}) {
        SCOPED_TRACE(::testing::Message() << "patterns: " << (a_storage == pattern) << (b_storage == pattern));
        const auto [a, b] = testing::make_pair_of<T>(shape, a_storage, b_storage);
        ASSERT_EQ((check<T>(a, b)), shape.rows);
        ASSERT_EQ((check<NoValue>(a, b)), shape.rows);
      }
    }
  }
};

TEST_F(MergeCuda, AdversarialPairsDouble) {
  testing::for_each_adversarial_pair<double>(weighted, emulated_stride,
                                             [](const auto& a, const auto& b) { check<double>(a, b); });
}
TEST_F(MergeCuda, AdversarialPairsFloat) {
  testing::for_each_adversarial_pair<float>(weighted, emulated_stride,
                                            [](const auto& a, const auto& b) { check<float>(a, b); });
}
TEST_F(MergeCuda, AdversarialPairsOfPatterns) {
  testing::for_each_adversarial_pair<double>(pattern, emulated_stride,
                                             [](const auto& a, const auto& b) { check<NoValue>(a, b); });
}

TEST_F(MergeCuda, EveryNumberOfLists) {
  for (index_t b_rows = 0; b_rows <= merge_b_rows; ++b_rows) {
    SCOPED_TRACE(b_rows);
    const auto [a, b] = testing::make_pair_of<double>({150, b_rows, 40, {0, 1, 7, 3, 12, 0, 2}, 60});
    ASSERT_EQ((check<double>(a, b)), 150);
    ASSERT_EQ((check<NoValue>(a, b)), 150);
  }
}

TEST_F(MergeCuda, PatternsAndWeights) {
  check_storages<double>({140, 5, 30, {4, 0, 9}, 33});
  check_storages<float>({140, 8, 30, {4, 0, 9}, 33});
}

TEST_F(MergeCuda, ColumnsThatAllListsShare) {
  const auto [a, b] = testing::make_pair_of<double>({130, merge_b_rows, 20, {9}, 9});
  ASSERT_EQ((check<double>(a, b)), 130);
}

TEST_F(MergeCuda, ColumnsThatNoListsShare) {
  // Row k of B has columns k, 100 + k, 200 + k.
  std::vector<index_t> columns;
  for (index_t k = 0; k < 100; ++k) columns.insert(columns.end(), {k, 100 + k, 200 + k});
  std::vector<offset_t> offsets;
  for (offset_t k = 0; k <= 100; ++k) offsets.push_back(3 * k);
  const Csr<float> b(100, 300, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                     Array<float>::copy_of(testing::random_vector<float>(300, 1)));
  const auto a = testing::with_row_lengths<float>(testing::lengths_of(129, 8), 100, weighted, 3);
  ASSERT_EQ((check<float>(a, b)), 129);
}

TEST_F(MergeCuda, StrangeValues) {
  const auto [a, b] = testing::make_pair_of<double>({260, 6, 50, {5, 8, 2}, 24});
  check<double>(testing::with_strange_values(a, 1), testing::with_strange_values(b, 2));
  check<double>(a, testing::with_strange_values(b, 3));
  const auto [c, d] = testing::make_pair_of<float>({260, 8, 50, {5, 8, 2}, 24});
  check<float>(testing::with_strange_values(c, 4), testing::with_strange_values(d, 5));
}

TEST_F(MergeCuda, ListOfRowsAmongLongerOnes) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < 700; ++i) lengths.push_back(i % 3 == 1 ? 9 + i % 5 : i % 9);
  const auto a = testing::with_row_lengths<double>(lengths, 90, weighted, 6);
  const auto b = testing::with_row_lengths<double>(testing::power_law_lengths(90, 30, 7), 64, weighted, 8);
  const index_t served = check<double>(a, b);
  EXPECT_GT(served, 256);
  EXPECT_LT(served, 700);
  EXPECT_EQ((check<NoValue>(a, b)), served);
}

TEST_F(MergeCuda, BlocksThatDoNotFitIntoSharedMemory) {
  // The first block has a few long rows, the others none: on average, there is room.
  std::vector<index_t> of_b = testing::lengths_of(60, 2);
  for (std::size_t k = 0; k < 30; ++k) of_b[k] = 200;
  const auto b = testing::with_row_lengths<double>(of_b, 900, weighted, 9);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < 400; ++i) {
    for (index_t k = 0; k < 3; ++k) columns.push_back((i < 5 ? 0 : 30) + (i + 7 * k) % 8 + 8 * k);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Csr<double> a(400, 60, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                      Array<double>::copy_of(testing::random_vector<double>(1200, 10)));
  ASSERT_EQ((check<double>(a, b)), 400);
  // The same by a row of B of rows.
  const auto odd = [](const host::RowTask& row, offset_t) { return row.begin % 2 == 0; };
  ASSERT_EQ((AccumulatorCheck<double, double>(gpu(), a, b).run(cuda::enqueue_merge<double>, odd)), 200);
}

TEST_F(MergeCuda, MeansThatWereForeseenWrong) {
  const auto [a, b] = testing::make_pair_of<double>({300, 4, 30, {6, 3}, 50});
  check_by<double>(a, b,
                   [](const cuda::Context& context, cuda::Phase phase, const cuda::Factors<double>& factors,
                      const cuda::RowBatch& batch, const cuda::RowOutput<double>& out) {
                     cuda::RowBatch other = batch;
                     other.mean_entries = 0;
                     cuda::enqueue_merge(context, phase, factors, other, out);
                     other.mean_entries = 1e6;
                     other.most_entries = 1 << 30;
                     if (phase != cuda::Phase::numeric_allocating)
                       cuda::enqueue_merge(context, phase, factors, other, out);
                   });
}

TEST_F(MergeCuda, ColumnsUpToTheLastOneThereIs) {
  constexpr index_t cols = std::numeric_limits<index_t>::max();
  std::vector<index_t> columns;
  std::vector<offset_t> offsets{0};
  for (index_t k = 0; k < 40; ++k) {
    for (const index_t column : {k, (1 << 30) + k % 5, cols - 20 + k % 7, cols - 1}) columns.push_back(column);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const Csr<double> b(40, cols, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns),
                      Array<double>::copy_of(testing::random_vector<double>(160, 11)));
  const auto a = testing::with_row_lengths<double>(testing::lengths_of(150, 7), 40, weighted, 12);
  ASSERT_EQ((check<double>(a, b)), 150);
  ASSERT_EQ((check<NoValue>(a, b)), 150);
}

TEST_F(MergeCuda, NoRows) {
  const auto [a, b] = testing::make_pair_of<double>({20, 9, 30, {2}, 30});
  EXPECT_EQ((check<double>(a, b)), 0);
}

}  // namespace
}  // namespace tessera
