// The blocked product on the host, and the rules of the one on a GPU.
#include "spmv/blocked/blocked_tuning.hpp"
#include "tessera/error.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/small_grain.hpp"

#include <numeric>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

constexpr testing::KernelCase blocked_kernel{SpmvAlgorithm::blocked, Determinism::gpu_to_gpu};

constexpr cuda::DeviceLimits h200{90, 132, 2048, 32, 228 << 10, 48 << 10, 227 << 10, 1 << 10};
constexpr cuda::DeviceLimits ada{89, 100, 1536, 24, 100 << 10, 48 << 10, 99 << 10, 1 << 10};

template <class T>
class BlockedOnHost : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlockedOnHost, Types);

TYPED_TEST(BlockedOnHost, ManySegmentsAndBlocksOfColumns) {
  const testing::SmallGrain grain;
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    const auto matrix = testing::with_row_lengths<TypeParam>(testing::power_law_lengths(3000, 2000, 3), 2000, storage);
    const auto x = testing::random_vector<TypeParam>(2000, 5);
    const auto oracle = testing::product_oracle(matrix.view(), constant(x));
    std::vector<TypeParam> first;
    for (const int threads : {1, 4}) {
      const SpmvPlan<TypeParam> plan(Csr<TypeParam>::copy_of(matrix.view()),
                                     testing::options_of(blocked_kernel, threads));
      std::vector<TypeParam> y(3000, std::numeric_limits<TypeParam>::quiet_NaN());
      plan.apply(TypeParam{1}, x, TypeParam{0}, y);
      EXPECT_TRUE(near(oracle, constant(y)));
      if (first.empty()) first = y;
      EXPECT_EQ(first, y) << "threads " << threads;
      EXPECT_EQ(plan.info().reason.find(" 1 segments"), std::string::npos) << plan.info().reason;
      EXPECT_EQ(plan.info().reason.find("by 1 blocks"), std::string::npos) << plan.info().reason;
    }
  }
}

TYPED_TEST(BlockedOnHost, NanInXReachesExactlyTheRowsThatHoldIt) {
  const testing::SmallGrain grain;
  const auto matrix =
      testing::with_row_lengths<TypeParam>(testing::power_law_lengths(500, 300, 3), 700, ValueStorage::weighted);
  auto x = testing::random_vector<TypeParam>(700, 5);
  const index_t poisoned = matrix.columns()[matrix.nnz() / 2];
  x[static_cast<std::size_t>(poisoned)] = std::numeric_limits<TypeParam>::quiet_NaN();
  std::vector<TypeParam> y(500);
  SpmvPlan<TypeParam>(Csr<TypeParam>::copy_of(matrix.view()), testing::options_of(blocked_kernel))
      .apply(TypeParam{1}, x, TypeParam{0}, y);
  for (index_t row = 0; row < 500; ++row) {
    const auto columns = matrix.columns().span().subspan(
        static_cast<std::size_t>(matrix.row_offsets()[row]),
        static_cast<std::size_t>(matrix.row_offsets()[row + 1] - matrix.row_offsets()[row]));
    const bool holds = std::find(columns.begin(), columns.end(), poisoned) != columns.end();
    EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(row)]), holds) << "row " << row;
  }
}

TEST(BlockedTuning, ShapesFitTheSharedMemory) {
  for (const cuda::DeviceLimits& gpu : {h200, ada}) {
    const cuda::BlockedShape in_float = cuda::blocked_shape<float>(gpu);
    const cuda::BlockedShape in_double = cuda::blocked_shape<double>(gpu);
    const auto most = static_cast<std::size_t>(gpu.largest_shared_per_block - cuda::static_shared_bytes);
    EXPECT_LE(static_cast<std::size_t>(in_float.column_block) * sizeof(float), most);
    EXPECT_LE(cuda::segment_bytes<float>(in_float.capacity), most);
    EXPECT_LE(cuda::segment_bytes<double>(in_double.capacity), most);
    EXPECT_GE(in_float.tiles_per_cut, 4);
    EXPECT_GE(in_double.tiles_per_cut, 4);
    EXPECT_LE(cuda::most_slots_of<double>(in_double.tiles_per_cut), in_double.capacity);
  }
}

