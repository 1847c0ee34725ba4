#include "core/cuda/radix_sort.hpp"
#include "tests/support/cuda_test.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace tessera {
namespace {

class RadixSortOnGpu : public testing::CudaTest {
 protected:
  static void check(const std::vector<std::uint64_t>& keys, int begin, int end) {
    SCOPED_TRACE(::testing::Message() << keys.size() << " keys, bits " << begin << " to " << end);
    auto expected = keys;
    const auto part = [&](std::uint64_t key) {
      return key >> begin & (end - begin == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - begin)) - 1);
    };
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint64_t one, std::uint64_t other_key) { return part(one) < part(other_key); });
    // Both are stable, so they agree in every bit.
    for (const cuda::PrimitiveBy by : {cuda::PrimitiveBy::cub, cuda::PrimitiveBy::own}) {
      const auto n = static_cast<std::int64_t>(keys.size());
      auto on_gpu = Array<std::uint64_t>::copy_of(keys, gpu());
      Array<std::uint64_t> other(n, Init::none, gpu());
      cuda::enqueue_sort(gpu(), on_gpu, other, cuda::one_segment(n), begin, end, by);
      const Array<std::uint64_t> found = on_gpu.to(Device{});
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), found.begin(), found.end()))
          << (by == cuda::PrimitiveBy::cub ? "CUB" : "own code");
    }
  }
};

TEST_F(RadixSortOnGpu, AnyNumberOfKeysAndBits) {
  std::mt19937_64 generator(3);
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{31}, std::size_t{512}, std::size_t{4095},
                              std::size_t{4096}, std::size_t{4097}, std::size_t{9000}}) {
    std::vector<std::uint64_t> keys(n);
    for (auto& key : keys) key = generator();
    for (const auto& [begin, end] : {std::pair{0, 64}, {0, 1}, {63, 64}, {20, 33}, {8, 24}}) {
      if (testing::gpu_is_emulated && n > 600 && end - begin > 20) continue;
      check(keys, begin, end);
    }
  }
}

TEST_F(RadixSortOnGpu, KeysThatAgreeKeepTheirOrder) {
  std::mt19937_64 generator(4);
  std::vector<std::uint64_t> keys(testing::gpu_is_emulated ? 5000 : 1000000);
  for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = generator() % 5 << 40 | k;
  check(keys, 40, 64);
  for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = k;
  check(keys, 40, 48);
}

TEST_F(RadixSortOnGpu, FewerKeysThanTheArrayHas) {
  std::vector<std::uint64_t> keys{5, 4, 3, 2, 1, 0};
  auto on_gpu = Array<std::uint64_t>::copy_of(keys, gpu());
  Array<std::uint64_t> other(6, Init::zero, gpu());
  cuda::enqueue_sort(gpu(), on_gpu, other, cuda::one_segment(4), 0, 8);
  const Array<std::uint64_t> found = on_gpu.to(Device{});
  for (std::int64_t k = 0; k < 4; ++k) EXPECT_EQ(found[k], static_cast<std::uint64_t>(k + 2));
}

TEST_F(RadixSortOnGpu, EachSegmentByItself) {
  std::vector<offset_t> begins{0};
  for (const offset_t length : {3, 0, 4096, 1, 4097, 0, 0, 9000, 2}) begins.push_back(begins.back() + length);
  std::mt19937_64 generator(6);
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(begins.back()));
  for (auto& key : keys) key = generator() % (1 << 20);
  auto on_gpu = Array<std::uint64_t>::copy_of(keys, gpu());
  Array<std::uint64_t> other(begins.back(), Init::none, gpu());
  const cuda::TileTable table(gpu(), begins);
  EXPECT_EQ(table.view().tiles, 9);
  cuda::enqueue_sort(gpu(), on_gpu, other, table.view(), 0, 20);
  const Array<std::uint64_t> found = on_gpu.to(Device{});
  for (std::size_t s = 0; s + 1 < begins.size(); ++s) {
    const auto at = [&](std::size_t segment) { return keys.begin() + begins[segment]; };
    std::sort(at(s), at(s + 1));
  }
  ASSERT_TRUE(std::equal(keys.begin(), keys.end(), found.begin(), found.end()));
}

TEST_F(RadixSortOnGpu, NothingToSort) {
  Array<std::uint64_t> none;
  Array<std::uint64_t> other;
  EXPECT_NO_THROW(cuda::enqueue_sort(gpu(), none, other, cuda::one_segment(0), 0, 64));
  check({7, 3}, 4, 4);
}

}  // namespace
}  // namespace tessera
