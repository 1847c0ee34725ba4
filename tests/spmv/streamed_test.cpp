// Slices of the streamed product: cuts, formats and packing against the matrix, and the product on the host against
// csr.
#include "spmv/streamed/streamed.hpp"
#include "spmv/streamed/streamed_slices.hpp"
#include "spmv/streamed/streamed_tuning.hpp"
#include "tessera/generators.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/make_csr.hpp"

#include <bit>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

constexpr LongRowRule rule{64, 1024};

template <class E>
const E* section(const std::vector<std::byte>& packed, std::uint64_t offset) {
  return reinterpret_cast<const E*>(packed.data() + offset);
}

/// The entries of packed slices, row by row, as the kernels of a GPU read them.
template <class T>
struct Unpacked {
  std::vector<offset_t> lengths;
  std::vector<index_t> columns;
  std::vector<T> values;
};

template <class T>
void unpack(const Slice& slice, const SliceFormat& format, const std::vector<std::byte>& packed, Unpacked<T>& out) {
  const auto* const offsets = section<std::uint32_t>(packed, 0);
  for (std::uint32_t r = 0; r < slice.rows; ++r) {
    const index_t row = slice.first_row + static_cast<index_t>(r);
    if (r > 0 || !slice.continues) out.lengths.push_back(0);
    for (std::uint32_t k = offsets[r]; k < offsets[r + 1]; ++k) {
      ++out.lengths.back();
      out.columns.push_back(format.columns == SliceColumns::full
                                ? section<index_t>(packed, slice.layout.columns)[k]
                                : row + section<std::int16_t>(packed, slice.layout.columns)[k]);
      if (format.values == SliceValues::full) out.values.push_back(section<T>(packed, slice.layout.values)[k]);
      if (format.values == SliceValues::single) {
        out.values.push_back(static_cast<T>(section<float>(packed, slice.layout.values)[k]));
      }
    }
  }
}

/// Every entry of a long row is in one part, parts begin at multiples of their length, and no other row has parts.
template <class T>
void check_parts(const CsrView<T>& a, const Slice& slice, const std::vector<std::byte>& packed) {
  const auto* const offsets = section<std::uint32_t>(packed, 0);
  const auto* const parts = section<SlicePart>(packed, slice.layout.parts);
  const auto* const long_rows = section<SliceLongRow>(packed, slice.layout.long_rows);
  std::uint32_t seen = 0;
  std::uint32_t next_part = 0;
  for (std::uint32_t r = 0; r < slice.rows; ++r) {
    const auto row = static_cast<std::size_t>(slice.first_row) + r;
    if (a.row_offsets[row + 1] - a.row_offsets[row] <= rule.longer_than) continue;
    ASSERT_LT(seen, slice.long_rows);
    const SliceLongRow& long_row = long_rows[seen++];
    ASSERT_EQ(long_row.row, r);
    ASSERT_EQ(long_row.first_part, next_part);
    ASSERT_EQ(long_row.goes_on != 0, slice.is_open && r + 1 == slice.rows);
    std::uint32_t entry = offsets[r];
    for (std::uint32_t p = 0; p < long_row.parts; ++p) {
      ASSERT_EQ(parts[next_part + p].row, r);
      ASSERT_EQ(parts[next_part + p].begin, entry);
      ASSERT_EQ((slice.begin + entry - a.row_offsets[row]) % rule.part, 0);
      entry = std::min(entry + static_cast<std::uint32_t>(rule.part), offsets[r + 1]);
    }
    ASSERT_EQ(entry, offsets[r + 1]);
    next_part += long_row.parts;
  }
  ASSERT_EQ(seen, slice.long_rows);
  ASSERT_EQ(next_part, slice.parts);
}

