// Expansion, sorting and contraction, a warp a row, against the host's product.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "tests/spgemm/accumulator_cuda_pairs.hpp"

#include <bit>

namespace tessera {
namespace {

using cuda::esc_products;
using cuda::NoValue;
using testing::AccumulatorCheck;
using testing::PairShape;

constexpr auto weighted = ValueStorage::weighted;
constexpr auto pattern = ValueStorage::pattern;
constexpr int emulated_stride = 20;

class EscCuda : public testing::CudaTest {
 protected:
  /// All rows of at most so many products that can be sorted. \returns how many
  template <class V, class T>
  static index_t check(const Csr<T>& a, const Csr<T>& b, offset_t most = esc_products) {
    return AccumulatorCheck<V, T>(gpu(), a, b).run(cuda::enqueue_esc<V>, [&](const host::RowTask& row, offset_t) {
      return row.products <= most &&
             cuda::short_keys(row.width, std::bit_ceil(static_cast<std::uint32_t>(row.products)));
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

TEST_F(EscCuda, AdversarialPairsDouble) {
  testing::for_each_adversarial_pair<double>(weighted, emulated_stride,
                                             [](const auto& a, const auto& b) { check<double>(a, b); });
}
TEST_F(EscCuda, AdversarialPairsFloat) {
  testing::for_each_adversarial_pair<float>(weighted, emulated_stride,
                                            [](const auto& a, const auto& b) { check<float>(a, b); });
}
TEST_F(EscCuda, AdversarialPairsOfPatterns) {
  testing::for_each_adversarial_pair<double>(pattern, emulated_stride,
                                             [](const auto& a, const auto& b) { check<NoValue>(a, b); });
}

TEST_F(EscCuda, RowsThatFillTheirRegisters) {
  for (const index_t products : {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512}) {
    SCOPED_TRACE(products);
    // In rows of B of one entry, of one row of B, and of 32 rows of B or nearly so.
    const auto [single, ones] = testing::make_pair_of<double>({3, products, 600, {1}, 90});
    ASSERT_EQ((check<double>(single, ones)), 3);
    const auto [one, b_rows] = testing::make_pair_of<double>({5, 1, 6, {products}, 700});
    ASSERT_EQ((check<double>(one, b_rows)), 5);
    if (products % 2 != 0) continue;
    const auto [both, pairs] = testing::make_pair_of<float>({6, 2, 8, {products / 2}, 300});
    ASSERT_EQ((check<float>(both, pairs)), 6);
    ASSERT_EQ((check<NoValue>(both, pairs)), 6);
  }
}

TEST_F(EscCuda, EverySizeOfAGroupOfLanes) {
  for (const index_t length : {1, 2, 3, 5, 6, 11, 12, 22, 24, 40}) {
    SCOPED_TRACE(length);
    // Lists of other lengths as well: some need several rounds.
    const auto [a, b] = testing::make_pair_of<double>({20, 6, 50, {length, 0, 2 * length - 1, length}, 130});
    ASSERT_EQ((check<double>(a, b)), 20);
  }
}

TEST_F(EscCuda, MoreListsThanLanes) {
  const auto [a, b] = testing::make_pair_of<double>({9, 70, 200, {3, 0, 8, 1, 5, 0}, 400});
  ASSERT_EQ((check<double>(a, b)), 9);
}

TEST_F(EscCuda, PatternsAndWeights) {
  check_storages<double>({14, 20, 30, {4, 0, 9}, 33});
  check_storages<float>({14, 8, 30, {4, 0, 9}, 33});
}

TEST_F(EscCuda, ManyProductsAnEntry) {
  const auto [a, b] = testing::make_pair_of<double>({17, 40, 60, {12}, 12});
  ASSERT_EQ((check<double>(a, b)), 17);
  const auto [c, d] = testing::make_pair_of<float>({9, 512, 600, {1}, 1});
  ASSERT_EQ((check<float>(c, d)), 9);
}

TEST_F(EscCuda, StrangeValues) {
  const auto [a, b] = testing::make_pair_of<double>({40, 30, 50, {5, 8, 2}, 60});
  check<double>(testing::with_strange_values(a, 1), testing::with_strange_values(b, 2));
  check<double>(a, testing::with_strange_values(b, 3));
  const auto [c, d] = testing::make_pair_of<float>({40, 8, 50, {5, 8, 2}, 24});
  check<float>(testing::with_strange_values(c, 4), testing::with_strange_values(d, 5));
}

TEST_F(EscCuda, ListOfRowsOfEachSize) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < 120; ++i) lengths.push_back(i * 37 % 90);
  const auto a = testing::with_row_lengths<double>(lengths, 100, weighted, 6);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(100, 7), 64, weighted, 8);
  index_t before = 0;
  for (const offset_t most : {32, 64, 128, 256, 512}) {
    SCOPED_TRACE(most);
    const index_t served = check<double>(a, b, most);
    EXPECT_GT(served, before);
    before = served;
    EXPECT_EQ((check<NoValue>(a, b, most)), served);
  }
  EXPECT_LT(before, 120);
}

TEST_F(EscCuda, RowsAsWideAsKeysAllow) {
  for (const std::uint32_t offsets : {1U, 2U, 32U, 64U, 512U}) {
    SCOPED_TRACE(offsets);
    index_t width = std::numeric_limits<index_t>::max() - 1;
    const std::uint64_t fitting = ((std::uint64_t{1} << 32) - offsets - 1) / offsets;
    if (fitting < static_cast<std::uint64_t>(width)) width = static_cast<index_t>(fitting);
    ASSERT_TRUE(cuda::short_keys(width, offsets));
    // Two rows of B with the first and the last column each; the rest of the products lies between.
    const auto half = static_cast<index_t>(offsets / 2 < 1 ? 1 : offsets / 2);
    std::vector<index_t> columns;
    for (int row = 0; row < 2; ++row) {
      for (index_t k = 0; k + 1 < half; ++k) columns.push_back(k * (width / half) + row * (k > 0 ? 1 : 0));
      columns.push_back(width - 1);
    }
    const Csr<double> b(2, width, Array<offset_t>::copy_of(std::vector<offset_t>{0, half, 2 * half}),
                        Array<index_t>::copy_of(columns),
                        Array<double>::copy_of(testing::random_vector<double>(2 * half, 9)));
    const auto a = testing::with_row_lengths<double>(testing::lengths_of(5, offsets == 1 ? 1 : 2), 2, weighted, 2);
    ASSERT_EQ((check<double>(a, b)), 5);
  }
}

TEST_F(EscCuda, NoRows) {
  const auto [a, b] = testing::make_pair_of<double>({3, 600, 700, {1}, 30});
  EXPECT_EQ((check<double>(a, b)), 0);
}

}  // namespace
}  // namespace tessera
