// The streamed product on a GPU: bits that depend neither on limits nor on slices, what lies on the GPU, new values,
// transposes, several columns, refusals.
#include "spmv/streamed/streamed_tuning.hpp"
#include "tessera/amg.hpp"
#include "tessera/context.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spmv/cuda_check.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/measured_memory.hpp"

#include <memory>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::CudaProduct;
using testing::near;

class StreamedOnGpu : public testing::CudaTest {
 protected:
  [[nodiscard]] static SpmvOptions options(std::uint64_t limit, SpmvAlgorithm algorithm = SpmvAlgorithm::streamed) {
    SpmvOptions result;
    result.device = gpu();
    result.algorithm = algorithm;
    result.memory_limit_bytes = limit;
    return result;
  }
};

/// Short rows, rows of several parts, and two that are larger than the smallest slice.
template <class T>
Csr<T> uneven(ValueStorage storage = ValueStorage::weighted) {
  std::vector<index_t> lengths = testing::power_law_lengths(6000, 3000, 5);
  lengths[0] = 14000;
  lengths[700] = 20000;
  lengths[701] = 0;
  lengths[5999] = 9000;
  return testing::with_row_lengths<T>(lengths, 40000, storage);
}

TEST_F(StreamedOnGpu, TheBitsDependNeitherOnTheLimitNorOnTheSlices) {
  for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
    const auto matrix = uneven<double>(storage);
    const auto x = testing::random_vector<double>(matrix.cols(), 3);
    const auto y = testing::random_vector<double>(matrix.rows(), 4);
    const CudaProduct<double> whole(matrix, options(std::uint64_t{1} << 30));
    ASSERT_EQ(whole.plan().info().stream->bytes_per_product, 0U);
    const std::vector<double> expected = whole.apply(-2.0, x, 3.0, y);
    ASSERT_TRUE(near(testing::multiply_oracle<double>(-2.0, whole.matrix(), x, 3.0, y), constant(expected)));
    std::int64_t most = 0;
    for (const std::uint64_t limit :
         {matrix.bytes() / 2, 5 * least_slice_bytes, 3 * least_slice_bytes, std::uint64_t{0}}) {
      SCOPED_TRACE("limit " + std::to_string(limit));
      const CudaProduct<double> product(matrix, options(limit));
      const StreamInfo& stream = *product.plan().info().stream;
      EXPECT_GT(stream.bytes_per_product, 0U);
      EXPECT_GT(stream.bytes_per_second, 0.0);
      EXPECT_GT(stream.predicted_ms, 0.0);
      most = std::max(most, stream.slices);
      for (int round = 0; round < 3; ++round) ASSERT_EQ(product.apply(-2.0, x, 3.0, y), expected);
    }
    EXPECT_GT(most, 8);
  }
}

TEST_F(StreamedOnGpu, HasTheBitsOfCsrVectorWhereNoRowIsLong) {
  for (const index_t length : {1, 4, 9, 30, 60, 200}) {
    const auto matrix =
        testing::with_row_lengths<double>(testing::lengths_of(600, length), 3000, ValueStorage::weighted);
    const auto x = testing::random_vector<double>(3000, 3);
    const CudaProduct<double> resident(matrix, options(0, SpmvAlgorithm::csr_vector));
    const CudaProduct<double> streamed(matrix, options(matrix.bytes() / 2 + 3 * least_slice_bytes));
    EXPECT_EQ(resident.apply(x), streamed.apply(x)) << "rows of " << length;
  }
}

TEST_F(StreamedOnGpu, EveryFormatMultiplies) {
  const auto x = testing::random_vector<double>(10000, 3);
  const auto grid = poisson2d<double>(100, 100);  // near columns, values that are floats
  CudaProduct<double> product(grid, options(3 * least_slice_bytes));
  EXPECT_LT(product.plan().info().stream->bytes_per_product, grid.bytes() * 2 / 3);
  testing::check_all_products(product);
  const std::vector<double> near_columns = testing::random_vector<double>(grid.nnz(), 9);
  const CudaProduct<double> full_values(grid.with_values(Array<double>::copy_of(near_columns)),
                                        options(3 * least_slice_bytes));
  testing::check_all_products(full_values);
  testing::check_all_products(CudaProduct<double>(grid.structure(), options(3 * least_slice_bytes)));
  testing::check_all_products(CudaProduct<float>(poisson2d<float>(100, 100), options(3 * least_slice_bytes)));
}