template <class T>
void check_slices(const CsrView<T>& a, std::uint64_t bytes) {
  const Device host = Device::host(2);
  const SliceFormat format = slice_format(host, a);
  const std::vector<Slice> slices = cut_slices(a, format, bytes, std::optional(rule));
  Unpacked<T> out;
  offset_t entry = 0;
  std::int64_t row = 0;
  for (const Slice& slice : slices) {
    ASSERT_EQ(slice.begin, entry);
    ASSERT_EQ(slice.first_row, row);
    ASSERT_GT(slice.rows, 0U);
    ASSERT_LE(slice.layout.bytes, bytes);
    std::vector<std::byte> packed(slice.layout.bytes, std::byte{0xff});
    pack_slice(host, a, format, rule, slice, packed.data());
    unpack(slice, format, packed, out);
    check_parts(a, slice, packed);
    entry = slice.end;
    row = slice.first_row + std::int64_t{slice.rows} - (slice.is_open ? 1 : 0);
  }
  ASSERT_EQ(row, a.rows);
  ASSERT_EQ(entry, a.nnz());
  ASSERT_EQ(std::ssize(out.lengths), a.rows);
  for (std::size_t i = 0; i < out.lengths.size(); ++i) {
    ASSERT_EQ(out.lengths[i], a.row_offsets[i + 1] - a.row_offsets[i]) << "row " << i;
  }
  ASSERT_TRUE(std::equal(out.columns.begin(), out.columns.end(), a.columns.begin(), a.columns.end()));
  ASSERT_TRUE(std::equal(out.values.begin(), out.values.end(), a.values.begin(), a.values.end()));
}

TEST(StreamedSlices, KeepEveryEntry) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<double>(storage, {32})) {
      for (const std::uint64_t bytes : {least_slice_bytes, 5 * least_slice_bytes, largest_slice_bytes}) {
        SCOPED_TRACE(name + ", slices of " + std::to_string(bytes));
        check_slices(matrix.view(), bytes);
        ASSERT_FALSE(::testing::Test::HasFatalFailure());
      }
    }
  }
  check_slices(poisson2d<double>(90, 90).view(), least_slice_bytes);
  check_slices(poisson2d<float>(90, 90).view(), least_slice_bytes);
}

TEST(StreamedSlices, CutARowThatIsLargerThanASlice) {
  const auto matrix = testing::with_row_lengths<double>({3, 9000, 0, 5, 5000, 2}, 9000, ValueStorage::weighted);
  const std::vector<Slice> slices = cut_slices(matrix.view(), SliceFormat{}, least_slice_bytes, std::optional(rule));
  EXPECT_GT(slices.size(), 9U);
  EXPECT_GT(std::count_if(slices.begin(), slices.end(), [](const Slice& slice) { return slice.is_open; }), 8);
  check_slices(matrix.view(), least_slice_bytes);
}

TEST(StreamedSlices, AreNotCutInsideRowsWithoutARule) {
  const auto matrix = testing::with_row_lengths<double>({3, 9000, 0, 5}, 9000, ValueStorage::weighted);
  for (const Slice& slice : cut_slices(matrix.view(), SliceFormat{}, least_slice_bytes, std::nullopt)) {
    EXPECT_FALSE(slice.is_open);
    EXPECT_FALSE(slice.continues);
  }
}

SliceFormat format_of(std::int64_t rows, std::int64_t cols, std::vector<offset_t> offsets, std::vector<index_t> columns,
                      std::vector<double> values) {
  return slice_format(
      Device{},
      testing::make_csr<double>(rows, cols, std::move(offsets), std::move(columns), std::move(values)).view());
}

TEST(StreamedSlices, TakeTwoBytesPerColumnUpToTheLimitsOfTheirRange) {
  const auto columns_of = [](index_t left, index_t right) {
    // Row 40000 alone has entries.
    std::vector<offset_t> offsets(40002, 0);
    offsets.back() = 2;
    return format_of(40001, 80000, offsets, {40000 - left, 40000 + right}, {1.0, 2.0}).columns;
  };
  EXPECT_EQ(columns_of(32768, 32767), SliceColumns::relative);
  EXPECT_EQ(columns_of(32769, 32767), SliceColumns::full);
  EXPECT_EQ(columns_of(32768, 32768), SliceColumns::full);
}

