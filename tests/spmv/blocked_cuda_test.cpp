// The blocked product on a GPU: halo lists, and products with small blocks and lists, so that small matrices have many.
#include "preprocess/snapped_tiles.hpp"
#include "spmv/blocked/blocked.hpp"
#include "spmv/blocked/halo_lists.hpp"
#include "tessera/error.hpp"
#include "tests/spmv/cuda_check.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

template <class T>
class CudaBlocked : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(bool fp32_values = false) {
    return testing::CudaCase{SpmvAlgorithm::blocked, Determinism::run_to_run, fp32_values}.options(
        testing::CudaTest::gpu());
  }

  /// The shortest lists that are sure to take a tile, and longer ones with cells that the whole block copies.
  [[nodiscard]] static std::vector<cuda::BlockedShape> shapes() {
    const int one_tile = cuda::most_slots_of<T>(1);
    return {{64, one_tile, 1}, {1000, one_tile, 1}, {4096, 2 * one_tile, 2}};
  }

  /// Scattered columns; a row of many tiles, an empty one, and rows of a few nonzeros.
  [[nodiscard]] static Csr<T> scattered(ValueStorage storage, index_t cols = 6000) {
    std::vector<index_t> lengths =
        testing::power_law_lengths(static_cast<std::size_t>(testing::repetitions(2000, 500)), 900, 5);
    lengths[100] = std::min<index_t>(cols, 4000);
    lengths[101] = 0;
    return testing::with_row_lengths<T>(lengths, cols, storage);
  }

  /// Of the list of some nonzeros.
  [[nodiscard]] static int padded_length(const Csr<T>& matrix, offset_t begin, offset_t end,
                                         const cuda::BlockedShape& shape) {
    std::set<index_t> distinct;
    for (offset_t k = begin; k < end; ++k) distinct.insert(matrix.columns()[k]);
    std::map<index_t, int> of_block;
    for (const index_t column : distinct) ++of_block[column / shape.column_block];
    int slots = 0;
    for (const auto& [block, count] : of_block) {
      slots += (count + cuda::halo_group<T> - 1) / cuda::halo_group<T> * cuda::halo_group<T>;
    }
    return slots;
  }

  static void check(const Csr<T>& matrix, const cuda::BlockedShape& shape, bool fp32_values = false) {
    const Csr<T> there = matrix.to(testing::CudaTest::gpu());
    const auto kernel = cuda::make_blocked_kernel<T>(there.view(), options(fp32_values), shape);
    Csr<T> rounded = Csr<T>::copy_of(matrix.view());
    if (fp32_values) {
      Array<T> values = matrix.values().to(Device{});
      for (T& value : values.span()) value = static_cast<T>(static_cast<float>(value));
      rounded = Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                       std::move(values));
    }
    const auto x = testing::random_vector<T>(matrix.cols(), 3);
    const auto y = testing::random_vector<T>(matrix.rows(), 4);
    const auto w = testing::random_vector<T>(matrix.rows(), 5);
    const T alpha{-1.5};
    const T beta{0.75};
    const auto on_x = Array<T>::copy_of(x, gpu());
    auto on_y = Array<T>::copy_of(y, gpu());
    kernel->apply(there.view(), alpha, on_x.span(), beta, on_y.span());
    const Array<T> updated = on_y.to(Device{});
    EXPECT_TRUE(near(testing::multiply_oracle<T>(alpha, rounded.view(), x, beta, y), updated.span()));
    const auto on_w = Array<T>::copy_of(w, gpu());
    const ProductDots dots = kernel->apply_and_dot(there.view(), on_x.span(), on_y.span(), on_w.span());
    const Array<T> product = on_y.to(Device{});
    EXPECT_TRUE(near(testing::product_oracle(rounded.view(), constant(x)), product.span()));
    EXPECT_TRUE(testing::dots_match(dots, product.span(), constant(w)));
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaBlocked, Types);

TYPED_TEST(CudaBlocked, ManySegmentsAndBlocksOfColumns) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const cuda::BlockedShape& shape : this->shapes()) {
      SCOPED_TRACE("blocks of " + std::to_string(shape.column_block) + " columns");
      this->check(this->scattered(storage), shape);
      ASSERT_FALSE(this->HasFailure());
    }
  }
  if constexpr (std::is_same_v<TypeParam, double>) {
    this->check(this->scattered(ValueStorage::weighted), this->shapes().front(), true);
  }
}

TYPED_TEST(CudaBlocked, EdgesOfAMatrix) {
  const cuda::BlockedShape shape = this->shapes().front();
  const auto matrix_of = [](std::vector<index_t> lengths, index_t cols) {
    return testing::with_row_lengths<TypeParam>(lengths, cols, ValueStorage::weighted);
  };
  this->check(matrix_of({1}, 1), shape);
  this->check(matrix_of({0, 0, 0}, 5), shape);
  this->check(matrix_of({0, 0}, 0), shape);
  this->check(matrix_of({64, 65, 1}, 65), shape);
  this->check(matrix_of({3000}, 3000), shape);
  this->check(matrix_of(std::vector<index_t>(900, 1), 1), shape);
}

