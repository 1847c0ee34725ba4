// Products in slices of rows on a GPU: the bits of the whole product of the host, limits, splits, a row that is too
// large.
#include "spgemm/common/slices.hpp"
#include "tessera/context.hpp"
#include "tessera/generators.hpp"
#include "tests/spgemm/slices_support.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/measured_memory.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tessera {
namespace {

class SlicesCuda : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpgemmOptions options(std::uint64_t limit) {
    SpgemmOptions result;
    result.device = gpu();
    result.determinism = Determinism::gpu_to_gpu;
    result.memory_limit_bytes = limit;
    return result;
  }
};

TEST_F(SlicesCuda, OfAdversarialMatricesHaveTheBitsOfTheWhole) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<double>(ValueStorage::weighted, {32})) {
    if (testing::is_too_large_here(matrix.rows() + matrix.nnz(), 4000)) continue;
    SCOPED_TRACE(name);
    const auto lengths = testing::lengths_of(static_cast<std::size_t>(matrix.cols()), 3);
    const auto b = testing::with_row_lengths<double>(lengths, 50, ValueStorage::weighted);
    const SpgemmResult<double> whole = spgemm(matrix, b);
    testing::SliceJoiner<double> joiner;
    // Facts and offsets of rows, and two fifths of the entries.
    const std::uint64_t limit = 64 * (static_cast<std::uint64_t>(matrix.rows()) + 64) + 2 * whole.matrix.bytes() / 5;
    const SlicedReport report =
        spgemm_sliced(matrix, b, options(limit), [&](SpgemmSlice<double> slice) { joiner(std::move(slice)); });
    testing::expect_whole(joiner, report, whole);
    EXPECT_LE(report.product.peak_bytes, limit);
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

TEST_F(SlicesCuda, AreFew) {
  const auto a = generate<float>(parse_generator("rmat:" + std::to_string(testing::repetitions(20000, 600))));
  const SpgemmResult<float> whole = spgemm(a, a);
  const Csr<float> on_gpu = a.to(gpu());
  testing::SliceJoiner<float> joiner;
  const SlicedReport report =
      spgemm_sliced(on_gpu, on_gpu, options(whole.matrix.bytes() / 2), [&](SpgemmSlice<float> slice) {
        EXPECT_TRUE(slice.matrix.device() == gpu());
        joiner(std::move(slice));
      });
  testing::expect_whole(joiner, report, whole);
  EXPECT_GT(report.slices.size(), 1U);
  EXPECT_LE(report.slices.size(), 5U) << report.reason;
}

TEST_F(SlicesCuda, ForeseenTooSmallAreSplit) {
  const auto a = generate<double>(parse_generator("rmat:200"));
  const SpgemmResult<double> whole = spgemm(a, a);
  const Csr<double> on_gpu = a.to(gpu());
  detail::RowPrediction nothing;
  nothing.rows = a.rows();
  nothing.entries.assign(static_cast<std::size_t>(a.rows()) + 1, 0.0);
  testing::SliceJoiner<double> joiner;
  const SlicedReport report =
      detail::form_slices<double>(on_gpu, on_gpu, options(whole.matrix.bytes() / 2), std::move(nothing),
                                  [&](SpgemmSlice<double> slice) { joiner(std::move(slice)); });
  testing::expect_whole(joiner, report, whole);
  EXPECT_GT(report.splits, 0);
}

TEST_F(SlicesCuda, ASliceThatIsKeptLiesWithinTheLimit) {
  const auto a = generate<double>(parse_generator("rmat:400"));
  const SpgemmResult<double> whole = spgemm(a, a);
  const auto memory = std::make_shared<testing::MeasuredMemory>();
  const Context context(gpu(), {.memory = memory});
  const Csr<double> on_gpu = a.to(context);
  const std::int64_t factors = memory->held;
  SpgemmOptions wanted = options(3 * whole.matrix.bytes() / 4);
  wanted.device = context;
  // Foreseen too small, slices are cut by what they turn out to take.
  detail::RowPrediction nothing;
  nothing.rows = a.rows();
  nothing.entries.assign(static_cast<std::size_t>(a.rows()) + 1, 0.0);
  testing::SliceJoiner<double> joiner;
  std::optional<SpgemmSlice<double>> kept;
  const auto release = [&] {
    if (kept) joiner(*std::exchange(kept, std::nullopt));
  };
  memory->peak = factors;
  const SlicedReport report = detail::form_slices<double>(
      on_gpu, on_gpu, wanted, std::move(nothing),
      [&](SpgemmSlice<double> slice) {
        release();
        kept.emplace(std::move(slice));
      },
      release);
  EXPECT_LE(memory->peak - factors, static_cast<std::int64_t>(wanted.memory_limit_bytes));
  release();
  testing::expect_whole(joiner, report, whole);
  EXPECT_GT(report.slices.size(), 2U);
}

TEST_F(SlicesCuda, OfARowThatDoesNotFitNameIt) {
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(100, 50), 40000, ValueStorage::weighted);
  std::vector<index_t> lengths = testing::lengths_of(60, 1);
  lengths[40] = 100;
  const auto a = testing::with_row_lengths<double>(lengths, 100, ValueStorage::weighted);
  const std::string message = testing::message_of<OutOfMemory>(
      [&] { spgemm_sliced(a, b, options(40000), [](SpgemmSlice<double> /*slice*/) {}); });
  EXPECT_NE(message.find("row 41 of a sparse product, a slice by itself"), std::string::npos) << message;
}