TEST_F(StreamedOnGpu, KeepsWithinItsLimit) {
  const auto matrix = generate<double>(parse_generator("fem3d:4000"));
  for (const double share : {0.2, 0.5, 0.9}) {
    SCOPED_TRACE(share);
    const auto memory = std::make_shared<testing::MeasuredMemory>();
    const Context context(gpu(), {.memory = memory});
    SpmvOptions wanted = options(static_cast<std::uint64_t>(share * static_cast<double>(matrix.bytes())));
    wanted.device = context;
    const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), wanted);
    EXPECT_LE(memory->peak, static_cast<std::int64_t>(wanted.memory_limit_bytes));
    EXPECT_EQ(static_cast<std::uint64_t>(memory->held.load()), plan.info().bytes);
    const std::int64_t before = memory->held;
    const auto x = Array<double>::copy_of(testing::random_vector<double>(plan.cols(), 3), context);
    Array<double> y(plan.rows(), Init::zero, context);
    const auto allocations = context.counts().allocations;
    plan.apply(x.span(), y.span());
    static_cast<void>(plan.apply_and_dot(x.span(), y.span(), x.span()));
    EXPECT_EQ(context.counts().allocations, allocations);
    EXPECT_EQ(memory->held - before, static_cast<std::int64_t>(x.bytes() + y.bytes()));
  }
}

TEST_F(StreamedOnGpu, AutoStreamsWhatDoesNotFit) {
  const auto matrix = generate<double>(parse_generator("fem3d:4000"));
  const auto plan_with = [&](std::uint64_t limit) {
    return SpmvPlan<double>(Csr<double>::copy_of(matrix.view()), options(limit, SpmvAlgorithm::automatic));
  };
  const SpmvPlan<double> half = plan_with(matrix.bytes() / 2);
  EXPECT_EQ(half.info().algorithm, SpmvAlgorithm::streamed);
  EXPECT_TRUE(half.matrix_device().is_host());
  EXPECT_FALSE(half.device().is_host());
  EXPECT_NE(half.info().reason.find("are allowed on cuda:0; "), std::string::npos) << half.info().reason;
  EXPECT_NE(half.info().reason.find(" GB cross the bus per product, which takes "), std::string::npos)
      << half.info().reason;
  EXPECT_NE(half.info().reason.find(" slices stay on the GPU"), std::string::npos) << half.info().reason;
  for (const std::uint64_t limit : {2 * matrix.bytes(), std::uint64_t{0}}) {
    EXPECT_NE(plan_with(limit).info().algorithm, SpmvAlgorithm::streamed) << limit;
  }
  // What lies on the GPU already stays there.
  const SpmvPlan<double> there(matrix.to(gpu()), options(1, SpmvAlgorithm::automatic));
  EXPECT_NE(there.info().algorithm, SpmvAlgorithm::streamed);
  EXPECT_TRUE(there.matrix_device() == gpu());
}

TEST_F(StreamedOnGpu, AMatrixOfTheGpuIsFetchedWhereTheKernelIsNamed) {
  const auto matrix = poisson2d<double>(40, 40);
  const SpmvPlan<double> plan(matrix.to(gpu()), options(0));
  EXPECT_TRUE(plan.matrix_device().is_host());
  const auto x = testing::random_vector<double>(1600, 3);
  const CudaProduct<double> expected(matrix, options(0));
  Array<double> y(1600, Init::none, gpu());
  plan.apply(Array<double>::copy_of(x, gpu()).span(), y.span());
  EXPECT_EQ(expected.apply(x), expected.download(std::as_const(y).span()));
}

TEST_F(StreamedOnGpu, ALimitThatIsTooSmallIsNamed) {
  const auto matrix = uneven<double>();
  const std::string message =
      testing::message_of<OutOfMemory>([&] { CudaProduct<double>(matrix, options(least_slice_bytes)); });
  EXPECT_NE(message.find("2 slices of "), std::string::npos) << message;
  EXPECT_NE(message.find("bytes of a streamed matrix on cuda:0"), std::string::npos) << message;
}

TEST_F(StreamedOnGpu, TakesNewValues) {
  for (const std::uint64_t limit : {std::uint64_t{0}, 5 * least_slice_bytes}) {
    const auto matrix = poisson2d<double>(80, 80);
    CudaProduct<double> product(matrix, options(limit));
    const std::uint64_t narrow = product.plan().info().stream->bytes_per_product;
    const std::vector<double> floats(static_cast<std::size_t>(matrix.nnz()), -3.0);
    product.update_values(floats, false);
    testing::check_all_products(product);
    const auto wide = testing::random_vector<double>(matrix.nnz(), 7);
    product.update_values(wide, false);
    testing::check_all_products(product);
    product.update_values(floats, false);
    testing::check_all_products(product);
    EXPECT_EQ(product.plan().info().stream->bytes_per_product, narrow);
  }
}

