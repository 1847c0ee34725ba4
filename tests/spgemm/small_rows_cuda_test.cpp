// Products on a GPU whose rows are all summed in small hash tables: those of few rows, and those of which a sample says
// that many products meet in few entries.
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"
#include "spgemm/cuda/workflows/one_phase.hpp"
#include "spgemm/cuda/workflows/small_product.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/spgemm/accumulator_cuda_check.hpp"
#include "tests/spgemm/product_cuda_check.hpp"
#include "tests/support/make_csr.hpp"

#include <utility>

namespace tessera {
namespace {

class SmallRowsOnGpu : public testing::CudaTest {};

SpgemmOptions short_row_options(const Device& device) {
  auto options = testing::gpu_options(device, SpgemmWorkflow::automatic);
  options.short_rows = true;
  return options;
}

/// Interpolation from boxes of 3 x 3 points of a square grid, smoothed once.
Csr<double> interpolation(const Csr<double>& a, index_t side) {
  const index_t boxes = (side + 2) / 3;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < a.rows(); ++i) {
    columns.push_back(i / side / 3 * boxes + i % side / 3);
    offsets.push_back(i + 1);
  }
  const auto boxed =
      testing::make_csr<double>(a.rows(), boxes * boxes, offsets, columns, std::vector<double>(columns.size(), 0.75));
  return spgemm(a, boxed).matrix;
}

/// A 9-point A, its P, R = Pᵀ and A P.
struct Grid {
  Csr<double> a;
  Csr<double> p;
  Csr<double> r;
  Csr<double> a_p;

