// Exclusive sums on a GPU against the definition.
#include "core/cuda/scan.hpp"
#include "tessera/array.hpp"
#include "tests/support/cuda_test.hpp"

#include <random>
#include <vector>

namespace tessera {
namespace {

class CudaScan : public testing::CudaTest {};

TEST_F(CudaScan, SumsWhatLiesBefore) {
  // Chunks have 2048 entries, and the sums of so many chunks are scanned in chunks themselves.
  for (const std::size_t size :
       {0UL, 1UL, 2UL, 255UL, 256UL, 257UL, 2047UL, 2048UL, 2049UL, 70000UL, 2048UL * 2048UL + 3}) {
    std::mt19937_64 generator(size);
    std::vector<offset_t> counts(size);
    std::vector<offset_t> expected(size);
    offset_t total = 0;
    for (std::size_t i = 0; i < size; ++i) {
      // Sums beyond 2^31.
      counts[i] = static_cast<offset_t>(generator() % (std::uint64_t{1} << 33));
      expected[i] = total;
      total += counts[i];
    }
    for (const cuda::PrimitiveBy by : {cuda::PrimitiveBy::cub, cuda::PrimitiveBy::own}) {
      SCOPED_TRACE(::testing::Message() << size << " counts by "
                                        << (by == cuda::PrimitiveBy::cub ? "CUB" : "own code"));
      auto on_gpu = Array<offset_t>::copy_of(counts, gpu());
      EXPECT_EQ(cuda::exclusive_sum(gpu(), on_gpu.span(), by), total);
      const Array<offset_t> result = on_gpu.to(Device{});
      EXPECT_EQ(std::vector<offset_t>(result.begin(), result.end()), expected);
      if (size > 100000) continue;
      on_gpu = Array<offset_t>::copy_of(counts, gpu());
      cuda::exclusive_sum_on_device(gpu(), on_gpu.span(), by);
      const Array<offset_t> without_total = on_gpu.to(Device{});
      EXPECT_EQ(std::vector<offset_t>(without_total.begin(), without_total.end()), expected);
    }
  }
}

}  // namespace
}  // namespace tessera
