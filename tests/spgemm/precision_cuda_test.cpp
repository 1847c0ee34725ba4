// Products in less than working precision on a GPU: entry by entry with the bits of the host, by tensor instructions
// within written bounds; the same loss as on the host.
#include "tests/spgemm/precision_check.hpp"
#include "tests/spgemm/product_cuda_check.hpp"

#include "core/cuda/context.hpp"
#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"

namespace tessera {
namespace {

using testing::precision_options;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class PrecisionOnGpu : public testing::CudaTest {
 protected:
  static SpgemmOptions options_of(SpgemmPrecision precision, Determinism determinism = Determinism::not_guaranteed) {
    auto options = precision_options(precision, gpu());
    options.determinism = determinism;
    return options;
  }

  /// Positions and values of single precision by tensor instructions, which `working` takes by name.
  static SpgemmOptions tiles_options(Determinism determinism) {
    auto options = options_of(SpgemmPrecision::working, determinism);
    options.workflow = SpgemmWorkflow::tiles;
    return options;
  }

  static std::vector<const char*> specs() {
    if (testing::gpu_is_emulated || testing::sparing()) return {"band:120,width=20", "fem3d:216"};
    return {"band:3000,width=120", "fem3d:8000", "elasticity3d:14", "rmat:4096", "lap2d:3000"};
  }

  /// \param slack absolute, of errors of C
  static void expect_same_loss(const SpgemmLoss& expected, const SpgemmLoss& found, double tolerance, double slack) {
    EXPECT_EQ(found.values, expected.values);
    EXPECT_EQ(found.to_zero, expected.to_zero);
    EXPECT_EQ(found.to_subnormal, expected.to_subnormal);
    EXPECT_EQ(found.sampled_entries, expected.sampled_entries);
    EXPECT_EQ(found.sampled_rows, expected.sampled_rows);
    EXPECT_NEAR(found.largest_rounding, expected.largest_rounding, 1e-6 * expected.largest_rounding);
    EXPECT_NEAR(found.frobenius_error, expected.frobenius_error, tolerance * expected.frobenius_error + slack);
    EXPECT_NEAR(found.largest_error, expected.largest_error, tolerance * expected.largest_error + slack);
  }

  template <class T>
  static void check_half(const Csr<T>& a, const Csr<T>& b) {
    const auto expected = spgemm(a, b, precision_options(SpgemmPrecision::fp16_fp32));
    const auto ordered = spgemm(a, b, options_of(SpgemmPrecision::fp16_fp32, Determinism::gpu_to_gpu));
    testing::expect_identical(expected.matrix.view(), ordered.matrix.to(Device{}).view());
    EXPECT_EQ(ordered.report.determinism, Determinism::gpu_to_gpu);
    EXPECT_EQ(ordered.report.products, expected.report.products);
    expect_same_loss(*expected.report.loss, ordered.report.loss.value(), 1e-6, 1e-13);
    const auto any = spgemm(a, b, options_of(SpgemmPrecision::fp16_fp32));
    EXPECT_EQ(any.report.precision, SpgemmPrecision::fp16_fp32);
    EXPECT_EQ(any.report.workflow, SpgemmWorkflow::tiles);
    EXPECT_EQ(any.report.determinism, Determinism::run_to_run);
    const Csr<T> found = any.matrix.to(Device{});
    EXPECT_TRUE(testing::same_bytes(found.columns().span(), expected.matrix.columns().span()));
    EXPECT_TRUE(testing::same_bytes(found.row_offsets().span(), expected.matrix.row_offsets().span()));
    EXPECT_TRUE(testing::is_within(testing::rounded_to_half(a).view(), testing::rounded_to_half(b).view(), found.view(),
                                   testing::half_bound));
    // Rounding of the values is nearly all of the loss; sums in single precision lose the rest.
    expect_same_loss(*expected.report.loss, any.report.loss.value(), 0.05, 2e-6);
    const auto again = spgemm(a, b, options_of(SpgemmPrecision::fp16_fp32, Determinism::run_to_run));
    testing::expect_identical(found.view(), again.matrix.to(Device{}).view());
  }

  static void check_single(const Csr<float>& a, const Csr<float>& b) {
    const auto split = spgemm(a, b, options_of(SpgemmPrecision::tf32x3));
    EXPECT_TRUE(contains(split.report.reason, "TF32")) << split.report.reason;
    EXPECT_EQ(split.report.determinism, Determinism::run_to_run);
    EXPECT_TRUE(testing::is_within(a.view(), b.view(), split.matrix.to(Device{}).view(), testing::tf32_bound));
    EXPECT_LE(split.report.loss.value().largest_rounding, 0x1p-23);
    EXPECT_LE(split.report.loss->frobenius_error, 1e-5);
    const auto again = spgemm(a, b, options_of(SpgemmPrecision::tf32x3));
    testing::expect_identical(split.matrix.to(Device{}).view(), again.matrix.to(Device{}).view());
    const auto ordered = spgemm(a, b, options_of(SpgemmPrecision::tf32x3, Determinism::gpu_to_gpu));
    testing::expect_identical(spgemm(a, b).matrix.view(), ordered.matrix.to(Device{}).view());
  }

  static bool has_fast_fp64() { return cuda::has_fast_fp64_tensor(cuda::Context::of(gpu()).limits()); }

  /// Single precision by instructions in double, where they are fast.
  static void check_working(const Csr<float>& a, const Csr<float>& b) {
    const auto result = spgemm(a, b, tiles_options(Determinism::not_guaranteed));
    const Csr<float> found = result.matrix.to(Device{});
    EXPECT_FALSE(result.report.loss.has_value());
    if (!has_fast_fp64()) {
      EXPECT_EQ(result.report.determinism, Determinism::gpu_to_gpu) << result.report.reason;
      testing::expect_identical(spgemm(a, b).matrix.view(), found.view());
      return;
    }
    EXPECT_TRUE(contains(result.report.reason, "double precision on numbers in single")) << result.report.reason;
    EXPECT_TRUE(testing::is_within(a.view(), b.view(), found.view(), testing::double_bound));
    const auto ordered = spgemm(a, b, tiles_options(Determinism::gpu_to_gpu));
    testing::expect_identical(spgemm(a, b).matrix.view(), ordered.matrix.to(Device{}).view());
  }

  template <class T>
  static Csr<T> random_matrix(index_t rows, index_t cols, index_t length, std::uint64_t seed) {
    return testing::with_row_lengths<T>(std::vector<index_t>(static_cast<std::size_t>(rows), length), cols,
                                        ValueStorage::weighted, seed);
  }
};

TEST_F(PrecisionOnGpu, HalfOfGeneratedFamilies) {
  for (const char* spec : specs()) {
    SCOPED_TRACE(spec);
    const auto a = generate<double>(parse_generator(spec));
    check_half(a, a);
    check_half(a, transpose(a.view()));
    const auto single = generate<float>(parse_generator(spec));
    check_half(single, single);
    if (HasFailure()) return;
  }
}

TEST_F(PrecisionOnGpu, SingleOfGeneratedFamilies) {
  for (const char* spec : specs()) {
    SCOPED_TRACE(spec);
    const auto a = generate<float>(parse_generator(spec));
    const auto mixed = testing::with_exponents(a, -20, 20, 7);
    for (const auto* matrix : {&a, &mixed}) {
      check_single(*matrix, *matrix);
      check_single(*matrix, transpose(matrix->view()));
      check_working(*matrix, *matrix);
      check_working(*matrix, transpose(matrix->view()));
    }
    if (HasFailure()) return;
  }
}

TEST_F(PrecisionOnGpu, SizesBesideMultiplesOfEight) {
  for (const auto& [m, k, n] : {std::tuple{1, 1, 1}, {7, 15, 9}, {17, 40, 23}, {9, 1, 16}, {3, 70, 8}}) {
    SCOPED_TRACE(m);
    const auto a = random_matrix<double>(m, k, (k + 1) / 2, 1);
    const auto b = random_matrix<double>(k, n, (n + 2) / 3, 2);
    check_half(a, b);
    const auto left = random_matrix<float>(m, k, (k + 1) / 2, 3);
    const auto right = random_matrix<float>(k, n, (n + 2) / 3, 4);
    check_half(left, right);
    check_single(left, right);
    check_working(left, right);
  }
}

/// From 0 to 9 pairs per tile of C: all numbers of pairs that the loops leave over.
TEST_F(PrecisionOnGpu, AllNumbersOfPairs) {
  for (index_t tiles = 1; tiles <= 9; ++tiles) {
    SCOPED_TRACE(tiles);
    const auto a = random_matrix<float>(8, 8 * tiles, 8 * tiles, 5);
    const auto b = random_matrix<float>(8 * tiles, 8, 8, 6);
    check_half(a, b);
    check_single(a, b);
    check_working(a, b);
  }
}

TEST_F(PrecisionOnGpu, EmptyFactors) {
  const auto empty = [](index_t rows, index_t cols) {
    return testing::make_pattern<float>(rows, cols, std::vector<offset_t>(static_cast<std::size_t>(rows) + 1, 0), {});
  };
  for (const auto& [m, k, n] : {std::tuple{0, 0, 0}, {0, 5, 3}, {5, 0, 3}, {9, 9, 0}, {20, 30, 40}}) {
    SCOPED_TRACE(m);
    check_half(empty(m, k), empty(k, n));
    check_single(empty(m, k), empty(k, n));
    check_working(empty(m, k), empty(k, n));
  }
}

TEST_F(PrecisionOnGpu, PatternsAreExact) {
  const auto pattern = testing::with_row_lengths<float>(std::vector<index_t>(40, 9), 40, ValueStorage::pattern, 3);
  const auto weighted = random_matrix<float>(40, 40, 9, 4);
  for (const auto& [a, b] : {std::pair{&pattern, &pattern}, {&pattern, &weighted}, {&weighted, &pattern}}) {
    check_half(*a, *b);
    check_single(*a, *b);
    check_working(*a, *b);
  }
  EXPECT_EQ(spgemm(pattern, pattern, options_of(SpgemmPrecision::fp16_fp32)).report.loss->largest_error, 0.0);
}

/// Values that round to subnormal numbers, to 0, and just below overflow.
TEST_F(PrecisionOnGpu, WholeRangeOfHalfPrecision) {
  const auto a = testing::with_exponents(random_matrix<double>(60, 60, 12, 8), -30, 15, 9);
  check_half(a, a);
  EXPECT_GT(spgemm(a, a, options_of(SpgemmPrecision::fp16_fp32)).report.loss->to_zero, 0);
}

TEST_F(PrecisionOnGpu, OverflowIsRefusedAsOnTheHost) {
  const auto good = testing::make_csr<double>(20, 20, std::vector<offset_t>(21, 0), {}, {});
  std::vector<offset_t> offsets(21, 3);
  offsets[0] = 0;
  for (std::size_t i = 1; i <= 11; ++i) offsets[i] = 1;
  const auto bad = testing::make_csr<double>(20, 20, offsets, {19, 2, 17}, {1.0, -65520.0, 1e10});
  for (const bool left : {true, false}) {
    std::string texts[2];
    for (const bool on_gpu : {false, true}) {
      const auto options = precision_options(SpgemmPrecision::fp16_fp32, on_gpu ? gpu() : Device::host(2));
      try {
        static_cast<void>(left ? spgemm(bad, good, options) : spgemm(good, bad, options));
        ADD_FAILURE() << "not refused";
      } catch (const InvalidMatrix& error) {
        texts[on_gpu ? 1 : 0] = error.what();
      }
    }
    EXPECT_EQ(texts[0], texts[1]);
    EXPECT_TRUE(contains(texts[1], "entry (12, 3) of ")) << texts[1];
  }
}

/// The same bits, but for signs and payloads of NaN, which are the hardware's.
template <class T>
void expect_identical_but_nan(const Csr<T>& a, const Csr<T>& b) {
  const auto with_one_nan = [](const Csr<T>& matrix) {
    Array<T> values = Array<T>::copy_of(matrix.values().span());
    for (T& value : values.span()) value = std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
    return matrix.template with_values<T>(std::move(values));
  };
  testing::expect_identical(with_one_nan(a).view(), with_one_nan(b).view());
}

/// Padding is 0, and 0 times infinity is none: such products are summed entry by entry.
TEST_F(PrecisionOnGpu, ValuesThatAreNotFiniteSpreadAsOnTheHost) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    SCOPED_TRACE(bad);
    const auto whole = random_matrix<float>(40, 40, 6, 2);
    Array<float> values = Array<float>::copy_of(whole.values().span());
    values[70] = bad;
    const auto a = Csr<float>::copy_of(whole.view()).with_values<float>(std::move(values));
    for (const SpgemmPrecision precision : {SpgemmPrecision::fp16_fp32, SpgemmPrecision::tf32x3}) {
      const auto result = spgemm(a, whole, options_of(precision));
      EXPECT_TRUE(contains(result.report.reason, "not finite")) << result.report.reason;
      EXPECT_EQ(result.report.determinism, Determinism::gpu_to_gpu);
      expect_identical_but_nan(spgemm(a, whole, precision_options(precision)).matrix, result.matrix.to(Device{}));
    }
    const auto working = spgemm(whole, a, tiles_options(Determinism::not_guaranteed));
    expect_identical_but_nan(spgemm(whole, a).matrix, working.matrix.to(Device{}));
  }
}

