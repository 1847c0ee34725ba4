// MERBIT on a GPU: every layout, value type and commit against the oracle.
#include "tests/spmv/merbit_cuda_support.hpp"

#include <algorithm>
#include <random>

namespace tessera {

using namespace detail;
namespace {

using testing::dual_products_match;
using testing::MerbitCudaCase;
using testing::MerbitOnGpu;
using testing::products_match;

class MerbitCuda : public testing::CudaTest {};

constexpr Determinism both_commits[] = {Determinism::not_guaranteed, Determinism::run_to_run};

/// Steps between and inside tiles of the layouts.
template <class T>
std::vector<index_t> path_units() {
  constexpr index_t vector = lanes_per_tile * cuda::MerbitCudaPolicy<T, T>::Vector::sigma;
  constexpr index_t scalar = lanes_per_tile * cuda::MerbitCudaPolicy<T, T>::Scalar::sigma;
  return {vector - cuda::short_snap, vector, scalar - cuda::short_snap, 224};
}

bool is_for_patterns(const std::optional<cuda::MerbitLayout>& layout) {
  using enum cuda::MerbitLayout;
  return layout == rows || layout == columns || layout == local_columns;
}

template <class T>
void check_everything(const Csr<T>& matrix, const MerbitCudaCase& forced, bool fp32_values, std::uint64_t seed) {
  if (!matrix.is_pattern() && is_for_patterns(forced.layout)) return;
  for (const Determinism determinism : both_commits) {
    const MerbitOnGpu<T> a(Csr<T>::copy_of(matrix.view()), forced, determinism, fp32_values);
    if (a.view().rows == 0) continue;
    ASSERT_TRUE(products_match(a, seed)) << forced.name << ", " << to_string(determinism);
    if (a.kernel().output_mode() == DualBuffer<T>::Mode::dual) {
      ASSERT_TRUE(dual_products_match(a, seed)) << forced.name;
    }
  }
}

template <class T>
void check_adversarial(ValueStorage storage, bool fp32_values) {
  const std::vector<MerbitCudaCase> cases = testing::merbit_cuda_cases();
  std::size_t number = 0;
  for (const auto& [name, matrix] : testing::adversarial_matrices<T>(storage, path_units<T>())) {
    ++number;
    for (std::size_t c = 0; c < cases.size(); ++c) {
      if (testing::is_spared(number, c, cases.size())) continue;
      check_everything(matrix, cases[c], fp32_values, 17);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << name;
    }
  }
}

TEST_F(MerbitCuda, AdversarialMatricesFloat) { check_adversarial<float>(ValueStorage::weighted, false); }
TEST_F(MerbitCuda, AdversarialMatricesFloatPattern) { check_adversarial<float>(ValueStorage::pattern, false); }
TEST_F(MerbitCuda, AdversarialMatricesDouble) { check_adversarial<double>(ValueStorage::weighted, false); }
TEST_F(MerbitCuda, AdversarialMatricesDoublePattern) { check_adversarial<double>(ValueStorage::pattern, false); }
TEST_F(MerbitCuda, AdversarialMatricesRoundedValues) { check_adversarial<double>(ValueStorage::weighted, true); }

/// Rows of a mixture of kinds, so that tiles of all kinds occur next to each other.
std::vector<index_t> mixed_lengths(std::mt19937_64& generator) {
  std::vector<index_t> lengths;
  const std::size_t stretches = 1 + generator() % 8;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t rows = generator() % 300;
    const index_t longest = std::array<index_t, 7>{0, 1, 5, 30, 70, 400, 3000}[generator() % 7];
    for (std::size_t i = 0; i < (longest > 300 ? rows % 20 : rows); ++i) {
      const bool fixed = s % 2 == 0;
      lengths.push_back(fixed ? longest
                              : static_cast<index_t>(generator() % (static_cast<std::uint64_t>(longest) + 1)));
    }
  }
  if (lengths.empty()) lengths.push_back(0);
  return lengths;
}

template <class T>
void fuzz(std::uint64_t first_seed, int shapes) {
  const std::vector<MerbitCudaCase> cases = testing::merbit_cuda_cases();
  for (int shape = 0; shape < shapes; ++shape) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(shape);
    std::mt19937_64 generator(seed);
    const std::vector<index_t> lengths = mixed_lengths(generator);
    const index_t longest = *std::max_element(lengths.begin(), lengths.end());
    const auto cols = longest + 1 + static_cast<index_t>(generator() % 5000);
    const auto storage = generator() % 4 == 0 ? ValueStorage::pattern : ValueStorage::weighted;
    const bool fp32_values = sizeof(T) == 8 && storage == ValueStorage::weighted && generator() % 3 == 0;
    const auto matrix = testing::with_row_lengths<T>(lengths, cols, storage, seed);
    check_everything(matrix, cases[static_cast<std::size_t>(shape) % cases.size()], fp32_values, seed);
    check_everything(matrix, cases[1 + seed % 5], fp32_values, seed);
    ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

TEST_F(MerbitCuda, RandomShapesFloat) { fuzz<float>(1000, testing::repetitions(120, 18)); }
TEST_F(MerbitCuda, RandomShapesDouble) { fuzz<double>(2000, testing::repetitions(120, 18)); }

void expect_row_tiles(const Csr<double>& matrix, const MerbitCudaCase& rows) {
  const MerbitOnGpu<double> a(Csr<double>::copy_of(matrix.view()), rows, Determinism::run_to_run);
  PlanInfo info;
  a.kernel().describe(info);
  EXPECT_EQ(info.sigma, 0);
  EXPECT_EQ(info.descriptor_bits, 0);
}

/// Rows of like length: the layout of choice for patterns, and the others beside it.
TEST_F(MerbitCuda, EvenRowsOfPatterns) {
  const std::vector<MerbitCudaCase> cases = testing::merbit_cuda_cases();
  const auto rows = static_cast<std::size_t>(testing::repetitions(1500, 150));
  for (const index_t length : {12, 20, 27, 31, 60, 200, 255, 256}) {
    const auto matrix =
        testing::with_row_lengths<double>(testing::lengths_of(rows, length), 3000, ValueStorage::pattern);
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const bool is_rows = cases[c].layout == cuda::MerbitLayout::rows;
      if (!is_rows && testing::is_spared(static_cast<std::size_t>(length), c, cases.size())) continue;
      if (is_rows) expect_row_tiles(matrix, cases[c]);
      check_everything(matrix, cases[c], false, static_cast<std::uint64_t>(length));
      ASSERT_FALSE(HasFatalFailure()) << length;
    }
  }
}

/// More tiles than persistent warps take in a few rounds, also with inner products.
template <class T>
void check_rounds() {
  const std::vector<std::pair<cuda::MerbitLayout, index_t>> cases = {
      {cuda::MerbitLayout::rows, 27}, {cuda::MerbitLayout::vector, 5}, {cuda::MerbitLayout::local_columns, 5}};
  for (const auto& [layout, length] : cases) {
    if (layout == cuda::MerbitLayout::rows && !testing::has_row_layout()) continue;
    const int rows = length > 20 ? testing::repetitions(200000, 4000) : testing::repetitions(1500000, 6000);
    const auto lengths = testing::lengths_of(static_cast<std::size_t>(rows), length);
    const auto matrix = testing::with_row_lengths<T>(lengths, rows, ValueStorage::pattern);
    const MerbitOnGpu<T> a(Csr<T>::copy_of(matrix.view()), {"persistent", layout}, Determinism::run_to_run);
    ASSERT_TRUE(products_match(a, 7)) << length;
  }
}

TEST_F(MerbitCuda, PersistentWarpsGoRoundSeveralTimes) {
  check_rounds<float>();
  check_rounds<double>();
}

TEST_F(MerbitCuda, SomeLayoutsAreForPatternsOnly) {
  using enum cuda::MerbitLayout;
  const auto matrix = testing::with_row_lengths<float>(testing::lengths_of(500, 27), 900, ValueStorage::weighted, 5);
  for (const cuda::MerbitLayout layout : {rows, columns, local_columns}) {
    EXPECT_THROW((MerbitOnGpu<float>(Csr<float>::copy_of(matrix.view()), {"forced", layout}, Determinism::run_to_run)),
                 NotSupported);
  }
}

/// Tiles of many rows and few nonzeros: their row sums do not fit where the columns were staged.
template <class T>
void check_tiles_of_empty_rows() {
  using enum cuda::MerbitLayout;
  std::vector<index_t> lengths(2500, 0);
  for (std::size_t i = 0; i < lengths.size(); i += 7) lengths[i] = static_cast<index_t>(i % 4);
  lengths[1200] = 90;
  const auto matrix = testing::with_row_lengths<T>(lengths, 800, ValueStorage::pattern, 11);
  for (const cuda::MerbitLayout layout : {columns, local_columns}) {
    check_everything(matrix, {"forced", layout}, false, 21);
  }
}

TEST_F(MerbitCuda, TilesOfEmptyRows) {
  check_tiles_of_empty_rows<float>();
  check_tiles_of_empty_rows<double>();
}

TEST_F(MerbitCuda, TheRowLayoutIsRefusedWithoutBulkCopies) {
  if (testing::has_row_layout()) GTEST_SKIP() << "this GPU has them";
  const auto matrix = testing::with_row_lengths<float>(testing::lengths_of(500, 27), 900, ValueStorage::pattern, 5);
  EXPECT_THROW((MerbitOnGpu<float>(Csr<float>::copy_of(matrix.view()), {"rows", cuda::MerbitLayout::rows},
                                   Determinism::run_to_run)),
               NotSupported);
}

TEST_F(MerbitCuda, RowTilesThatWouldHaveToBeWalkedGiveWay) {
  if (!testing::has_row_layout()) GTEST_SKIP() << "needs compute capability 9.0";
  std::vector<index_t> lengths = testing::lengths_of(3000, 12);
  lengths[1500] = 2000;
  for (index_t i = 1501; i < 1600; ++i) lengths[static_cast<std::size_t>(i)] = 0;
  const auto matrix = testing::with_row_lengths<float>(lengths, 3000, ValueStorage::pattern);
  const MerbitOnGpu<float> a(Csr<float>::copy_of(matrix.view()), {"rows", cuda::MerbitLayout::rows},
                             Determinism::run_to_run);
  PlanInfo info;
  a.kernel().describe(info);
  EXPECT_GT(info.sigma, 0);
  EXPECT_TRUE(products_match(a, 3));
}

/// Many tiles that add to one element of y would wait for each other.
TEST_F(MerbitCuda, CrowdedRowsAreJoinedByCarries) {
  if (testing::gpu_is_emulated) GTEST_SKIP() << "takes minutes on an emulated GPU";
  const auto matrix = testing::with_row_lengths<double>({4000000, 3}, 5000000, ValueStorage::pattern);
  const MerbitOnGpu<double> a(Csr<double>::copy_of(matrix.view()), {"chosen", {}}, Determinism::not_guaranteed);
  EXPECT_EQ(a.kernel().output_mode(), DualBuffer<double>::Mode::single);
  EXPECT_TRUE(products_match(a, 3));
}

/// Hubs over thousands of tiles of the smallest sigma, and short rows around them.
std::vector<index_t> hub_lengths() {
  std::vector<index_t> lengths = testing::power_law_lengths(3000, 900, 3);
  lengths[700] = testing::repetitions(400000, 100000);
  lengths[701] = 0;
  lengths[702] = 30000;
  return lengths;
}

TEST_F(MerbitCuda, HubRowsOverThousandsOfTiles) {
  const auto matrix = testing::with_row_lengths<double>(hub_lengths(), 500000, ValueStorage::weighted, 5);
  for (const MerbitCudaCase& forced : testing::merbit_cuda_cases()) {
    check_everything(matrix, forced, false, 3);
    ASSERT_FALSE(HasFatalFailure());
    if (is_for_patterns(forced.layout)) continue;
    const MerbitOnGpu<double> a(Csr<double>::copy_of(matrix.view()), forced, Determinism::not_guaranteed);
    EXPECT_EQ(a.kernel().output_mode(), DualBuffer<double>::Mode::dual) << forced.name;
  }
}

TEST_F(MerbitCuda, RunToRunResultsAreBitwiseEqual) {
  const auto hubs = testing::with_row_lengths<float>(hub_lengths(), 500000, ValueStorage::weighted, 7);
  const auto links = testing::with_row_lengths<float>(hub_lengths(), 500000, ValueStorage::pattern, 7);
  const auto even = testing::with_row_lengths<float>(testing::lengths_of(3000, 27), 500000, ValueStorage::pattern, 7);
  for (const MerbitCudaCase& forced : testing::merbit_cuda_cases()) {
    const bool is_rows = forced.layout == cuda::MerbitLayout::rows;
    const Csr<float>& matrix = is_rows ? even : is_for_patterns(forced.layout) ? links : hubs;
    const MerbitOnGpu<float> a(Csr<float>::copy_of(matrix.view()), forced, Determinism::run_to_run);
    ASSERT_EQ(a.kernel().output_mode(), DualBuffer<float>::Mode::single);
    const auto x = testing::random_vector<float>(a.view().cols, 1);
    const auto w = testing::random_vector<float>(a.view().rows, 2);
    const auto [first, first_dots] = a.apply_and_dot(x, w);
    const auto plain = a.apply(1.0F, x, 0.0F, w);
    for (int run = 0; run < testing::repetitions(20, 2); ++run) {
      const auto [again, dots] = a.apply_and_dot(x, w);
      ASSERT_EQ(again, first) << forced.name << ", run " << run;
      ASSERT_EQ(dots.wy, first_dots.wy) << forced.name << ", run " << run;
      ASSERT_EQ(dots.yy, first_dots.yy) << forced.name << ", run " << run;
      ASSERT_EQ(a.apply(1.0F, x, 0.0F, w), plain) << forced.name << ", run " << run;
    }
  }
}

/// More tiles than the blocks of the join take in one go, and runs of carries too long for one of its threads: the
/// block goes round its loop several times. An emulated GPU would take minutes.
TEST_F(MerbitCuda, JoinsThatTakeSeveralRounds) {
  if (testing::gpu_is_emulated) GTEST_SKIP() << "takes minutes on an emulated GPU";
  const auto matrix = testing::with_row_lengths<double>(testing::lengths_of(15000, 1200), 2000, ValueStorage::pattern);
  const MerbitOnGpu<double> a(Csr<double>::copy_of(matrix.view()), {"exact, sigma 1", {}, 1}, Determinism::run_to_run);
  const auto x = testing::random_vector<double>(a.view().cols, 1);
  const auto w = testing::random_vector<double>(a.view().rows, 2);
  const auto expected = testing::product_oracle(a.view(), testing::constant(x));
  const auto [first, first_dots] = a.apply_and_dot(x, w);
  ASSERT_TRUE(testing::near(expected, testing::constant(first)));
  for (int run = 0; run < 20; ++run) {
    const auto [again, dots] = a.apply_and_dot(x, w);
    ASSERT_EQ(again, first) << "run " << run;
    ASSERT_EQ(dots.wy, first_dots.wy) << "run " << run;
    ASSERT_EQ(a.apply(1.0, x, 0.0, w), first) << "run " << run;
  }
}

TEST_F(MerbitCuda, NewValuesReachTheRoundedCopy) {
  const auto matrix = testing::with_row_lengths<double>(testing::lengths_of(500, 6), 900, ValueStorage::weighted, 5);
  MerbitOnGpu<double> a(Csr<double>::copy_of(matrix.view()), {"chosen", {}}, Determinism::run_to_run, true);
  const auto x = testing::random_vector<double>(900, 2);
  const std::vector<double> y(500);
  const std::vector<double> before = a.apply(1.0, x, 0.0, y);
  std::vector<double> values(matrix.values().begin(), matrix.values().end());
  for (double& value : values) value *= 2.0;
  const auto updated = Array<double>::copy_of(values, a.gpu());
  a.kernel().update_values(updated.span());
  const std::vector<double> after = a.apply(1.0, x, 0.0, y);
  for (std::size_t i = 0; i < after.size(); ++i) ASSERT_EQ(after[i], 2.0 * before[i]);
}

TEST_F(MerbitCuda, RowsWithoutSharingNeedOneVectorOnly) {
  const auto matrix = testing::with_row_lengths<double>(testing::lengths_of(5000, 5), 900, ValueStorage::weighted, 5);
  const MerbitOnGpu<double> a(Csr<double>::copy_of(matrix.view()), {"chosen", {}}, Determinism::not_guaranteed);
  EXPECT_EQ(a.kernel().output_mode(), DualBuffer<double>::Mode::single);
  PlanInfo info;
  a.kernel().describe(info);
  EXPECT_EQ(info.determinism, Determinism::run_to_run);
}

TEST_F(MerbitCuda, SigmaAndDescriptorsAskedForAreUsed) {
  const auto matrix = testing::with_row_lengths<float>(testing::lengths_of(5000, 5), 900, ValueStorage::weighted, 5);
  for (const auto& [sigma, bits, expected_bits] :
       {std::array{9, 0, 32}, std::array{9, 64, 64}, std::array{30, 0, 64}}) {
    const MerbitOnGpu<float> a(Csr<float>::copy_of(matrix.view()), {"exact", {}, sigma, bits}, Determinism::run_to_run);
    PlanInfo info;
    a.kernel().describe(info);
    EXPECT_EQ(info.sigma, sigma);
    EXPECT_EQ(info.descriptor_bits, expected_bits);
    EXPECT_EQ(info.tiles, (5000 * 6 + 32 * sigma - 1) / (32 * sigma));
  }
  EXPECT_THROW((MerbitOnGpu<float>(Csr<float>::copy_of(matrix.view()), {"exact", {}, 23, 32}, Determinism::run_to_run)),
               NotSupported);
}

TEST_F(MerbitCuda, PlansAlternateBetweenTwoBuffers) {
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::merbit;
  options.device = gpu();
  options.sigma = 7;
  const auto matrix = testing::with_row_lengths<double>(hub_lengths(), 500000, ValueStorage::weighted, 9);
  const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), options);
  DualBuffer<double> first = plan.make_output();
  DualBuffer<double> second = plan.make_output();
  ASSERT_EQ(first.mode(), DualBuffer<double>::Mode::dual);
  const auto w = testing::random_vector<double>(plan.rows(), 4);
  const auto on_w = Array<double>::copy_of(w, gpu());
  for (std::uint64_t round = 0; round < 6; ++round) {
    DualBuffer<double>& buffer = round % 3 == 0 ? second : first;
    const auto x = testing::random_vector<double>(plan.cols(), round);
    const auto on_x = Array<double>::copy_of(x, gpu());
    ProductDots dots;
    if (round % 2 == 0) {
      plan.apply(on_x.span(), buffer);
    } else {
      dots = plan.apply_and_dot(on_x.span(), buffer, on_w.span());
    }
    std::vector<double> y(static_cast<std::size_t>(plan.rows()));
    detail::copy_bytes(Device{}, y.data(), gpu(), buffer.current().data(), y.size() * sizeof(double));
    ASSERT_TRUE(testing::near(testing::product_oracle(matrix.view(), testing::constant(x)), testing::constant(y)));
    if (round % 2 == 1) {
      ASSERT_TRUE(testing::dots_match(dots, testing::constant(y), testing::constant(w)));
    }
  }
}

}  // namespace
}  // namespace tessera
