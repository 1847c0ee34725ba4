// Sparse products, what they promise: errors, memory, special values, reports.
#include "tessera/spgemm.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"

namespace tessera {
namespace {

using testing::message_of;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Spgemm, RefusesSizesThatDoNotFit) {
  const auto a = testing::make_pattern<double>(2, 3, {0, 0, 0}, {});
  const auto b = testing::make_pattern<double>(4, 5, {0, 0, 0, 0, 0}, {});
  const std::string message = message_of<DimensionError>([&] { static_cast<void>(spgemm(a, b)); });
  EXPECT_TRUE(contains(message, "A is 2 x 3") && contains(message, "B is 4 x 5")) << message;
  EXPECT_THROW(static_cast<void>(spgemm_pattern(a, b)), DimensionError);
  EXPECT_THROW(SpgemmPlan<double>(Csr<double>::copy_of(a.view()), Csr<double>::copy_of(b.view())), DimensionError);
}

TEST(Spgemm, RefusesUnknownOptions) {
  const auto a = testing::make_pattern<double>(1, 1, {0, 1}, {0});
  SpgemmOptions options;
  options.registers = 48;
  EXPECT_TRUE(contains(message_of<InvalidArgument>([&] { static_cast<void>(spgemm(a, a, options)); }), "got 48"));
  options = {};
  options.workflow = static_cast<SpgemmWorkflow>(99);
  EXPECT_THROW(static_cast<void>(spgemm(a, a, options)), InvalidArgument);
  options = {};
  options.accumulator = static_cast<SpgemmAccumulator>(99);
  EXPECT_THROW(static_cast<void>(spgemm(a, a, options)), InvalidArgument);
}

TEST(Spgemm, NamesComeBack) {
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    EXPECT_EQ(parse_spgemm_workflow(to_string(workflow)), workflow);
    EXPECT_FALSE(describe(workflow).empty());
  }
  for (const auto accumulator : testing::with_automatic(spgemm_accumulators())) {
    EXPECT_EQ(parse_spgemm_accumulator(to_string(accumulator)), accumulator);
    EXPECT_FALSE(describe(accumulator).empty());
  }
  EXPECT_TRUE(contains(message_of<InvalidArgument>([] { static_cast<void>(parse_spgemm_workflow("exakt")); }),
                       "did you mean 'exact'"));
  EXPECT_THROW(static_cast<void>(parse_spgemm_accumulator("window")), InvalidArgument);
}

TEST(Spgemm, CancellationLeavesAnEntry) {
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, -1.0});
  const auto b = testing::make_csr<double>(2, 2, {0, 2, 3}, {0, 1, 1}, {3.0, 5.0, 5.0});
  for (const auto workflow : spgemm_workflows()) {
    for (const auto accumulator : spgemm_accumulators()) {
      const Csr<double> c = spgemm(a, b, testing::spgemm_options(workflow, accumulator)).matrix;
      ASSERT_EQ(c.nnz(), 2);
      EXPECT_EQ(c.values()[0], 3.0);
      EXPECT_EQ(c.values()[1], 0.0);
    }
  }
}

TEST(Spgemm, SignsOfZeroAreThoseOfTheSum) {
  const auto a = testing::make_csr<double>(1, 1, {0, 1}, {0}, {-1.0});
  const auto b = testing::make_csr<double>(1, 1, {0, 1}, {0}, {0.0});
  for (const auto accumulator : spgemm_accumulators()) {
    const auto options = testing::spgemm_options(SpgemmWorkflow::symbolic, accumulator);
    EXPECT_TRUE(std::signbit(spgemm(a, b, options).matrix.values()[0]));
  }
}

TEST(Spgemm, NonFiniteValuesSpreadAsInSums) {
  const double infinity = std::numeric_limits<double>::infinity();
  // B: row 0 {inf, 1, .}, row 1 {-inf, ., 4}, row 2 {., ., inf}.
  const auto b =
      testing::make_csr<double>(3, 3, {0, 2, 4, 5}, {0, 1, 0, 2, 2}, {infinity, 1.0, -infinity, 4.0, infinity});
  const auto a = testing::make_csr<double>(3, 3, {0, 2, 3, 4}, {0, 1, 2, 0}, {1.0, 1.0, 0.0, 2.0});
  for (const auto workflow : spgemm_workflows()) {
    for (const auto accumulator : spgemm_accumulators()) {
      const Csr<double> c = spgemm(a, b, testing::spgemm_options(workflow, accumulator)).matrix;
      ASSERT_EQ(c.nnz(), 6);
      EXPECT_TRUE(std::isnan(c.values()[0])) << "inf - inf";
      EXPECT_EQ(c.values()[1], 1.0);
      EXPECT_EQ(c.values()[2], 4.0);
      EXPECT_TRUE(std::isnan(c.values()[3])) << "0 inf";
      EXPECT_EQ(c.values()[4], infinity);
      EXPECT_EQ(c.values()[5], 2.0);
    }
  }
}

TEST(Spgemm, ThreadsAndRunsGiveTheSameBits) {
  for (const char* spec : {"rmat:4096", "fem3d:8000", "lap2d:20000", "rowskew:4000", "band:2000,width=60"}) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
      SCOPED_TRACE(to_string(workflow));
      const auto one = spgemm(a, a, testing::spgemm_options(workflow, SpgemmAccumulator::automatic, 1));
      for (const int threads : {2, 3, 2}) {
        const auto more = spgemm(a, a, testing::spgemm_options(workflow, SpgemmAccumulator::automatic, threads));
        testing::expect_identical(one.matrix.view(), more.matrix.view());
        ASSERT_FALSE(HasFailure()) << threads;
      }
    }
  }
}

