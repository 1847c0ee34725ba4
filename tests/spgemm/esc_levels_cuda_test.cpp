// The levels of ESC on a GPU, each over rows at its limits, against the host's bits.
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/workflows/esc.hpp"
#include "tests/spgemm/accumulator_cuda_pairs.hpp"

#include <algorithm>
#include <random>

namespace tessera {
namespace {

using cuda::EscClass;
using cuda::EscLevel;
using cuda::NoValue;
using testing::AccumulatorCheck;

constexpr auto weighted = ValueStorage::weighted;
constexpr auto pattern = ValueStorage::pattern;
constexpr int emulated_stride = 60;

/// Products of a shared_bytes of the last level, so that there are several.
constexpr offset_t small_slice = 900;

template <class V>
void allocate_by_device(const cuda::Context& /*context*/, cuda::Phase /*pass*/, const cuda::Factors<V>& factors,
                        const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
  if (batch.count == 0) return;
  const cuda::DeviceRows rows(Device::cuda(0), cuda::positions_of(factors), batch);
  rows.sum(factors, out, small_slice);
}

/// A level as the checks call it.
template <EscLevel Level, class V>
void sum_by(const cuda::Context& context, [[maybe_unused]] cuda::Phase phase, const cuda::Factors<V>& factors,
            const cuda::RowBatch& batch, const cuda::RowOutput<V>& out) {
  if constexpr (Level == EscLevel::thread) {
    cuda::enqueue_esc_threads(context, phase, factors, batch, out);
  } else if constexpr (Level == EscLevel::warp) {
    cuda::enqueue_esc_warps(context, factors, batch, out);
  } else if constexpr (Level == EscLevel::block) {
    cuda::enqueue_esc_blocks(context, factors, batch, out);
  } else {
    allocate_by_device(context, phase, factors, batch, out);
  }
}

offset_t most_products(EscLevel level) {
  if (level == EscLevel::thread) return cuda::esc_thread_products;
  if (level == EscLevel::warp) return cuda::esc_warp_products;
  return level == EscLevel::block ? offset_t{testing::tuning_of_gpu().esc_block_products} : offset_t{1} << 40;
}

class EscLevelsCuda : public testing::CudaTest {
 protected:
  /// Rows of so many products. \returns how many rows these are
  template <EscLevel Level, class V, class T>
  static index_t check(const Csr<T>& a, const Csr<T>& b, offset_t least = 0, offset_t most = most_products(Level)) {
    testing::AccumulatorTraits traits;
    traits.two_phase = Level == EscLevel::thread && cuda::short_keys(b.cols(), cuda::esc_thread_products);
    return AccumulatorCheck<V, T>(gpu(), a, b)
        .run(
            sum_by<Level, V>,
            [&](const host::RowTask& row, offset_t) { return row.products >= least && row.products <= most; }, traits);
  }
  /// Every level, or, on an emulated GPU, one of them after the other.
  template <class V, class T>
  void check_pair(const Csr<T>& a, const Csr<T>& b) {
    if (testing::repetitions(1, 0) == 1) return check_levels<V>(a, b);
    switch (turn_++ % 4) {
      case 0:
        return static_cast<void>(check<EscLevel::thread, V>(a, b));
      case 1:
        return static_cast<void>(check<EscLevel::warp, V>(a, b));
      case 2:
        return static_cast<void>(check<EscLevel::block, V>(a, b, cuda::esc_thread_products));
      default:
        return static_cast<void>(check<EscLevel::device, V>(a, b, cuda::esc_thread_products));
    }
  }
  template <class V, class T>
  static void check_levels(const Csr<T>& a, const Csr<T>& b) {
    check<EscLevel::thread, V>(a, b);
    check<EscLevel::warp, V>(a, b);
    check<EscLevel::block, V>(a, b);
    check<EscLevel::device, V>(a, b);
  }

