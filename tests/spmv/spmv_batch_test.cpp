// Batches of products on the host.
#include "tessera/statistics.hpp"
#include "tests/spmv/spmv_batch_cases.hpp"
#include "tests/support/error_message.hpp"

namespace tessera {
namespace {

template <class T>
class Batch : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Batch, Types);

TYPED_TEST(Batch, ProductsAreRight) {
  testing::check_all_products<TypeParam>(Device{}, spmv_algorithms(), ValueStorage::weighted, false);
}

TYPED_TEST(Batch, ProductsOfPatternsAreRight) {
  testing::check_all_products<TypeParam>(Device{}, spmv_algorithms(), ValueStorage::pattern, true);
}

TYPED_TEST(Batch, NothingLeaksIntoOtherParts) {
  testing::check_that_nothing_leaks<TypeParam>(Device{}, spmv_algorithms());
}

TYPED_TEST(Batch, NewValues) {
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    SCOPED_TRACE(to_string(algorithm));
    testing::check_new_values<TypeParam>({.algorithm = algorithm, .device = Device{}}, Device{});
  }
}

/// Patterns count as ones until values come.
TYPED_TEST(Batch, PatternsBesideValues) {
  std::vector<Csr<TypeParam>> parts;
  parts.push_back(testing::random_part<TypeParam>(6, 5, 4, 1));
  parts.push_back(testing::random_part<TypeParam>(4, 7, 4, 2, ValueStorage::pattern));
  SpmvBatch<TypeParam> batch(parts);
  testing::check_products(batch, parts);
  const auto values = testing::random_vector<TypeParam>(parts[1].nnz(), 4);
  batch.update_values(1, std::span<const TypeParam>(values));
  parts[1] = parts[1].with_values(Array<TypeParam>::copy_of(values));
  testing::check_products(batch, parts);
}

TYPED_TEST(Batch, ColumnsAndTransposes) {
  std::vector<Csr<TypeParam>> parts;
  for (std::uint64_t p = 0; p < 4; ++p) parts.push_back(testing::random_part<TypeParam>(6, 9, 4, p));
  const SpmvBatch<TypeParam> batch(parts, {.device = Device{}, .with_transpose = true});
  const auto x = testing::random_vector<TypeParam>(2 * 36, 3);
  std::vector<TypeParam> y(std::size_t{2} * 24);
  const MultiVectorView<TypeParam> columns(y, 24, 2);
  batch.plan().apply_many(MultiVectorView<const TypeParam>(x, 36, 2), columns);
  std::vector<TypeParam> transposed(36);
  batch.plan().apply_transposed(std::span<const TypeParam>(x).first(24), transposed);
  for (std::int64_t p = 0; p < batch.size(); ++p) {
    const CsrView<TypeParam> part = parts[static_cast<std::size_t>(p)].view();
    for (std::int64_t j = 0; j < 2; ++j) {
      const auto own = batch.x_of(p, std::span<const TypeParam>(x).subspan(static_cast<std::size_t>(36 * j), 36));
      const std::span<const TypeParam> found = batch.y_of(p, columns.column(j));
      testing::expect_within(testing::multiply_oracle<TypeParam>(TypeParam{1}, part, own, TypeParam{0}, found), found);
    }
    const std::span<const TypeParam> found = batch.x_of(p, std::span(transposed));
    const auto own = batch.y_of(p, std::span<const TypeParam>(x).first(24));
    testing::expect_within(
        testing::multiply_oracle<TypeParam>(TypeParam{1}, transpose(part).view(), own, TypeParam{0}, found), found);
  }
}

TEST(SpmvBatch, SaysWhereItsPartsLie) {
  std::vector<Csr<double>> parts;
  parts.push_back(testing::make_csr<double>(2, 3, {0, 1, 3}, {0, 1, 2}, {1, 2, 3}));
  parts.emplace_back();
  parts.push_back(testing::make_csr<double>(1, 2, {0, 1}, {1}, {4}));
  const SpmvBatch<double> batch(parts);
  ASSERT_EQ(batch.size(), 3);
  const BatchPart& last = batch.part(2);
  EXPECT_EQ((std::vector<std::int64_t>{last.first_row, last.rows, last.first_column, last.cols, last.first_entry,
                                       last.entries}),
            (std::vector<std::int64_t>{2, 1, 3, 2, 3, 1}));
  EXPECT_EQ(batch.part(1).rows + batch.part(1).cols + batch.part(1).entries, 0);
  EXPECT_EQ(batch.plan().rows(), 3);
  EXPECT_EQ(batch.plan().cols(), 5);
  EXPECT_EQ(batch.info().matrix_bytes, 4 * sizeof(offset_t) + 4 * (sizeof(index_t) + sizeof(double)));
  EXPECT_GE(batch.info().join_ms, 0.0);
  std::vector<double> y(3);
  batch.apply(std::vector<double>{1, 1, 1, 1, 1}, y);
  EXPECT_EQ(y, (std::vector<double>{1, 5, 4}));
  batch.y_of(2, std::span(y))[0] = 0;
  EXPECT_EQ(y.back(), 0);
}