/// Two TF32 numbers do not stand for values whose small part is lost, or whose products overflow.
TEST_F(PrecisionOnGpu, ValuesBeyondTf32AreMultipliedEntryByEntry) {
  for (const float edge : {0x1p-51F, 0x1.8p62F, std::numeric_limits<float>::denorm_min()}) {
    SCOPED_TRACE(edge);
    const auto whole = random_matrix<float>(30, 30, 6, 2);
    Array<float> values = Array<float>::copy_of(whole.values().span());
    values[50] = edge;
    const auto a = Csr<float>::copy_of(whole.view()).with_values<float>(std::move(values));
    const auto result = spgemm(a, whole, options_of(SpgemmPrecision::tf32x3));
    EXPECT_TRUE(contains(result.report.reason, "outside 2^-50 ... 2^62")) << result.report.reason;
    EXPECT_EQ(result.report.determinism, Determinism::gpu_to_gpu);
    testing::expect_identical(spgemm(a, whole).matrix.view(), result.matrix.to(Device{}).view());
    check_working(a, whole);
  }
}

/// One bad tile row, which tiles do not serve.
TEST_F(PrecisionOnGpu, RefusesWhatTilesCannotForm) {
  const index_t wide = 2'000'000;
  const auto b = testing::make_csr<double>(2, wide, {0, 2, 3}, {0, wide - 1, 5}, {1.0, 2.0, 3.0});
  const auto a = testing::make_csr<double>(1, 2, {0, 2}, {0, 1}, {1.0, 2.0});
  for (const SpgemmWorkflow workflow : {SpgemmWorkflow::automatic, SpgemmWorkflow::tiles}) {
    auto options = options_of(SpgemmPrecision::fp16_fp32);
    options.workflow = workflow;
    try {
      static_cast<void>(spgemm(a, b, options));
      ADD_FAILURE() << "not refused";
    } catch (const NotSupported& error) {
      EXPECT_TRUE(contains(error.what(), "more than 262144 columns")) << error.what();
      EXPECT_TRUE(contains(error.what(), "working precision forms this product")) << error.what();
    }
  }
  auto options = options_of(SpgemmPrecision::fp16_fp32);
  options.memory_limit_bytes = 1000;
  EXPECT_THROW(static_cast<void>(spgemm(a, transpose(a.view()), options)), OutOfMemory);
  options.short_rows = true;
  options.memory_limit_bytes = 0;
  const auto few = random_matrix<double>(16, 16, 4, 3);
  EXPECT_EQ(spgemm(few, few, options).report.workflow, SpgemmWorkflow::tiles) << "small products as well";
}

TEST_F(PrecisionOnGpu, KeepsToTheMemoryItReports) {
  const auto a = random_matrix<double>(100, 100, 12, 4);
  auto options = options_of(SpgemmPrecision::fp16_fp32);
  const auto whole = spgemm(a, a, options);
  options.memory_limit_bytes = whole.report.peak_bytes;
  testing::expect_identical(whole.matrix.to(Device{}).view(), spgemm(a, a, options).matrix.to(Device{}).view());
  options.memory_limit_bytes = whole.report.peak_bytes - 1;
  EXPECT_THROW(static_cast<void>(spgemm(a, a, options)), OutOfMemory);
}

TEST_F(PrecisionOnGpu, PositionsIgnoreIt) {
  const auto a = random_matrix<double>(30, 30, 6, 4);
  const auto result = spgemm_pattern(a, a, options_of(SpgemmPrecision::fp16_fp32));
  EXPECT_TRUE(result.matrix.is_pattern());
  EXPECT_FALSE(result.report.loss.has_value());
}

}  // namespace
}  // namespace tessera
