// Tiles built on a GPU: the same bits as on the host.
#include "preprocess/merbit_tiles.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "tests/preprocess/naive_path.hpp"
#include "tests/preprocess/snapped_tiles_support.hpp"
#include "tests/support/cuda_test.hpp"

#include <random>

namespace tessera {

using namespace detail;
namespace {

class TilesCuda : public testing::CudaTest {};

template <class U>
void expect_equal(const Array<U>& on_gpu, const Array<U>& on_host) {
  const Array<U> fetched = on_gpu.to(Device{});
  ASSERT_EQ(fetched.size(), on_host.size());
  for (std::int64_t i = 0; i < fetched.size(); ++i) ASSERT_EQ(fetched[i], on_host[i]) << "entry " << i;
}

void expect_same_tiles(const std::vector<offset_t>& offsets, int sigma, int bits) {
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  const auto on_gpu = Array<offset_t>::copy_of(offsets, Device::cuda(0));
  const MerbitTiles device = build_merbit_tiles(rows, on_gpu.span(), sigma, bits, Device::cuda(0));
  const MerbitTiles host = build_merbit_tiles(rows, offsets, sigma, bits);
  ASSERT_EQ(device.rows, host.rows);
  ASSERT_EQ(device.nnz, host.nnz);
  ASSERT_EQ(device.sigma, host.sigma);
  ASSERT_EQ(device.descriptor_bits, host.descriptor_bits);
  expect_equal(device.tile_x, host.tile_x);
  expect_equal(device.tile_y, host.tile_y);
  expect_equal(device.lane_words_32, host.lane_words_32);
  expect_equal(device.lane_words_64, host.lane_words_64);
}

TEST_F(TilesCuda, MerbitTilesEqualThoseOfTheHost) {
  std::mt19937_64 generator(5);
  for (const int bits : {32, 64}) {
    for (int sigma = 1; sigma <= max_sigma(bits); ++sigma) {
      expect_same_tiles(testing::mixed_offsets(generator() % 900, generator), sigma, bits);
      ASSERT_FALSE(HasFatalFailure()) << "sigma " << sigma << ", " << bits << " bits";
    }
  }
}

TEST_F(TilesCuda, MerbitTilesOfEverySmallMatrix) {
  for (const auto& offsets : testing::all_small_offsets(4, 3)) {
    for (const int sigma : {1, 3}) expect_same_tiles(offsets, sigma, 32);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_F(TilesCuda, MerbitTilesRefuseWhatTheHostRefuses) {
  const auto offsets = Array<offset_t>::copy_of(std::vector<offset_t>{0, 1}, gpu());
  EXPECT_THROW((void)build_merbit_tiles(1, offsets.span(), 23, 32, gpu()), InvalidArgument);
}

void expect_same_snapped_tiles(const std::vector<offset_t>& offsets, const TileRules& rules) {
  const auto rows = static_cast<index_t>(offsets.size() - 1);
  const auto on_gpu = Array<offset_t>::copy_of(offsets, Device::cuda(0));
  const SnappedTiles device = cuda::build_snapped_tiles(rows, on_gpu.span(), offsets.back(), rules, Device::cuda(0));
  const auto naive = testing::naive_snapped_tiles(offsets, rules);
  ASSERT_EQ(device.shared_starts, naive.shared_starts);
  ASSERT_EQ(device.cannot_be_summed, naive.cannot_be_summed);
  expect_equal(device.lane_words, Array<std::uint32_t>::copy_of(naive.lane_words));
  const Array<TileStart> starts = device.starts.to(Device{});
  ASSERT_EQ(starts.size(), static_cast<std::int64_t>(naive.starts.size()));
  for (std::int64_t t = 0; t < starts.size(); ++t) ASSERT_EQ(starts[t], naive.starts[static_cast<std::size_t>(t)]) << t;
}

TEST_F(TilesCuda, SnappedTilesEqualThoseWalked) {
  std::mt19937_64 generator(7);
  for (int sigma = 1; sigma <= 22; ++sigma) {
    for (const int snap : {0, std::min(16, 16 * sigma - 1), 16 * sigma - 1}) {
      expect_same_snapped_tiles(testing::mixed_offsets(1 + generator() % 2000, generator), walkable_tiles(sigma, snap));
      ASSERT_FALSE(HasFatalFailure()) << "sigma " << sigma << ", snap " << snap;
    }
  }
}

TEST_F(TilesCuda, RowTilesEqualThoseWalked) {
  std::mt19937_64 generator(11);
  for (int mean = 0; mean < 40; ++mean) {
    expect_same_snapped_tiles(testing::mixed_offsets(1 + generator() % 2000, generator), row_tiles(mean, 928, 32));
    ASSERT_FALSE(HasFatalFailure()) << "mean " << mean;
  }
}

TEST_F(TilesCuda, SnappedTilesOfEverySmallMatrix) {
  for (const auto& offsets : testing::all_small_offsets(4, 3)) {
    expect_same_snapped_tiles(offsets, walkable_tiles(1, 15));
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST_F(TilesCuda, SnappedTilesRefuseOtherSizes) {
  const auto offsets = Array<offset_t>::copy_of(std::vector<offset_t>{0, 1}, gpu());
  EXPECT_THROW((void)cuda::build_snapped_tiles(1, offsets.span(), 1, walkable_tiles(23, 16), gpu()), InvalidArgument);
  EXPECT_THROW((void)cuda::build_snapped_tiles(1, offsets.span(), 1, walkable_tiles(11, 176), gpu()), InvalidArgument);
  EXPECT_THROW((void)cuda::build_snapped_tiles(1, offsets.span(), 1, row_tiles(1000, 1056, 32), gpu()),
               InvalidArgument);
}

}  // namespace
}  // namespace tessera