TEST(Spgemm, ProductIsAssociativeWithAVector) {
  const auto a = generate<double>(parse_generator("web:20000"));
  const auto b = generate<double>(parse_generator("rmat:32768"));
  const auto lengths = std::vector<index_t>(20000, 7);
  const auto link = testing::with_row_lengths<double>(lengths, b.rows(), ValueStorage::weighted, 3);
  const Csr<double> c = spgemm(link, b).matrix;
  const std::vector<double> x = testing::random_vector<double>(b.cols(), 4);
  const auto multiply = [](const CsrView<double>& m, const std::vector<double>& v, bool magnitude) {
    std::vector<double> y(static_cast<std::size_t>(m.rows));
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
        const auto j = static_cast<std::size_t>(m.columns[static_cast<std::size_t>(k)]);
        y[i] += magnitude ? std::fabs(m.value(k) * v[j]) : m.value(k) * v[j];
      }
    }
    return y;
  };
  const auto left = multiply(c.view(), x, false);
  const auto right = multiply(link.view(), multiply(b.view(), x, false), false);
  const auto magnitude = multiply(link.view(), multiply(b.view(), x, true), true);
  for (std::size_t i = 0; i < left.size(); ++i) ASSERT_LE(std::fabs(left[i] - right[i]), 1e-12 * magnitude[i]);
  EXPECT_EQ(a.rows(), 20000);
}

/// The least limit with which the exact workflow runs, found by halving.
template <class Run>
std::uint64_t least_limit(Run&& run) {
  std::uint64_t low = 1;
  std::uint64_t high = std::uint64_t{1} << 32;
  while (low + 1 < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    try {
      run(middle);
      high = middle;
    } catch (const OutOfMemory&) {
      low = middle;
    }
  }
  return high;
}

TEST(SpgemmMemory, WorkflowsFallBackAndNeverFailWhereExactRuns) {
  const auto a = generate<double>(parse_generator("fem3d:8000"));
  const auto exact = spgemm(a, a, testing::spgemm_options(SpgemmWorkflow::symbolic, SpgemmAccumulator::automatic));
  const std::uint64_t least = least_limit([&](std::uint64_t limit) {
    auto options = testing::spgemm_options(SpgemmWorkflow::symbolic, SpgemmAccumulator::automatic);
    options.memory_limit_bytes = limit;
    static_cast<void>(spgemm(a, a, options));
  });
  EXPECT_LE(least, exact.report.peak_bytes);
  EXPECT_GE(least, exact.matrix.bytes());
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    for (const std::uint64_t limit : {least, least + least / 8, least + least / 2, 2 * least, 3 * least}) {
      auto options = testing::spgemm_options(workflow, SpgemmAccumulator::automatic);
      options.memory_limit_bytes = limit;
      SCOPED_TRACE(testing::name_of(options) + ", limit " + std::to_string(limit));
      const auto result = spgemm(a, a, options);
      testing::expect_identical(exact.matrix.view(), result.matrix.view());
      EXPECT_LE(result.report.peak_bytes, limit);
      if (limit == least && workflow != SpgemmWorkflow::symbolic && workflow != SpgemmWorkflow::automatic) {
        EXPECT_EQ(result.report.workflow, SpgemmWorkflow::symbolic);
        EXPECT_TRUE(contains(result.report.fallback, "exact instead")) << result.report.fallback;
      }
    }
  }
}

TEST(SpgemmMemory, RefusalNamesTheNeed) {
  const auto a = generate<double>(parse_generator("fem3d:8000"));
  const std::uint64_t need = spgemm(a, a).matrix.bytes();
  for (const auto workflow : testing::with_automatic(spgemm_workflows())) {
    auto options = testing::spgemm_options(workflow, SpgemmAccumulator::automatic);
    options.memory_limit_bytes = need - 1;
    try {
      static_cast<void>(spgemm(a, a, options));
      ADD_FAILURE() << "C alone is larger than the limit";
    } catch (const OutOfMemory& error) {
      EXPECT_GE(error.requested_bytes(), need);
      EXPECT_LE(error.requested_bytes(), 2 * need);
      EXPECT_EQ(error.available_bytes(), need - 1);
    }
    options.memory_limit_bytes = 1;
    EXPECT_THROW(static_cast<void>(spgemm(a, a, options)), OutOfMemory);
  }
}

TEST(SpgemmReport, AddsUp) {
  const auto a = generate<double>(parse_generator("rmat:4096"));
  for (const auto workflow : spgemm_workflows()) {
    const auto result = spgemm(a, a, testing::spgemm_options(workflow, SpgemmAccumulator::automatic));
    const SpgemmReport& report = result.report;
    offset_t products = 0;
    for (const auto& use : report.accumulators) products += use.products;
    EXPECT_EQ(products, workflow == SpgemmWorkflow::tiles ? 0 : report.products) << "tiles need no accumulator";
    EXPECT_EQ(report.flops(), 2 * report.products);
    EXPECT_EQ(report.nnz, result.matrix.nnz());
    EXPECT_EQ(report.workflow, workflow);
    EXPECT_EQ(report.threads, 2);
    EXPECT_EQ(report.determinism, Determinism::gpu_to_gpu);
    EXPECT_GE(report.peak_bytes, result.matrix.bytes());
    EXPECT_GE(report.total_ms, report.numeric_ms);
    EXPECT_FALSE(report.reason.empty());
  }
}

}  // namespace
}  // namespace tessera