TEST(BlockedTuning, RefusesShapesAndMatricesThatDoNotFit) {
  const cuda::BlockedShape most = cuda::blocked_shape<float>(h200);
  EXPECT_NO_THROW(cuda::check_blocked_shape(most, most, 8, 8, "gpu"));
  for (const cuda::BlockedShape& shape : {cuda::BlockedShape{0, 64, 1}, cuda::BlockedShape{64, 63, 1},
                                          cuda::BlockedShape{64, 64, 0}, cuda::BlockedShape{1 << 20, 64, 1}}) {
    EXPECT_THROW(cuda::check_blocked_shape(shape, most, 8, 8, "gpu"), InvalidArgument);
  }
  EXPECT_THROW(cuda::check_blocked_shape({64, 64, 1}, most, 8, 65, "gpu"), InvalidArgument);
  EXPECT_NO_THROW(cuda::check_column_blocks(4096, 1, most));
  EXPECT_THROW(cuda::check_column_blocks(4097, 1, most), NotSupported);
  EXPECT_NO_THROW(cuda::check_cells(1, 4096, 0));
  EXPECT_THROW(cuda::check_cells(1000, 999, 1000000), NotSupported);
}

/// Every quad of every block of columns is in one item, and no item has much more than its share.
TEST(BlockedTuning, ItemsCoverTheSlots) {
  const std::vector<offset_t> begins{0, 1000, 1000, 1001, 1501};
  for (const std::int64_t wanted : {1, 7, 64, 5000}) {
    const auto items = cuda::make_halo_items(begins, wanted);
    offset_t next = 0;
    for (const cuda::HaloItem& item : items) {
      EXPECT_EQ(item.begin, next);
      EXPECT_LT(item.begin, item.end);
      EXPECT_GE(item.begin, begins[static_cast<std::size_t>(item.block)]);
      EXPECT_LE(item.end, begins[static_cast<std::size_t>(item.block) + 1]);
      EXPECT_LE((item.end - item.begin) * wanted, std::int64_t{2} * 1501 + wanted) << wanted;
      next = item.end;
    }
    EXPECT_EQ(next, 1501);
  }
  EXPECT_TRUE(cuda::make_halo_items(std::vector<offset_t>{0}, 4).empty());
  EXPECT_TRUE(cuda::make_halo_items(std::vector<offset_t>{0, 0}, 4).empty());
}

/// Rows, columns and nonzeros of the generated families.
TEST(BlockedTuning, PaysWhereReadsOfALargeXAreScattered) {
  constexpr std::int64_t cache = 50 << 20;
  const auto forecast = [](double share, index_t rows, offset_t nnz, bool doubles, bool pattern = false,
                           double line_uses = 1.0) {
    return cuda::forecast_blocked({share, rows, rows, nnz, cache, doubles, pattern, line_uses});
  };
  for (const bool doubles : {false, true}) {
    EXPECT_TRUE(forecast(0.97, 55'000'000, 117'200'000, doubles).pays(20)) << "kmer";
    EXPECT_FALSE(forecast(0.97, 55'000'000, 117'200'000, doubles).pays(5)) << "kmer";
    EXPECT_FALSE(forecast(0.4, 55'000'000, 117'200'000, doubles).pays(1000)) << "near columns";
    EXPECT_FALSE(forecast(0.97, 2'000'000, 48'200'000, doubles).pays(1000)) << "x in the cache";
  }
  EXPECT_TRUE(forecast(0.8, 4'200'000, 65'200'000, false).pays(1000)) << "rmat";
  EXPECT_TRUE(forecast(0.8, 4'200'000, 65'200'000, false, true).pays(1000)) << "links of rmat";
  EXPECT_FALSE(forecast(0.8, 4'200'000, 65'200'000, false).pays(50)) << "rmat";
  EXPECT_FALSE(forecast(0.8, 4'200'000, 65'200'000, true).pays(1000)) << "rmat in double";
  EXPECT_TRUE(forecast(1.0, 4'200'000, 65'200'000, true, true).pays(1000)) << "no line is popular";
  EXPECT_FALSE(forecast(1.0, 4'200'000, 65'200'000, true, true, 1.5).pays(1000)) << "links of rmat in double";
}

}  // namespace
}  // namespace tessera
