// Products in slices of rows: the bits of the whole product, limits, splits, consumers that throw; filtered powers.
#include "spgemm/common/slices.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/slices_support.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/small_grain.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace tessera {
namespace {

/// Options of products that take the least memory.
SpgemmOptions within(std::uint64_t limit_bytes, const Device& device = Device{}) {
  SpgemmOptions options;
  options.workflow = SpgemmWorkflow::symbolic;
  options.memory_limit_bytes = limit_bytes;
  options.device = device;
  return options;
}

template <class T>
void check_cut(const Csr<T>& a, const Csr<T>& b, double share) {
  SpgemmOptions options = within(0, Device::host(2));
  const SpgemmResult<T> whole = spgemm(a, b, options);
  // With the sums of the prediction and the analysis, which small products do not fit beside C.
  options.memory_limit_bytes = static_cast<std::uint64_t>(share * static_cast<double>(whole.report.peak_bytes)) +
                               64 * (static_cast<std::uint64_t>(a.rows()) + 64);
  testing::SliceJoiner<T> joiner;
  const SlicedReport report = spgemm_sliced(a, b, options, [&](SpgemmSlice<T> slice) { joiner(std::move(slice)); });
  testing::expect_whole(joiner, report, whole);
  EXPECT_LE(report.product.peak_bytes, options.memory_limit_bytes);
  EXPECT_EQ(report.limit_bytes, options.memory_limit_bytes);
}

TEST(Slices, OfAdversarialMatricesHaveTheBitsOfTheWhole) {
  const testing::SmallGrain grain;
  for (const auto storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<double>(storage, {32})) {
      SCOPED_TRACE(name);
      const auto lengths = testing::lengths_of(static_cast<std::size_t>(matrix.cols()), 3);
      check_cut(matrix, testing::with_row_lengths<double>(lengths, 50, storage), 0.4);
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TEST(Slices, AreFewAndOfEqualSize) {
  const auto a = generate<float>(parse_generator("rmat:4000"));
  const SpgemmResult<float> whole = spgemm(a, a);
  SpgemmOptions options = within(0);
  const std::uint64_t c_bytes = whole.matrix.bytes();
  for (const std::uint64_t parts : {2U, 5U}) {
    options.memory_limit_bytes = c_bytes / parts;
    testing::SliceJoiner<float> joiner;
    const SlicedReport report =
        spgemm_sliced(a, a, options, [&](SpgemmSlice<float> slice) { joiner(std::move(slice)); });
    testing::expect_whole(joiner, report, whole);
    EXPECT_GT(report.slices.size(), parts);
    EXPECT_LE(report.slices.size(), 2 * parts + 1) << report.reason;
    EXPECT_EQ(report.splits, 0);
    const auto [least, most] = std::minmax_element(report.slices.begin(), report.slices.end(),
                                                   [](const auto& x, const auto& y) { return x.nnz < y.nnz; });
    EXPECT_LE(most->nnz, 2 * least->nnz);
    for (const SliceSize& slice : report.slices) {
      EXPECT_NEAR(slice.predicted_nnz, static_cast<double>(slice.nnz), 0.15 * static_cast<double>(slice.nnz));
    }
  }
}

TEST(Slices, MayBeMany) {
  const auto a = poisson2d<double>(60, 60);
  const SpgemmResult<double> whole = spgemm(a, a);
  testing::SliceJoiner<double> joiner;
  const SlicedReport report =
      spgemm_sliced(a, a, within(10000, Device::host(1)), [&](SpgemmSlice<double> slice) { joiner(std::move(slice)); });
  testing::expect_whole(joiner, report, whole);
  EXPECT_GT(report.slices.size(), 64U);
  EXPECT_LE(report.product.peak_bytes, 10000U);
}

TEST(Slices, OneIsEnoughForWhatFits) {
  const auto a = generate<double>(parse_generator("rmat:500"));
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    testing::SliceJoiner<double> joiner;
    const SlicedReport report =
        spgemm_sliced(a, a, within(limit), [&](SpgemmSlice<double> slice) { joiner(std::move(slice)); });
    EXPECT_EQ(joiner.slices(), 1U);
    EXPECT_NE(report.reason.find("fits"), std::string::npos) << report.reason;
  }
}

TEST(Slices, ForeseenTooSmallAreSplit) {
  const auto a = generate<double>(parse_generator("rmat:2000"));
  const SpgemmResult<double> whole = spgemm(a, a, within(0));
  const SpgemmOptions options = within(whole.matrix.bytes() / 3);
  detail::RowPrediction nothing;
  nothing.rows = a.rows();
  nothing.entries.assign(static_cast<std::size_t>(a.rows()) + 1, 0.0);
  nothing.source = "nothing";
  testing::SliceJoiner<double> joiner;
  const SlicedReport report = detail::form_slices<double>(a, a, options, std::move(nothing),
                                                          [&](SpgemmSlice<double> slice) { joiner(std::move(slice)); });
  testing::expect_whole(joiner, report, whole);
  EXPECT_GE(report.splits, 2);
  EXPECT_LT(report.slices.size(), 40U);
}

TEST(Slices, OfARowThatDoesNotFitNameIt) {
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(100, 50), 40000, ValueStorage::weighted);
  std::vector<index_t> lengths = testing::lengths_of(60, 1);
  lengths[40] = 100;  // 5000 entries of C
  const auto a = testing::with_row_lengths<double>(lengths, 100, ValueStorage::weighted);
  const SpgemmOptions options = within(40000, Device::host(1));
  index_t seen = 0;
  const std::string message = testing::message_of<OutOfMemory>([&] {
    spgemm_sliced(a, b, options, [&](SpgemmSlice<double> slice) { seen = slice.first_row + slice.matrix.rows(); });
  });
  EXPECT_NE(message.find("row 41 of a sparse product, a slice by itself"), std::string::npos) << message;
  EXPECT_EQ(seen, 40);
}

TEST(Slices, PassOnWhatTheConsumerThrows) {
  const auto a = generate<double>(parse_generator("rmat:500"));
  const SpgemmResult<double> whole = spgemm(a, a);
  int taken = 0;
  const auto throwing = [&](SpgemmSlice<double> /*slice*/) {
    if (++taken == 2) throw OutOfMemory(1, 2, "consumer");
  };
  const std::string message =
      testing::message_of<OutOfMemory>([&] { spgemm_sliced(a, a, within(whole.matrix.bytes() / 3), throwing); });
  EXPECT_NE(message.find("consumer"), std::string::npos) << message;
  EXPECT_EQ(taken, 2);
}

TEST(Slices, Refusals) {
  const Csr<double> wide = testing::from_dense<double>({{1, 2}}, 2);
  const auto ignore = [](SpgemmSlice<double> /*slice*/) {};
  EXPECT_THROW(spgemm_sliced(wide, wide, {}, ignore), DimensionError);
  EXPECT_THROW(spgemm_sliced(wide, transpose(wide.view()), {}, {}), InvalidArgument);
  SpgemmOptions half;
  half.precision = SpgemmPrecision::fp16_fp32;
  EXPECT_EQ(testing::message_of<NotSupported>([&] { spgemm_sliced(wide, transpose(wide.view()), half, ignore); }),
            "slices of a product are formed in working precision, not in 'fp16-fp32'");
}

TEST(Slices, GatheredOnTheHost) {
  const auto a = generate<double>(parse_generator("rmat:1000"));
  const SpgemmResult<double> whole = spgemm(a, a);
  const GatheredProduct<double> gathered = spgemm_to_host(a, a, within(whole.matrix.bytes() / 3));
  EXPECT_GT(gathered.report.slices.size(), 2U);
  testing::expect_identical(gathered.matrix.view(), whole.matrix.view());
}

TEST(Slices, FilteredHaveTheDiagonalOfTheWhole) {
  const auto a = generate<double>(parse_generator("rmat:1000"));
  const SpgemmResult<double> whole = spgemm(a, a);
  const Keep keep{.tolerance = 0.1, .most = 5};
  testing::SliceJoiner<double> joiner;
  spgemm_sliced(a, a, within(whole.matrix.bytes() / 3), [&](SpgemmSlice<double> slice) {
    slice.matrix = keep_entries(slice.matrix, keep, slice.first_row);
    slice.report.nnz = slice.matrix.nnz();
    joiner(std::move(slice));
  });
  EXPECT_GT(joiner.slices(), 2U);
  testing::expect_identical(joiner.joined().view(), keep_entries(whole.matrix, keep).view());
}

TEST(FilteredPower, IsAProductAndAFilterAfterTheOther) {
  const auto a = generate<double>(parse_generator("rmat:300"));
  const Keep keep{.tolerance = 0.05, .most = 20};
  const FilteredPower<double> fifth = matrix_power(a, 5, keep);
  ASSERT_EQ(fifth.products.size(), 3U);
  const Csr<double> second = keep_entries(spgemm(a, a).matrix, keep);
  const SpgemmResult<double> fourth = spgemm(second, second);
  const Csr<double> fourth_kept = keep_entries(fourth.matrix, keep);
  testing::expect_identical(fifth.matrix.view(), keep_entries(spgemm(fourth_kept, a).matrix, keep).view());
  EXPECT_EQ(fifth.dropped[1], fourth.matrix.nnz() - fourth_kept.nnz());
  EXPECT_GT(fifth.dropped[1], 0);
}

TEST(FilteredPower, OfZeroAndOneAndWithoutARule) {
  const auto a = generate<double>(parse_generator("rmat:100"));
  testing::expect_identical(matrix_power(a, 0, Keep{.most = 1}).matrix.view(), matrix_power(a, 0).matrix.view());
  testing::expect_identical(matrix_power(a, 1, Keep{.most = 1}).matrix.view(), a.view());
  const FilteredPower<double> sixth = matrix_power(a, 6, Keep{});
  testing::expect_identical(sixth.matrix.view(), matrix_power(a, 6, {}, PowerOrder::binary).matrix.view());
  EXPECT_EQ(sixth.dropped, std::vector<offset_t>(3, 0));
}

TEST(FilteredPower, Refusals) {
  const Csr<double> wide = testing::from_dense<double>({{1, 2}}, 2);
  EXPECT_THROW(static_cast<void>(matrix_power(wide, 2, Keep{})), DimensionError);
  const Csr<double> a = testing::from_dense<double>({{1}}, 1);
  EXPECT_THROW(static_cast<void>(matrix_power(a, -1, Keep{})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(matrix_power(a, 1, Keep{.tolerance = -1.0})), InvalidArgument);
}

}  // namespace
}  // namespace tessera