/// Few columns, so that one segment has most tiles: starts beyond those in shared memory are read where they lie.
TYPED_TEST(CudaBlocked, SegmentOfManyTiles) {
  const std::vector<index_t> lengths(sizeof(TypeParam) == sizeof(double) ? 30000 : 60000, 1);
  const Csr<TypeParam> matrix = testing::with_row_lengths<TypeParam>(lengths, 3, ValueStorage::weighted);
  const cuda::BlockedShape shape{64, cuda::most_slots_of<TypeParam>(4), 4};
  const Csr<TypeParam> there = matrix.to(this->gpu());
  const SnappedTiles tiles =
      cuda::build_snapped_tiles(there.rows(), there.row_offsets().span(), there.nnz(),
                                walkable_tiles(cuda::BlockedPolicy<TypeParam>::sigma, 16), this->gpu());
  const cuda::HaloLists lists =
      cuda::build_halo_lists<TypeParam>(this->gpu(), there.cols(), there.columns().span(), tiles, shape);
  ASSERT_EQ(lists.segments(), 1);
  ASSERT_GT(tiles.tiles(), cuda::tiles_in_shared + 32);
  this->check(matrix, shape);
}

/// Each nonzero leads to the slot of its own column, in a list that has room for it.
TYPED_TEST(CudaBlocked, HaloListsHoldTheColumnOfEachNonzero) {
  const Csr<TypeParam> matrix = this->scattered(ValueStorage::pattern);
  const Csr<TypeParam> there = matrix.to(this->gpu());
  const TileRules rules = walkable_tiles(cuda::BlockedPolicy<TypeParam>::sigma, 16);
  const SnappedTiles tiles =
      cuda::build_snapped_tiles(there.rows(), there.row_offsets().span(), there.nnz(), rules, this->gpu());
  const Array<TileStart> starts = tiles.starts.to(Device{});
  for (const cuda::BlockedShape& shape : this->shapes()) {
    const cuda::HaloLists lists =
        cuda::build_halo_lists<TypeParam>(this->gpu(), there.cols(), there.columns().span(), tiles, shape);
    const auto segment_tiles = lists.tiles.to(Device{});
    const auto positions = lists.positions.to(Device{});
    const auto columns = lists.columns.to(Device{});
    const auto begins = lists.cell_begins.to(Device{});
    const auto origins = lists.cell_origins.to(Device{});
    EXPECT_TRUE(lists.segments() > 1 || shape.tiles_per_cut > 1);
    EXPECT_EQ(lists.blocks, (6000 + shape.column_block - 1) / shape.column_block);
    EXPECT_EQ(segment_tiles[0], 0);
    EXPECT_EQ(segment_tiles[lists.segments()], tiles.tiles());
    std::vector<bool> used(static_cast<std::size_t>(lists.slots()));
    for (std::int64_t s = 0; s < lists.segments(); ++s) {
      const std::uint16_t* const of_segment = begins.data() + s * (lists.blocks + 1);
      const offset_t end = starts[segment_tiles[s + 1]].x;
      EXPECT_EQ(of_segment[lists.blocks], this->padded_length(matrix, starts[segment_tiles[s]].x, end, shape));
      EXPECT_LE(of_segment[lists.blocks], shape.capacity);
      for (offset_t k = starts[segment_tiles[s]].x; k < end; ++k) {
        const auto b = std::upper_bound(of_segment, of_segment + lists.blocks, positions[k]) - of_segment - 1;
        const std::int64_t slot =
            std::int64_t{origins[s * lists.blocks + b]} * cuda::halo_quad<TypeParam> + positions[k] - of_segment[b];
        ASSERT_EQ(columns[slot] + b * shape.column_block, matrix.columns()[k]) << "nonzero " << k;
        used[static_cast<std::size_t>(slot)] = true;
      }
    }
    const auto slots_used = std::count(used.begin(), used.end(), true);
    EXPECT_LT(lists.slots() - slots_used, lists.segments() * lists.blocks * cuda::halo_group<TypeParam>) << "padding";
  }
}

TYPED_TEST(CudaBlocked, RepeatsBitwise) {
  const Csr<TypeParam> matrix = this->scattered(ValueStorage::weighted);
  const testing::CudaProduct<TypeParam> product(matrix, this->options());
  EXPECT_EQ(product.plan().info().determinism, Determinism::run_to_run);
  const auto x = testing::random_vector<TypeParam>(matrix.cols(), 8);
  const auto first = product.apply(x);
  for (int run = 0; run < testing::repetitions(20, 2); ++run) EXPECT_EQ(product.apply(x), first);
}

TYPED_TEST(CudaBlocked, RefusesShapesThatDoNotFit) {
  const Csr<TypeParam> there = this->scattered(ValueStorage::weighted).to(this->gpu());
  const auto make = [&](const cuda::BlockedShape& shape) {
    return cuda::make_blocked_kernel<TypeParam>(there.view(), this->options(), shape);
  };
  EXPECT_THROW(make({64, 8, 1}), InvalidArgument);
  EXPECT_THROW(make({1 << 20, cuda::most_slots_of<TypeParam>(1), 1}), InvalidArgument);
  EXPECT_THROW(make({1, cuda::most_slots_of<TypeParam>(1), 1}), NotSupported) << "6000 blocks of columns";
}

}  // namespace
}  // namespace tessera