TEST(SpmvBatch, NamesKernelAndReason) {
  const SpmvBatch<double> small(testing::equal_structures<double>(9));
  EXPECT_EQ(small.plan().info().algorithm, SpmvAlgorithm::csr);
  EXPECT_EQ(small.plan().info().reason, "270 rows and 1080 nonzeros: too small for load balancing to pay");
}

/// Relative columns repeat along the diagonal where the parts are square.
TEST(SpmvBatch, RowPatternsRepeatInSquareParts) {
  const SpmvOptions options{.algorithm = SpmvAlgorithm::patterns, .device = Device{}};
  const SpmvBatch<double> square(testing::equal_structures<double>(20), options);
  EXPECT_EQ(square.plan().info().reason, "named by the caller; 30 row patterns name all rows: 8.25 bytes per nonzero");
  std::vector<Csr<double>> wide;
  wide.reserve(20);
  for (int p = 0; p < 20; ++p) {
    wide.push_back(testing::with_row_lengths<double>(testing::lengths_of(30, 4), 31, ValueStorage::pattern));
  }
  EXPECT_THROW(SpmvBatch<double>(wide, options), NotSupported);
  wide.erase(wide.begin() + 1, wide.end());
  EXPECT_NO_THROW(SpmvBatch<double>(wide, options));
}

TEST(SpmvBatch, MayBeEmpty) {
  SpmvBatch<double> batch(std::vector<Csr<double>>{});
  EXPECT_EQ(batch.size(), 0);
  batch.apply({}, {});
  batch.update_values(std::vector<Csr<double>>{});
  EXPECT_EQ(testing::message_of<InvalidArgument>([&] { (void)batch.part(0); }),
            "the batch has 0 parts, counted from 0: there is no part 0");
}

TEST(SpmvBatch, NamesWhatDoesNotFit) {
  SpmvBatch<double> batch(testing::equal_structures<double>(3));
  const auto said = [](const auto& function) { return testing::message_of<DimensionError>(function); };
  std::vector<double> y(90);
  std::vector<double> few(89);
  EXPECT_THROW(batch.apply(y, few), DimensionError);
  EXPECT_EQ(said([&] { (void)batch.x_of(0, std::span(few)); }),
            "all parts of the batch are 90 x 90: vector x must have 90 elements, has 89");
  EXPECT_EQ(said([&] { (void)batch.y_of(0, std::span(few)); }),
            "all parts of the batch are 90 x 90: vector y must have 90 elements, has 89");
  EXPECT_THROW((void)batch.x_of(3, std::span(y)), InvalidArgument);
  EXPECT_THROW((void)batch.y_of(-1, std::span(y)), InvalidArgument);
  EXPECT_EQ(said([&] { batch.update_values(1, std::span<const double>(few)); }), "part 1 has 120 values, got 89");
  EXPECT_THROW(batch.update_values(3, std::span<const double>(few)), InvalidArgument);
  EXPECT_THROW(batch.update_values(std::span<const double>(few)), DimensionError);
  auto other = testing::equal_structures<double>(2);
  EXPECT_EQ(said([&] { batch.update_values(other); }), "the batch has 3 parts, got 2");
  other.push_back(testing::make_csr<double>(30, 31, std::vector<offset_t>(31), {}, {}));
  EXPECT_EQ(said([&] { batch.update_values(other); }), "part 2 is 30 x 30 with 120 entries, got 30 x 31 with 0");
  other.back() = testing::with_row_lengths<double>(testing::lengths_of(30, 4), 30, ValueStorage::weighted, 99);
  EXPECT_THROW(batch.update_values(other), InvalidMatrix);
  std::vector<Csr<double>> patterns;
  patterns.push_back(other[0].structure());
  SpmvBatch<double> without_values(patterns);
  EXPECT_THROW(without_values.update_values(0, other[0].values().span()), InvalidArgument);
}

/// A value that the options cannot keep leaves the batch as it was.
TEST(SpmvBatch, RefusedValuesChangeNothing) {
  const auto parts = testing::equal_structures<double>(3);
  SpmvBatch<double> batch(parts, {.device = Device{}, .fp32_values = true});
  std::vector<double> x(90, 1.0);
  std::vector<double> before(90);
  std::vector<double> after(90);
  batch.apply(x, before);
  const std::vector<double> huge(120, 1e300);
  EXPECT_THROW(batch.update_values(1, std::span<const double>(huge)), InvalidMatrix);
  batch.apply(x, after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace tessera
