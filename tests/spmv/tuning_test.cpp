// Tuning of the kernels of a GPU against the limits of the GPUs that are built for, and the sizes of MERBIT's tiles.
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "spmv/merge/merge_tuning.hpp"
#include "tessera/error.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tessera {

using namespace detail;
namespace {

/// Compute capability, multiprocessors, then per multiprocessor threads, blocks and bytes of shared memory; bytes per
/// block without asking, at most, and reserved (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
constexpr std::array<cuda::DeviceLimits, 4> known_gpus{{{80, 108, 2048, 32, 164 << 10, 48 << 10, 163 << 10, 1 << 10},
                                                        {89, 128, 1536, 24, 100 << 10, 48 << 10, 99 << 10, 1 << 10},
                                                        {90, 132, 2048, 32, 228 << 10, 48 << 10, 227 << 10, 1 << 10},
                                                        {120, 170, 1536, 24, 100 << 10, 48 << 10, 99 << 10, 1 << 10}}};

/// Rows, nonzeros and longest rows of bcsstk38, memplus and wiki-Vote, as measured in bench/NOTES.md.
TEST(CsrVectorTuning, LongRowsOfShortOnesLeaveLanesIdle) {
  using cuda::csr_vector_idles;
  using cuda::csr_vector_whole_lanes;
  EXPECT_EQ(csr_vector_whole_lanes(8032, 355460, 614), 32);
  EXPECT_EQ(csr_vector_whole_lanes(17758, 126150, 574), 32);
  EXPECT_EQ(csr_vector_whole_lanes(8297, 103689, 893), 32);
  EXPECT_EQ(csr_vector_whole_lanes(325557, 3216152, 2716), 0);
  EXPECT_FALSE(csr_vector_idles(8032, 355460, 32, 614)) << "0.7 lanes per nonzero";
  EXPECT_TRUE(csr_vector_idles(17758, 126150, 32, 574));
  EXPECT_TRUE(csr_vector_idles(8297, 103689, 32, 893));
  EXPECT_FALSE(csr_vector_idles(17758, 126150, 32, 512)) << "16 loads in a chain";
  EXPECT_FALSE(csr_vector_idles(10, 0, 1, 0));
}

TEST(MerbitTuning, TilesFitTheLoadsOfAWarp) {
  using cuda::choose_tiles;
  EXPECT_EQ(choose_tiles(0, 0, 15, 256), walkable_tiles(15, 16));
  EXPECT_EQ(choose_tiles(1000, 5000, 17, 0), walkable_tiles(17, 16));
  EXPECT_EQ(choose_tiles(1000, 5000, 17, 512), walkable_tiles(17, 16));  // 440 nonzeros per tile
  EXPECT_EQ(choose_tiles(1000, 200000, 17, 512).spacing, 495);           // 509 nonzeros, 16 of them snapped
  EXPECT_EQ(choose_tiles(1000, 5000, 15, 256).spacing, 297);
  EXPECT_EQ(choose_tiles(1000, 200000, 15, 256), walkable_tiles(15, 16));  // half a tile would be too short
  EXPECT_EQ(choose_tiles(1000, 27000, 17, 512).spacing, 448);              // 16 rows
  EXPECT_EQ(choose_tiles(1000, 40000, 17, 512), walkable_tiles(17, 16));
  EXPECT_EQ(choose_tiles(1, offset_t{1} << 40, 15, 256), walkable_tiles(15, 16));
}

void expect_layouts(const cuda::DeviceLimits& gpu) {
  using enum cuda::MerbitLayout;
  const auto layout = [&gpu](double share, offset_t mean, bool pattern, bool doubles, bool bulk_copies,
                             offset_t nnz = 60'000'000, double uses = 1.0) {
    return cuda::choose_layout({share, uses, nnz, mean, pattern, doubles, bulk_copies}, gpu);
  };
  EXPECT_EQ(layout(0.9, 5, false, false, true), scalar);
  EXPECT_EQ(layout(0.9, 5, true, true, true), columns);
  EXPECT_EQ(layout(0.9, 5, true, false, true), columns);
  EXPECT_EQ(layout(0.9, 0, true, true, true), scalar);
  EXPECT_EQ(layout(0.9, 24, true, true, true, 60'000'000, 5.0), local_columns);
  EXPECT_EQ(layout(0.9, 24, true, false, true, 60'000'000, 5.0), columns);
  EXPECT_EQ(layout(0.9, 24, true, true, true, 100'000, 5.0), columns);
  EXPECT_EQ(layout(0.05, 5, false, true, true), vector);
  EXPECT_EQ(layout(0.05, 27, true, true, true), rows);
  EXPECT_EQ(layout(0.05, 27, true, true, false), local_columns);
  EXPECT_EQ(layout(0.05, 200, true, true, true), local_columns);
  EXPECT_EQ(layout(0.05, 200, true, false, true), rows);
  EXPECT_EQ(layout(0.05, 5, true, true, true), local_columns);
  EXPECT_EQ(layout(0.05, 5, true, true, true, 100'000), vector);
  EXPECT_EQ(layout(0.05, 2, true, true, true), local_columns);
  EXPECT_EQ(layout(0.05, 0, true, true, true), vector);
  EXPECT_EQ(layout(0.05, 5, true, false, true), vector);
}

TEST(MerbitTuning, LayoutFollowsReadsOfXAndRowsOnEveryGpu) {
  for (const cuda::DeviceLimits& gpu : known_gpus) {
    SCOPED_TRACE(gpu.compute_capability);
    expect_layouts(gpu);
  }
}

TEST(MerbitTuning, LayoutsWhoseBlocksDoNotFitAreNotChosen) {
  using enum cuda::MerbitLayout;
  const auto chosen = [](double share, offset_t mean, double uses, const cuda::DeviceLimits& gpu) {
    return cuda::choose_layout({share, uses, 60'000'000, mean, true, true, true}, gpu);
  };
  cuda::DeviceLimits small = known_gpus[1];
  small.largest_shared_per_block = 48 * 1024;
  EXPECT_EQ(chosen(0.9, 24, 5.0, small), columns);
  EXPECT_EQ(chosen(0.05, 200, 1.0, small), vector);
  EXPECT_EQ(chosen(0.05, 27, 1.0, small), rows);
  small.largest_shared_per_block = 16 * 1024;
  EXPECT_EQ(chosen(0.05, 27, 1.0, small), vector);
  EXPECT_EQ(chosen(0.9, 24, 5.0, small), columns);
  small.largest_shared_per_block = 4 * 1024;
  EXPECT_EQ(chosen(0.9, 24, 5.0, small), scalar);
}

TEST(MerbitTuning, ForcedLayoutsThatDoNotFitAreRefusedWithSizes) {
  const auto block = cuda::merbit_footprint<double, cuda::Ones>(cuda::MerbitLayout::local_columns);
  cuda::DeviceLimits small = known_gpus[1];
  EXPECT_NO_THROW(cuda::check_layout_fits(cuda::MerbitLayout::local_columns, block, small, "GPU"));
  small.largest_shared_per_block = 48 * 1024;
  try {
    cuda::check_layout_fits(cuda::MerbitLayout::local_columns, block, small, "GPU");
    FAIL() << "not refused";
  } catch (const NotSupported& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "the layout local columns of MERBIT needs blocks of 1024 threads and 63744 bytes of shared memory: a "
                 "multiprocessor of GPU has 1536 threads and 49152 bytes per block");
  }
}

/// A block fits, and as many fit a multiprocessor as the registers of the kernel are bounded for.
void expect_fits(const cuda::KernelFootprint& block, const cuda::DeviceLimits& gpu) {
  EXPECT_TRUE(cuda::fits(block, gpu));
  EXPECT_LE(block.threads * block.min_blocks, gpu.threads_per_multiprocessor);
  EXPECT_LE(block.min_blocks, gpu.blocks_per_multiprocessor);
}

template <class T, class V>
void expect_layouts_fit(const cuda::DeviceLimits& gpu) {
  using enum cuda::MerbitLayout;
  for (const cuda::MerbitLayout layout : {exact, scalar, vector, columns, local_columns, rows}) {
    SCOPED_TRACE(static_cast<int>(layout));
    expect_fits(cuda::merbit_footprint<T, V>(layout), gpu);
  }
}

TEST(MerbitTuning, AllLayoutsFitEveryGpu) {
  for (const cuda::DeviceLimits& gpu : known_gpus) {
    SCOPED_TRACE(gpu.compute_capability);
    expect_layouts_fit<float, float>(gpu);
    expect_layouts_fit<float, cuda::Ones>(gpu);
    expect_layouts_fit<double, double>(gpu);
    expect_layouts_fit<double, float>(gpu);
    expect_layouts_fit<double, cuda::Ones>(gpu);
    expect_fits(cuda::MerbitCudaPolicy<float, cuda::Ones>::ColumnsOfStagedHubs::footprint(), gpu);
    expect_fits(cuda::MerbitCudaPolicy<double, cuda::Ones>::ColumnsOfStagedHubs::footprint(), gpu);
  }
}

TEST(MergeTuning, TilesFitEveryGpu) {
  for (const cuda::DeviceLimits& gpu : known_gpus) {
    SCOPED_TRACE(gpu.compute_capability);
    expect_fits(cuda::merge_footprint<float>(), gpu);
    expect_fits(cuda::merge_footprint<double>(), gpu);
  }
}

TEST(MerbitTuning, ReasonsTellWhatTheSampleFound) {
  EXPECT_EQ(
      cuda::layout_reason(cuda::MerbitLayout::local_columns, {0.96, 5.89}),
      "layout local columns: 100 neighbouring nonzeros touch 96 lines of x, each of them in 5.9 places of a sample");
}

TEST(MerbitTuning, TilesOfStagedColumns) {
  using cuda::columns_tiles;
  using cuda::local_columns_tiles;
  EXPECT_EQ(columns_tiles(1000, 5000, 15), (TileRules{15, 16, 464, cuda::columns_row_cost}));
  EXPECT_EQ(columns_tiles(1000, 20000, 15), (TileRules{15, 32, 448, cuda::columns_row_cost}));
  EXPECT_EQ(columns_tiles(0, 0, 15), local_columns_tiles(0, 0, 15));
  EXPECT_EQ(local_columns_tiles(1000, 5000, 15), columns_tiles(1000, 5000, 15));
  EXPECT_EQ(local_columns_tiles(1000, 2400, 15).spacing, 394);  // 116 rows
  EXPECT_EQ(local_columns_tiles(1000, 0, 15).spacing, 116);
}

}  // namespace
}  // namespace tessera