 private:
  int turn_ = 0;
};

TEST_F(EscLevelsCuda, AdversarialPairsDouble) {
  testing::for_each_adversarial_pair<double>(weighted, emulated_stride,
                                             [&](const auto& a, const auto& b) { check_pair<double>(a, b); });
}
TEST_F(EscLevelsCuda, AdversarialPairsFloat) {
  testing::for_each_adversarial_pair<float>(weighted, emulated_stride,
                                            [&](const auto& a, const auto& b) { check_pair<float>(a, b); });
}
TEST_F(EscLevelsCuda, AdversarialPairsOfPatterns) {
  testing::for_each_adversarial_pair<double>(pattern, emulated_stride,
                                             [&](const auto& a, const auto& b) { check_pair<NoValue>(a, b); });
}

/// Rows of exactly so many products: in rows of B of one entry, of one row of B, and of several.
template <class Check>
void for_each_split(index_t products, index_t cols, Check&& check) {
  SCOPED_TRACE(products);
  const auto [single, ones] = testing::make_pair_of<double>({3, products, products + 40, {1}, cols});
  check(single, ones);
  const auto [one, b_rows] = testing::make_pair_of<double>({5, 1, 6, {products}, std::max(cols, products)});
  check(one, b_rows);
  if (products % 4 != 0) return;
  const auto [both, parts] = testing::make_pair_of<double>({3, 4, 8, {products / 4}, std::max(cols, products / 4)});
  check(both, parts);
}

TEST_F(EscLevelsCuda, RowsThatFillAThread) {
  for (const index_t products : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32}) {
    for_each_split(products, 20, [](const auto& a, const auto& b) {
      ASSERT_EQ((check<EscLevel::thread, double>(a, b)), a.rows());
      ASSERT_EQ((check<EscLevel::thread, NoValue>(a, b)), a.rows());
    });
  }
}

/// Several blocks, whose rows do not lie one after the other in C.
TEST_F(EscLevelsCuda, RowsOfAThreadAmongLongerOnes) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < 300; ++i) lengths.push_back(i * 37 % 50);
  const auto a = testing::with_row_lengths<double>(lengths, 100, weighted, 6);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(100, 1), 64, weighted, 8);
  const index_t served = check<EscLevel::thread, double>(a, b);
  EXPECT_EQ(served, 198);
  EXPECT_EQ((check<EscLevel::thread, NoValue>(a, b)), served);
}

TEST_F(EscLevelsCuda, RowsThatFillAWarp) {
  for (const index_t products : {33, 128, 129, 512, 513, 735, 736}) {
    for_each_split(products, 300, [](const auto& a, const auto& b) {
      ASSERT_EQ((check<EscLevel::warp, double>(a, b)), a.rows());
      ASSERT_EQ((check<EscLevel::warp, NoValue>(a, b)), a.rows());
    });
  }
}

TEST_F(EscLevelsCuda, RowsThatFillABlock) {
  for (const index_t products : {1, 16, 737, 2047, 2048, 2049, 4096, 4097, 6143, 6144}) {
    const auto most = static_cast<index_t>(most_products(EscLevel::block));
    if (products > most) continue;
    if (testing::repetitions(0, 1) == 1 && products % 2 == 0 && products != most) continue;
    for_each_split(products, 1000, [](const auto& a, const auto& b) {
      ASSERT_EQ((check<EscLevel::block, double>(a, b)), a.rows());
      ASSERT_EQ((check<EscLevel::block, NoValue>(a, b)), a.rows());
    });
  }
}

TEST_F(EscLevelsCuda, RowsOfAllBlocks) {
  for (const index_t products : {1, 6145, 20000}) {
    if (testing::sparing() && products == 20000) continue;
    for_each_split(products, 3000, [](const auto& a, const auto& b) {
      ASSERT_EQ((check<EscLevel::device, double>(a, b)), a.rows());
      ASSERT_EQ((check<EscLevel::device, NoValue>(a, b)), a.rows());
    });
  }
}

TEST_F(EscLevelsCuda, FloatRowsOfEachLevel) {
  const auto [a, b] = testing::make_pair_of<float>({9, 30, 50, {24, 0, 7}, 90});
  check_levels<float>(a, b);
  const auto [c, d] = testing::make_pair_of<float>({4, 101, 120, {9, 0, 33}, 70});
  check_levels<float>(c, d);
}

TEST_F(EscLevelsCuda, KeysOf64Bits) {
  const index_t cols = std::numeric_limits<index_t>::max() - 1;
  for (const index_t b_rows : {2, 8, 30, 70, 200}) {
    SCOPED_TRACE(b_rows);
    const auto [a, b] = testing::make_pair_of<double>({5, b_rows, 2 * b_rows, {3, 0, 4}, cols});
    check_levels<double>(a, b);
    check_levels<NoValue>(a, b);
  }
  const auto [c, d] = testing::make_pair_of<float>({3, 3, 9, {900}, cols});
  check_levels<float>(c, d);
}

