// Running sums on a GPU against the definition.
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
    auto on_gpu = Array<offset_t>::copy_of(counts, gpu());
    EXPECT_EQ(cuda::exclusive_sum(gpu(), on_gpu.span()), total) << size;
    const Array<offset_t> result = on_gpu.to(Device{});
    EXPECT_EQ(std::vector<offset_t>(result.begin(), result.end()), expected) << size;
  }
}

}  // namespace
}  // namespace tessera