TEST_F(StreamedOnGpu, TakesNewValuesOfTheGpu) {
  const auto matrix = uneven<double>();
  CudaProduct<double> product(matrix, options(5 * least_slice_bytes));
  const auto values = testing::random_vector<double>(matrix.nnz(), 7);
  const auto there = Array<double>::copy_of(values, gpu());
  product.plan().update_values(std::as_const(there).span());
  const auto x = testing::random_vector<double>(matrix.cols(), 3);
  const std::vector<double> y = product.apply(x);
  product.update_values(values, false);
  EXPECT_EQ(y, product.apply(x));
  testing::check_all_products(product);
}

TEST_F(StreamedOnGpu, MultipliesByTheTranspose) {
  const auto matrix = uneven<double>();
  SpmvOptions wanted = options(16 * least_slice_bytes);
  wanted.with_transpose = true;
  SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), wanted);
  EXPECT_EQ(plan.info().transpose->algorithm, SpmvAlgorithm::streamed);
  const auto x = testing::random_vector<double>(matrix.rows(), 3);
  const auto check = [&](const CsrView<double>& a) {
    const Csr<double> transposed = transpose(a, Device{});
    const auto source = Array<double>::copy_of(x, gpu());
    Array<double> y(matrix.cols(), Init::none, gpu());
    plan.apply_transposed(source.span(), y.span());
    const Array<double> result = y.to(Device{});
    ASSERT_TRUE(near(testing::product_oracle(transposed.view(), constant(x)),
                     constant(std::vector<double>(result.begin(), result.end()))));
  };
  check(matrix.view());
  const auto values = testing::random_vector<double>(matrix.nnz(), 8);
  plan.update_values(values);
  CsrView<double> updated = matrix.view();
  updated.values = values;
  check(updated);
}

TEST_F(StreamedOnGpu, MultipliesSeveralColumns) {
  const auto matrix = uneven<double>();
  const CudaProduct<double> product(matrix, options(5 * least_slice_bytes));
  constexpr std::int64_t columns = 11;
  for (const MultiVectorLayout layout : {MultiVectorLayout::column_major, MultiVectorLayout::row_major}) {
    const auto x = testing::random_vector<double>(columns * matrix.cols(), 3);
    const auto y = testing::random_vector<double>(columns * matrix.rows(), 4);
    const auto x_there = Array<double>::copy_of(x, gpu());
    auto y_there = Array<double>::copy_of(y, gpu());
    const MultiVectorView<const double> X(x_there.span(), matrix.cols(), columns, layout);
    const MultiVectorView<double> Y(y_there.span(), matrix.rows(), columns, layout);
    product.plan().apply_many(2.0, X, -1.0, Y);
    const std::vector<double> result = product.download(std::as_const(y_there).span());
    const MultiVectorView<const double> x_here(x, matrix.cols(), columns, layout);
    const MultiVectorView<const double> y_here(y, matrix.rows(), columns, layout);
    const MultiVectorView<const double> result_here(result, matrix.rows(), columns, layout);
    for (std::int64_t j = 0; j < columns; ++j) {
      std::vector<double> x_j;
      std::vector<double> y_j;
      std::vector<double> result_j;
      for (std::int64_t i = 0; i < matrix.cols(); ++i) x_j.push_back(x_here(i, j));
      for (std::int64_t i = 0; i < matrix.rows(); ++i) {
        y_j.push_back(y_here(i, j));
        result_j.push_back(result_here(i, j));
      }
      ASSERT_EQ(result_j, product.apply(2.0, x_j, -1.0, y_j)) << "column " << j;
    }
  }
}

TEST_F(StreamedOnGpu, BreaksEvenAgainstTheHost) {
  const SpmvPlan<double> plan(poisson2d<double>(40, 40), options(3 * least_slice_bytes));
  const BreakEven even = plan.measure_break_even(3);
  EXPECT_GT(even.apply_ms, 0.0);
  EXPECT_GT(even.reference_ms, 0.0);
}

TEST_F(StreamedOnGpu, PreconditionersThatNeedTheMatrixThereRefuse) {
  const SpmvPlan<double> plan(poisson2d<double>(40, 40), options(3 * least_slice_bytes));
  const std::string message =
      testing::message_of<InvalidArgument>([&] { Amg<double>(plan.matrix(), {}, plan.device()); });
  EXPECT_NE(message.find("AMG works on a matrix in the memory of cuda:0, but this one lies on the host"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace tessera