  explicit Grid(index_t side)
      : a(poisson2d<double>(side, side, Stencil2d::nine_point)),
        p(interpolation(a, side)),
        r(transpose(p.view())),
        a_p(spgemm(a, p).matrix) {}
};

/// Thresholds by which every product is worth a sample.
cuda::Tuning always() {
  cuda::Tuning tuning = testing::tuning_of_gpu();
  tuning.small_least_products = 0.0;
  tuning.small_mean_products = 0.0;
  tuning.small_compression = 2.0;
  return tuning;
}

template <class V>
Csr<double> matrix_of(cuda::CsrArrays<V> c, const Csr<double>& like) {
  return Csr<double>(like.rows(), like.cols(), std::move(c.offsets), std::move(c.columns), std::move(c.values),
                     Check::trusted)
      .to(Device{});
}

TEST_F(SmallRowsOnGpu, SampledProductsInBothWorkflows) {
  const Grid grid(testing::repetitions(90, 24));
  for (const auto& [left, right] : {std::pair{&grid.a, &grid.p}, std::pair{&grid.r, &grid.a_p}}) {
    const Csr<double> expected = spgemm(*left, *right).matrix;
    const Csr<double> a = left->to(gpu());
    const Csr<double> b = right->to(gpu());
    const auto options = short_row_options(gpu());
    cuda::DeviceJob<double> sampled(a.view(), b.view(), options, always());
    ASSERT_TRUE(sampled.small_rows.has_value());
    const double compression =
        static_cast<double>(testing::count_products(left->view(), right->view())) / static_cast<double>(expected.nnz());
    EXPECT_NEAR(sampled.small_rows->compression, compression, 0.15 * compression);
    sampled.report.workflow = SpgemmWorkflow::sampled;
    std::optional<cuda::CsrArrays<double>> c = cuda::one_phase(sampled);
    ASSERT_TRUE(c.has_value());
    testing::expect_identical(expected.view(), matrix_of(std::move(*c), expected).view());
    ASSERT_FALSE(sampled.report.accumulators.empty());
    EXPECT_EQ(sampled.report.accumulators.front().accumulator, SpgemmAccumulator::small_hash);
    EXPECT_EQ(sampled.report.accumulators.front().rows, expected.rows());

    cuda::DeviceJob<double> counted(a.view(), b.view(), options, always());
    counted.report.workflow = SpgemmWorkflow::symbolic;
    testing::expect_identical(expected.view(), matrix_of(cuda::two_phase(counted), expected).view());
  }
}

/// Rows that the sample does not foresee: too long for the table, or more of them than the buffer holds.
TEST_F(SmallRowsOnGpu, RowsBeyondTheSampledOnes) {
  const Grid grid(testing::repetitions(60, 20));
  const Csr<double> expected = spgemm(grid.r, grid.a_p).matrix;
  const Csr<double> a = grid.r.to(gpu());
  const Csr<double> b = grid.a_p.to(gpu());
  cuda::DeviceJob<double> job(a.view(), b.view(), short_row_options(gpu()), always());
  ASSERT_TRUE(job.small_rows.has_value());
  cuda::BinTotals total = job.bins.totals()[static_cast<std::size_t>(job.bins.used().front())];
  total.most_entries = 3;
  job.bins = cuda::BinnedRows(job.analysis, cuda::RowBin::small_28, total, job.rows);
  job.small_rows->compression *= 1.5;
  job.report.workflow = SpgemmWorkflow::sampled;
  std::optional<cuda::CsrArrays<double>> c = cuda::one_phase(job);
  ASSERT_TRUE(c.has_value());
  EXPECT_GT(job.report.overflow_rows, 0);
  testing::expect_identical(expected.view(), matrix_of(std::move(*c), expected).view());
}

TEST_F(SmallRowsOnGpu, NoSampleOfWhatDoesNotCompress) {
  const auto a = testing::with_row_lengths<double>(testing::lengths_of(60, 8), 4000, ValueStorage::weighted, 3);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(4000, 6), 4000, ValueStorage::weighted, 4);
  const Csr<double> left = a.to(gpu());
  const Csr<double> right = b.to(gpu());
  const auto options = short_row_options(gpu());
  EXPECT_FALSE((cuda::DeviceJob<double>(left.view(), right.view(), options, always()).small_rows.has_value()));
  auto named = options;
  named.accumulator = SpgemmAccumulator::esc;
  const Grid grid(12);
  const Csr<double> r = grid.r.to(gpu());
  const Csr<double> a_p = grid.a_p.to(gpu());
  EXPECT_TRUE((cuda::DeviceJob<double>(r.view(), a_p.view(), options, always()).small_rows.has_value()));
  EXPECT_FALSE((cuda::DeviceJob<double>(r.view(), a_p.view(), named, always()).small_rows.has_value()));
  // Few products.
  EXPECT_FALSE((cuda::DeviceJob<double>(r.view(), a_p.view(), options).small_rows.has_value()));
}

TEST_F(SmallRowsOnGpu, ProductsOfFewRowsWaitOnce) {
  const Grid grid(testing::repetitions(60, 20));
  const Csr<double> a = grid.r.to(gpu());
  const Csr<double> b = grid.a_p.to(gpu());
  auto options = short_row_options(gpu());
  options.asynchronous = true;
  static_cast<void>(spgemm(a, b, options));
  const cuda::Context& context = cuda::Context::of(gpu());
  const auto before = context.counts();
  const SpgemmResult<double> c = spgemm(a, b, options);
  EXPECT_EQ(context.counts().waits - before.waits, 1U);
  const SpgemmResult<double> expected = spgemm(grid.r, grid.a_p);
  testing::expect_identical(expected.matrix.view(), c.matrix.to(Device{}).view());
  EXPECT_EQ(c.report.products, expected.report.products);
  EXPECT_EQ(c.report.nnz, expected.report.nnz);
  EXPECT_EQ(c.report.expansion, expected.report.expansion);
  EXPECT_EQ(c.report.workflow, SpgemmWorkflow::symbolic);
  ASSERT_EQ(c.report.accumulators.size(), 1U);
  EXPECT_EQ(c.report.accumulators[0].accumulator, SpgemmAccumulator::small_hash);
  EXPECT_EQ(c.report.accumulators[0].rows, grid.r.rows());
  EXPECT_GE(c.report.peak_bytes, c.matrix.bytes());
}