TEST_F(EscLevelsCuda, ManyProductsAnEntry) {
  const auto [a, b] = testing::make_pair_of<double>({9, 30, 60, {1}, 1});
  check_levels<double>(a, b);
  const auto [c, d] = testing::make_pair_of<double>({3, 1000, 1100, {6}, 7});
  check_levels<double>(c, d);
}

TEST_F(EscLevelsCuda, StrangeValues) {
  const auto [a, b] = testing::make_pair_of<double>({40, 5, 50, {5, 8, 2}, 60});
  check_levels<double>(testing::with_strange_values(a, 1), testing::with_strange_values(b, 2));
  const auto [c, d] = testing::make_pair_of<float>({12, 90, 100, {5, 8, 2}, 24});
  check_levels<float>(testing::with_strange_values(c, 4), testing::with_strange_values(d, 5));
}

TEST_F(EscLevelsCuda, SlicesWithRowsOfManySizes) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < 60; ++i) lengths.push_back(i * 37 % 50);
  const auto a = testing::with_row_lengths<double>(lengths, 100, weighted, 6);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(100, 7), 64, weighted, 8);
  EXPECT_EQ((check<EscLevel::device, double>(a, b)), 60);
  EXPECT_LT((check<EscLevel::device, double>(a, b, 30)), 60);
}

TEST_F(EscLevelsCuda, OrderOfRowsByWork) {
  const auto rows = static_cast<index_t>(testing::repetitions(30000, 700));
  std::mt19937 generator(5);
  std::vector<std::uint32_t> products;
  std::vector<index_t> widths;
  for (index_t i = 0; i < rows; ++i) {
    // Of every level, often the same number.
    const auto bits = static_cast<std::uint32_t>(generator() % 14);
    const auto draw = static_cast<std::uint32_t>(generator());
    products.push_back(i % 50 == 0 ? 0xffffffff : draw % (1U << bits));
    widths.push_back(static_cast<index_t>(generator() % 1000));
  }
  const auto on_gpu = Array<std::uint32_t>::copy_of(products, gpu());
  const auto widths_on_gpu = Array<index_t>::copy_of(widths, gpu());
  const cuda::RowFacts facts{on_gpu.data(), nullptr, widths_on_gpu.data()};
  const cuda::WorkOrder order = cuda::order_by_work(gpu(), facts, rows, true, cuda::esc_block_products);
  std::vector<index_t> expected(products.size());
  for (index_t i = 0; i < rows; ++i) expected[static_cast<std::size_t>(i)] = i;
  std::stable_sort(expected.begin(), expected.end(), [&](index_t one, index_t other) {
    const auto work = [&](index_t i) {
      return std::min(products[static_cast<std::size_t>(i)], cuda::esc_block_products + 1);
    };
    return work(one) < work(other);
  });
  const auto found = order.rows.to(Device{});
  ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end()));
  for (int k = 0; k < cuda::esc_classes; ++k) {
    const auto size = static_cast<EscClass>(k);
    cuda::EscTotals total;
    for (std::size_t i = 0; i < products.size(); ++i) {
      if (cuda::esc_class(products[i], true) != size) continue;
      ++total.rows;
      total.most_products = std::max(total.most_products, products[i]);
      total.widest = std::max(total.widest, static_cast<unsigned>(widths[i]));
    }
    EXPECT_EQ(order.total(size).rows, total.rows) << k;
    EXPECT_EQ(order.total(size).most_products, total.most_products) << k;
    EXPECT_EQ(order.total(size).widest, total.widest) << k;
  }
}

TEST_F(EscLevelsCuda, RowsOfALongFactorAreForAllBlocks) {
  const std::vector<std::uint32_t> products{3, 0, 7000, 40, 0, 1};
  const std::vector<index_t> widths{3, 0, 500, 40, 0, 1};
  const auto on_gpu = Array<std::uint32_t>::copy_of(products, gpu());
  const auto widths_on_gpu = Array<index_t>::copy_of(widths, gpu());
  const cuda::WorkOrder order =
      cuda::order_by_work(gpu(), {on_gpu.data(), nullptr, widths_on_gpu.data()}, 6, false, cuda::esc_block_products);
  EXPECT_EQ(order.total(EscClass::none).rows, 2U);
  EXPECT_EQ(order.total(EscClass::device).rows, 4U);
  EXPECT_EQ(order.total(EscClass::device).widest, 500U);
  const auto found = order.rows.to(Device{});
  EXPECT_EQ(std::vector<index_t>(found.begin(), found.end()), (std::vector<index_t>{1, 4, 5, 0, 3, 2}));
}

}  // namespace
}  // namespace tessera