TEST(StreamedSlices, TakeFourBytesPerValueOnlyWhereThatIsExact) {
  const auto values_of = [](double value) { return format_of(1, 2, {0, 2}, {0, 1}, {1.0, value}).values; };
  for (const double value : {0.0, -0.0, 0.5, -3.0, 16777216.0, std::numeric_limits<double>::infinity(), 1e-45 * 0.0}) {
    EXPECT_EQ(values_of(value), SliceValues::single) << value;
  }
  EXPECT_EQ(values_of(static_cast<double>(std::numeric_limits<float>::denorm_min())), SliceValues::single);
  for (const double value : {0.1, 16777217.0, 1e300, 5e-324, 1e-46}) EXPECT_EQ(values_of(value), SliceValues::full);
  EXPECT_EQ(values_of(std::bit_cast<double>(0x7ff8000000000001ULL)), SliceValues::full);
  EXPECT_EQ(slice_format(Device{}, testing::make_pattern<double>(1, 2, {0, 1}, {1}).view()).values, SliceValues::none);
  EXPECT_EQ(slice_format(Device{}, testing::make_csr<float>(1, 2, {0, 1}, {1}, {0.1F}).view()).values,
            SliceValues::full);
}

TEST(StreamedSlices, AreOfTheMemoryThatIsAllowed) {
  EXPECT_EQ(slice_bytes_for(0, 0), least_slice_bytes);
  EXPECT_EQ(slice_bytes_for(std::uint64_t{1} << 40, 0), largest_slice_bytes);
  EXPECT_EQ(slice_bytes_for(std::uint64_t{1} << 40, std::uint64_t{1} << 24), std::uint64_t{1} << 20);
  EXPECT_EQ(slice_bytes_for(std::uint64_t{1} << 24, std::uint64_t{1} << 40), std::uint64_t{1} << 20);
}

template <class T>
std::vector<T> product(const Csr<T>& matrix, SpmvAlgorithm algorithm, T alpha, T beta) {
  SpmvOptions options;
  options.algorithm = algorithm;
  options.device = Device::host(2);
  const SpmvPlan<T> plan(Csr<T>::copy_of(matrix.view()), options);
  const auto x = testing::random_vector<T>(plan.cols(), 3);
  auto y = testing::random_vector<T>(plan.rows(), 4);
  plan.apply(alpha, x, beta, y);
  return y;
}

template <class T>
class StreamedOnHost : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(StreamedOnHost, Types);

TYPED_TEST(StreamedOnHost, HasTheBitsOfCsr) {
  using T = TypeParam;
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    for (const auto& [name, matrix] : testing::adversarial_matrices<T>(storage, {32})) {
      for (const auto& [alpha, beta] : {std::pair{T{1}, T{0}}, std::pair{T{-2}, T{3}}}) {
        SCOPED_TRACE(name);
        ASSERT_EQ(product(matrix, SpmvAlgorithm::streamed, alpha, beta),
                  product(matrix, SpmvAlgorithm::csr, alpha, beta));
      }
    }
  }
}

TYPED_TEST(StreamedOnHost, TellsItsSlices) {
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::streamed;
  const SpmvPlan<TypeParam> plan(poisson2d<TypeParam>(100, 100), options);
  ASSERT_TRUE(plan.info().stream.has_value());
  EXPECT_GT(plan.info().stream->slices, 10);
  EXPECT_EQ(plan.info().stream->bytes_per_product, 0U);
  EXPECT_EQ(plan.info().stream->page_locked_bytes, 0U);
  EXPECT_TRUE(plan.matrix_device().is_host());
  EXPECT_EQ(plan.info().reason, "named by the caller");
}

TEST(StreamedChoice, NeverStreamsOnTheHost) {
  SpmvOptions options;
  options.memory_limit_bytes = 1;
  const auto matrix = poisson2d<double>(30, 30);
  EXPECT_FALSE(choose_streaming(matrix, options).has_value());
  EXPECT_NE(SpmvPlan<double>(poisson2d<double>(30, 30), options).info().algorithm, SpmvAlgorithm::streamed);
  options.algorithm = SpmvAlgorithm::streamed;
  EXPECT_FALSE(choose_streaming(matrix, options).has_value());
}

}  // namespace
}  // namespace tessera
