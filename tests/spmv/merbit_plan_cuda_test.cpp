// What a plan of MERBIT on a GPU is made from: the sample of the columns, the chosen layout, the list of shared rows.
#include "spmv/merbit/merbit_arrays.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tests/spmv/merbit_cuda_support.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

class MerbitCudaPlan : public testing::CudaTest {};

/// Rows of one column each, all of them in few lines of x, or each in a line of its own.
Csr<double> one_column_a_row(index_t rows, index_t columns, index_t step) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> column;
  for (index_t i = 0; i < rows; ++i) {
    column.push_back(static_cast<index_t>(std::int64_t{i} * step % columns));
    offsets.push_back(offsets.back() + 1);
  }
  return Csr<double>::pattern(rows, columns, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                              Array<index_t>::copy_of(std::span<const index_t>(column)));
}

TEST_F(MerbitCudaPlan, SampleTellsReadsThatComeBack) {
  const Device gpu = Device::cuda(0);
  const auto sample = [&](const Csr<double>& matrix) {
    const Csr<double> there = matrix.to(gpu);
    return cuda::sample_gathers(there.columns().span(), sizeof(double), gpu);
  };
  constexpr index_t rows = 128 * 64;
  const auto apart = sample(one_column_a_row(rows, rows * 16, 16));
  EXPECT_EQ(apart.line_share(), 1.0);
  EXPECT_NEAR(apart.line_uses(), 1.0, 0.05);
  const auto again = sample(one_column_a_row(rows, 128 * 16, 16));
  EXPECT_EQ(again.line_share(), 1.0);
  EXPECT_EQ(again.line_uses(), 64.0);
  const auto nearby = sample(one_column_a_row(rows, rows, 1));
  EXPECT_NEAR(nearby.line_share(), 1.0 / 16.0, 1.0 / 128.0);  // windows begin anywhere in a line
  EXPECT_NEAR(nearby.line_uses(), 1.0, 0.15);
  EXPECT_EQ(cuda::GatherSample{}.line_uses(), 1.0);
}

TEST_F(MerbitCudaPlan, ThePlanSaysWhichLayoutItTook) {
  const auto matrix = testing::with_row_lengths<double>(testing::lengths_of(4000, 9), 50000, ValueStorage::pattern, 3);
  SpmvOptions options;
  options.device = Device::cuda(0);
  options.algorithm = SpmvAlgorithm::merbit;
  const SpmvPlan<double> plan(std::make_shared<const Csr<double>>(Csr<double>::copy_of(matrix.view())), options);
  const std::string& reason = plan.info().reason;
  EXPECT_EQ(reason.rfind("named by the caller; layout columns: ", 0), 0U) << reason;
}

/// The array behind `data`, on the host.
template <class E>
std::vector<E> on_host(const E* data, std::int64_t size) {
  std::vector<E> result(static_cast<std::size_t>(size));
  detail::copy_bytes(Device{}, result.data(), Device::cuda(0), data, result.size() * sizeof(E));
  return result;
}

/// Walks over the tiles: those that begin inside the row in which the tile before ended share it with that one.
template <class Tiles>
std::vector<cuda::CarryRun> runs_by_walking(const Tiles& tiles) {
  std::vector<cuda::CarryRun> runs;
  for (std::int64_t t = 1; t < tiles.tiles; ++t) {
    if (!tiles.begins_inside(t)) continue;
    const bool goes_on = !runs.empty() && runs.back().row == tiles.first_row(t);
    if (goes_on) {
      ++runs.back().count;
    } else {
      runs.push_back({tiles.first_row(t), t - 1, 1});
    }
  }
  return runs;
}

std::vector<cuda::CarryRun> expected_runs(const cuda::MerbitTileArrays& tiles) {
  if (tiles.are_exact()) {
    cuda::ExactTileArrays arrays = tiles.exact;
    const auto first_rows = on_host(arrays.tile_y, arrays.tiles + 1);
    arrays.tile_y = first_rows.data();
    return runs_by_walking(arrays);
  }
  cuda::SnappedTileArrays arrays = tiles.snapped;
  const auto starts = on_host(arrays.starts, arrays.tiles + 1);
  arrays.starts = starts.data();
  return runs_by_walking(arrays);
}

TEST_F(MerbitCudaPlan, SharedRowsAreFoundInOrder) {
  std::vector<index_t> lengths = testing::power_law_lengths(3000, 9000, 3);
  lengths[1000] = 40000;
  lengths[2999] = 30000;
  const auto matrix = testing::with_row_lengths<double>(lengths, 50000, ValueStorage::pattern, 9);
  const Csr<double> there = matrix.to(Device::cuda(0));
  SpmvOptions options;
  options.device = Device::cuda(0);
  for (const int sigma : {0, 5}) {
    SCOPED_TRACE(sigma);
    options.sigma = sigma;
    const auto kernel = cuda::make_merbit_kernel<double>(there.view(), options, {});
    const cuda::MerbitTileArrays& tiles = kernel->tiles();
    ASSERT_TRUE(tiles.share_rows);
    const Array<cuda::CarryRun> runs = cuda::find_carry_runs(options.device, tiles).to(Device{});
    const std::vector<cuda::CarryRun> expected = expected_runs(tiles);
    std::int64_t longest = 0;
    for (const cuda::CarryRun& run : expected) longest = std::max(longest, run.count);
    ASSERT_GE(longest, 40000 / 500);
    ASSERT_EQ(runs.size(), static_cast<std::int64_t>(expected.size()));
    for (std::int64_t i = 0; i < runs.size(); ++i) {
      const cuda::CarryRun& run = expected[static_cast<std::size_t>(i)];
      ASSERT_EQ(runs[i].row, run.row) << "run " << i;
      ASSERT_EQ(runs[i].first, run.first) << "run " << i;
      ASSERT_EQ(runs[i].count, run.count) << "run " << i;
    }
  }
}

}  // namespace
}  // namespace tessera