TEST_F(SlicesCuda, GatheredKeepTheLimitWithTheSliceThatIsOnItsWay) {
  for (const std::string family : {"rmat:600", "fem3d:1500", "powerlaw:900"}) {
    const auto a = generate<double>(parse_generator(family));
    const SpgemmResult<double> whole = spgemm(a, a);
    for (const std::uint64_t parts : {std::uint64_t{2}, std::uint64_t{5}}) {
      SCOPED_TRACE(family + " in " + std::to_string(parts));
      const std::uint64_t limit = whole.matrix.bytes() / parts + 64 * (static_cast<std::uint64_t>(a.rows()) + 64);
      const auto memory = std::make_shared<testing::MeasuredMemory>();
      const Context context(gpu(), {.memory = memory});
      SpgemmOptions wanted = options(limit);
      wanted.device = context;
      const Csr<double> on_gpu = a.to(context);
      const std::int64_t factors = memory->held;
      memory->peak = factors;
      const GatheredProduct<double> gathered = spgemm_to_host(on_gpu, on_gpu, wanted);
      EXPECT_LE(memory->peak - factors, static_cast<std::int64_t>(limit));
      testing::expect_identical(gathered.matrix.view(), whole.matrix.view());
      EXPECT_TRUE(gathered.matrix.device().is_host());
      EXPECT_LE(gathered.report.product.peak_bytes, limit);
      EXPECT_GE(gathered.report.slices.size(), parts);
    }
  }
}

TEST_F(SlicesCuda, GatheredGiveUpTheSliceOnItsWayForARowThatNeedsTheLimit) {
  // The last row takes nearly all of the limit, the row before it half.
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(100, 50), 40000, ValueStorage::weighted);
  std::vector<index_t> lengths = testing::lengths_of(61, 1);
  lengths[59] = 60;
  lengths[60] = 100;
  const auto a = testing::with_row_lengths<double>(lengths, 100, ValueStorage::weighted);
  const SpgemmResult<double> whole = spgemm(a, b);
  std::uint64_t least = 0;  // that the sliced product takes
  for (std::uint64_t limit = 40000; least == 0; limit += 10000) {
    try {
      spgemm_sliced(a, b, options(limit), [](SpgemmSlice<double> /*slice*/) {});
      least = limit;
    } catch (const OutOfMemory&) {
    }
  }
  const GatheredProduct<double> gathered = spgemm_to_host(a, b, options(least));
  testing::expect_identical(gathered.matrix.view(), whole.matrix.view());
}

TEST_F(SlicesCuda, GatheredOnTheHostAndFilteredPowers) {
  const auto a = generate<double>(parse_generator("rmat:300"));
  const SpgemmResult<double> whole = spgemm(a, a);
  const GatheredProduct<double> gathered = spgemm_to_host(a, a, options(whole.matrix.bytes() / 2));
  testing::expect_identical(gathered.matrix.view(), whole.matrix.view());
  const Keep keep{.tolerance = 0.05, .most = 20};
  const FilteredPower<double> on_gpu = matrix_power(a, 5, keep, options(0));
  const FilteredPower<double> on_host = matrix_power(a, 5, keep);
  testing::expect_identical(on_gpu.matrix.to(Device{}).view(), on_host.matrix.view());
  EXPECT_EQ(on_gpu.dropped, on_host.dropped);
}

}  // namespace
}  // namespace tessera