/// Long rows are left to the other workflows, empty ones cost nothing.
TEST_F(SmallRowsOnGpu, RowsThatAreNotSmall) {
  const auto a = testing::with_row_lengths<double>({0, 3, 40, 0, 1}, 40, ValueStorage::weighted, 5);
  const auto b = testing::with_row_lengths<double>(testing::lengths_of(40, 30), 5000, ValueStorage::weighted, 6);
  SpgemmReport report;
  const auto options = short_row_options(gpu());
  const Csr<double> left = a.to(gpu());
  const Csr<double> right = b.to(gpu());
  EXPECT_FALSE((cuda::small_product<double>(left.view(), right.view(), options, report).has_value()));
  testing::expect_identical(spgemm(a, b).matrix.view(), spgemm(left, right, options).matrix.to(Device{}).view());
  const auto empty = testing::with_row_lengths<double>({0, 0, 0}, 40, ValueStorage::weighted, 5);
  const auto nothing = cuda::small_product<double>(empty.to(gpu()).view(), right.view(), options, report);
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(nothing->columns.size(), 0);
  const Array<offset_t> offsets = nothing->offsets.to(Device{});
  for (const offset_t offset : offsets) EXPECT_EQ(offset, 0);
  EXPECT_TRUE(report.accumulators.empty());
}

TEST_F(SmallRowsOnGpu, GalerkinProductReturnsAP) {
  const Grid grid(testing::repetitions(60, 20));
  GalerkinOptions options;
  options.first = short_row_options(gpu());
  options.second = testing::gpu_options(gpu(), SpgemmWorkflow::upper_bound, SpgemmAccumulator::small_hash);
  options.keep_a_p = true;
  const Csr<double> r = grid.r.to(gpu());
  const Csr<double> a = grid.a.to(gpu());
  const Csr<double> p = grid.p.to(gpu());
  const GalerkinResult<double> result = galerkin(r, a, p, options);
  testing::expect_identical(grid.a_p.view(), result.a_p_matrix.to(Device{}).view());
  testing::expect_identical(spgemm(grid.r, grid.a_p).matrix.view(), result.matrix.to(Device{}).view());
  EXPECT_EQ(result.second.workflow, SpgemmWorkflow::upper_bound);
  options.keep_a_p = false;
  EXPECT_EQ(galerkin(r, a, p, options).a_p_matrix.rows(), 0);
  options.second.device = Device{};
  EXPECT_THROW(static_cast<void>(galerkin(grid.r, grid.a, grid.p, options)), NotSupported);
}

/// Factors that share the planned structures are not compared, and nothing waits.
TEST_F(SmallRowsOnGpu, PlanTakesValuesOnSharedStructures) {
  const Grid grid(testing::repetitions(60, 20));
  const auto r = std::make_shared<const Csr<double>>(grid.r.to(gpu()));
  const auto a_p = std::make_shared<const Csr<double>>(grid.a_p.to(gpu()));
  auto options = short_row_options(gpu());
  options.asynchronous = true;
  SpgemmPlan<double> plan(r, a_p, options);
  const auto new_values = testing::random_vector<double>(r->nnz(), 11);
  const Csr<double> other = r->with_values(Array<double>::copy_of(new_values, gpu()));
  const Csr<double> expected = spgemm(grid.r.with_values(Array<double>::copy_of(new_values)), grid.a_p).matrix;
  Array<double> values(plan.structure().nnz(), Init::zero, gpu());
  const cuda::Context& context = cuda::Context::of(gpu());
  const auto before = context.counts();
  plan.multiply_into(other, *a_p, values.span());
  EXPECT_EQ(context.counts().waits, before.waits);
  EXPECT_EQ(context.counts().allocations, before.allocations);
  testing::expect_identical(expected.view(), plan.structure().with_values(std::move(values)).to(Device{}).view());
  EXPECT_TRUE(plan.multiply().shares_structure_with(plan.structure()));
}

}  // namespace
}  // namespace tessera
