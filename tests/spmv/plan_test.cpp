#include "tessera/error.hpp"
#include "tessera/statistics.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"

#include <thread>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::message_of;
using testing::near;

Csr<double> some_matrix(std::uint64_t seed = 1) {
  return testing::with_row_lengths<double>(testing::power_law_lengths(800, 500, 2), 600, ValueStorage::weighted, seed);
}

SpmvOptions named(SpmvAlgorithm algorithm) {
  SpmvOptions options;
  options.algorithm = algorithm;
  return options;
}

TEST(SpmvPlan, TellsWhatItIs) {
  SpmvOptions options = named(SpmvAlgorithm::merbit);
  options.sigma = 10;
  const SpmvPlan<double> plan(testing::with_row_lengths<double>({100, 0, 1900}, 2000, ValueStorage::weighted), options);
  EXPECT_EQ(plan.rows(), 3);
  EXPECT_EQ(plan.cols(), 2000);
  EXPECT_EQ(plan.info().algorithm, SpmvAlgorithm::merbit);
  EXPECT_EQ(plan.info().reason, "named by the caller");
  EXPECT_EQ(plan.info().sigma, 10);
  EXPECT_EQ(plan.info().descriptor_bits, 32);
  EXPECT_EQ(plan.info().tiles, 7);
  EXPECT_EQ(plan.info().bytes, 8U * 8 + 8 * 4 + 7 * 32 * 4);
  EXPECT_GT(plan.info().build_ms, 0.0);

  const SpmvPlan<double> csr(some_matrix(), named(SpmvAlgorithm::csr));
  EXPECT_EQ(csr.info().bytes, 0U);
  EXPECT_EQ(csr.info().tiles, 0);
  EXPECT_EQ(csr.info().sigma, 0);
}

TEST(SpmvPlan, ChoosesTheNarrowestDescriptors) {
  SpmvOptions options = named(SpmvAlgorithm::merbit);
  for (const auto& [sigma, bits] : {std::pair{22, 32}, {23, 64}, {53, 64}}) {
    options.sigma = sigma;
    EXPECT_EQ(SpmvPlan<double>(some_matrix(), options).info().descriptor_bits, bits);
  }
  options.sigma = 0;
  options.descriptor_bits = 64;
  EXPECT_EQ(SpmvPlan<double>(some_matrix(), options).info().sigma, host_merbit_policy<double>.sigma_64);
}

TEST(SpmvPlan, RefusesOptionsThatMakeNoSense) {
  const auto build = [](auto change) {
    SpmvOptions options = named(SpmvAlgorithm::merbit);
    change(options);
    return [options] { SpmvPlan<double>(some_matrix(), options); };
  };
  EXPECT_THROW(build([](auto& o) { o.sigma = -1; })(), InvalidArgument);
  EXPECT_THROW(build([](auto& o) { o.descriptor_bits = 16; })(), InvalidArgument);
  EXPECT_THROW(build([](auto& o) { o.expected_applications = -1; })(), InvalidArgument);
  EXPECT_THROW(build([](auto& o) { o.algorithm = static_cast<SpmvAlgorithm>(99); })(), InvalidArgument);
  EXPECT_NE(message_of<NotSupported>(build([](auto& o) {
              o.sigma = 23;
              o.descriptor_bits = 32;
            })).find("sigma 22, asked for 23"),
            std::string::npos);
  EXPECT_THROW(build([](auto& o) { o.sigma = 54; })(), NotSupported);
  EXPECT_NE(message_of<NotSupported>(build([](auto& o) {
              o.algorithm = SpmvAlgorithm::csr;
              o.sigma = 7;
            })).find("csr has no descriptors"),
            std::string::npos);
  EXPECT_NE(message_of<NotSupported>(build([](auto& o) {
              o.algorithm = SpmvAlgorithm::automatic;
              o.sigma = 7;
            })).find("belong to the kernels merbit and csr5"),
            std::string::npos);
  EXPECT_THROW(SpmvPlan<double>(std::shared_ptr<const Csr<double>>()), InvalidArgument);
}

TEST(SpmvPlan, SharesTheMatrixWithItsOwner) {
  const auto matrix = std::make_shared<const Csr<double>>(some_matrix());
  const SpmvPlan<double> plan(matrix);
  EXPECT_EQ(plan.matrix().values.data(), matrix->values().data());
}

TEST(SpmvPlan, UpdatedValuesAreUsedAndTheCallersMatrixIsKept) {
  for (const auto& kernel : testing::all_kernel_cases) {
    const auto matrix = std::make_shared<const Csr<double>>(some_matrix());
    const std::vector<double> original(matrix->values().begin(), matrix->values().end());
    SpmvPlan<double> plan(matrix, testing::options_of(kernel));
    const auto x = testing::random_vector<double>(600, 3);
    std::vector<double> y(800);
    const double* own_values = nullptr;
    for (std::uint64_t round = 0; round < 3; ++round) {
      const auto values = testing::random_vector<double>(matrix->nnz(), 50 + round);
      plan.update_values(std::span<const double>(values));
      ASSERT_TRUE(std::equal(values.begin(), values.end(), plan.matrix().values.begin()));
      if (round > 0) {
        ASSERT_EQ(plan.matrix().values.data(), own_values) << "a later update allocated anew";
      }
      own_values = plan.matrix().values.data();
      plan.apply(x, y);
      ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), constant(y)));
    }
    ASSERT_TRUE(std::equal(original.begin(), original.end(), matrix->values().begin()));
  }
}

TEST(SpmvPlan, UpdateFromAMatrixOfTheSameStructure) {
  SpmvPlan<double> plan(some_matrix(1));
  const auto values = testing::random_vector<double>(plan.matrix().nnz(), 77);
  CsrView<double> other = plan.matrix();
  other.values = values;
  plan.update_values(other);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), plan.matrix().values.begin()));
}

TEST(SpmvPlan, RefusesValuesThatDoNotFit) {
  SpmvPlan<double> plan(some_matrix());
  const std::vector<double> short_values(3);
  EXPECT_THROW(plan.update_values(std::span<const double>(short_values)), DimensionError);
  SpmvPlan<double> pattern(testing::make_pattern<double>(2, 2, {0, 1, 2}, {0, 1}));
  const std::vector<double> two(2);
  EXPECT_THROW(pattern.update_values(std::span<const double>(two)), InvalidArgument);
}

TEST(SpmvPlan, RefusesMatricesOfAnotherStructure) {
  SpmvPlan<double> plan(testing::make_csr<double>(3, 4, {0, 2, 2, 4}, {0, 2, 1, 3}, {1, 2, 3, 4}));
  const auto message = [&](const Csr<double>& other) {
    return message_of<InvalidMatrix>([&] { plan.update_values(other.view()); });
  };
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(contains(message(testing::make_csr<double>(3, 5, {0, 2, 2, 4}, {0, 2, 1, 3}, {1, 2, 3, 4})), "3 x 5"));
  EXPECT_TRUE(contains(message(testing::make_csr<double>(3, 4, {0, 2, 3, 4}, {0, 2, 1, 3}, {1, 2, 3, 4})),
                       "row offset 2 is 2 in the plan and 3"));
  EXPECT_TRUE(contains(message(testing::make_csr<double>(3, 4, {0, 2, 2, 4}, {0, 2, 1, 2}, {1, 2, 3, 4})),
                       "row 2, nonzero 3: column 3 in the plan, 2"));
  EXPECT_TRUE(contains(message(testing::make_csr<double>(3, 4, {0, 2, 2, 3}, {0, 2, 1}, {1, 2, 3})), "with 3"));
  EXPECT_TRUE(contains(message(testing::make_pattern<double>(3, 4, {0, 2, 2, 4}, {0, 2, 1, 3})), "pattern"));
}

TEST(SpmvPlan, FindsTheFirstDifferenceOfALargeStructure) {
  const auto matrix = testing::with_row_lengths<double>(testing::lengths_of(20000, 2), 50, ValueStorage::weighted);
  SpmvOptions options;
  options.device = Device::host(4);
  SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), options);
  auto columns = Array<index_t>::copy_of(matrix.columns().span());
  std::int64_t first = -1;
  for (std::int64_t row = 3000; row < 20000; row += 5000) {  // last entry of a few rows moved right where there is room
    if (columns[2 * row + 1] == 49) continue;
    ++columns[2 * row + 1];
    if (first < 0) first = 2 * row + 1;
  }
  const Csr<double> other(20000, 50, matrix.row_offsets().to(Device{}), std::move(columns),
                          matrix.values().to(Device{}));
  const auto text = message_of<InvalidMatrix>([&] { plan.update_values(other.view()); });
  EXPECT_NE(text.find("nonzero " + std::to_string(first) + ":"), std::string::npos) << text;
}

TEST(SpmvPlan, ConcurrentProductsIntoDistinctOutputs) {
  std::vector<index_t> lengths = testing::power_law_lengths(6000, 2000, 3);
  lengths[100] = 30000;
  const auto matrix =
      std::make_shared<const Csr<double>>(testing::with_row_lengths<double>(lengths, 40000, ValueStorage::weighted));
  for (const auto& kernel : testing::all_kernel_cases) {
    const SpmvPlan<double> plan(matrix, testing::options_of(kernel, 2));
    std::vector<int> good(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < good.size(); ++t) {
      threads.emplace_back([&, t] {
        const auto x = testing::random_vector<double>(40000, t);
        const auto oracle = testing::product_oracle(plan.matrix(), constant(x));
        DualBuffer<double> buffer = plan.make_output();
        std::vector<double> y(6000);
        for (int round = 0; round < 10; ++round) {
          plan.apply(x, buffer);
          plan.apply(x, y);
          if (near(oracle, std::as_const(buffer).current()) && near(oracle, constant(y))) ++good[t];
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(good, std::vector<int>(4, 10)) << testing::name_of(kernel);
  }
}

TEST(SpmvPlan, BreakEven) {
  const SpmvPlan<double> merge(some_matrix(), named(SpmvAlgorithm::merge));
  const BreakEven none = merge.measure_break_even(3);
  EXPECT_EQ(none.applications, 0);
  EXPECT_GT(none.apply_ms, 0.0);
  EXPECT_GT(none.reference_ms, 0.0);
  const SpmvPlan<double> merbit(some_matrix(), named(SpmvAlgorithm::merbit));
  const BreakEven measured = merbit.measure_break_even(3);
  EXPECT_EQ(measured.applications.has_value(), measured.apply_ms < measured.reference_ms);
  if (measured.applications) {
    const double won = static_cast<double>(*measured.applications) * (measured.reference_ms - measured.apply_ms);
    EXPECT_GE(won, merbit.info().build_ms * (1 - 1e-12));
  }
  EXPECT_THROW((void)merge.measure_break_even(0), InvalidArgument);
  EXPECT_THROW((void)merge.measure_break_even(1001), InvalidArgument);
}

TEST(Plan, ValuesRoundedToFloatAreMultipliedInDouble) {
  const std::vector<index_t> lengths = testing::power_law_lengths(500, 400, 3);
  for (const testing::KernelCase& kernel : testing::all_kernel_cases) {
    SCOPED_TRACE(testing::name_of(kernel));
    SpmvOptions options = testing::options_of(kernel);
    options.fp32_values = true;
    options.with_transpose = true;
    const auto matrix =
        std::make_shared<const Csr<double>>(testing::with_row_lengths<double>(lengths, 400, ValueStorage::weighted));
    SpmvPlan<double> plan(matrix, options);
    std::vector<double> doubled(matrix->values().begin(), matrix->values().end());
    for (int round = 0; round < 3; ++round) {
      const CsrView<double> kept = plan.matrix();
      for (std::size_t k = 0; k < doubled.size(); ++k) {
        ASSERT_EQ(kept.values[k], static_cast<double>(static_cast<float>(doubled[k])));
      }
      const auto x = testing::random_vector<double>(400, 1);
      std::vector<double> y(500);
      plan.apply(x, y);
      ASSERT_TRUE(testing::near(testing::product_oracle(kept, std::span<const double>(x)), testing::constant(y)));
      const auto z = testing::random_vector<double>(500, 2);
      std::vector<double> transposed(400);
      plan.apply_transposed(z, transposed);
      const Csr<double> formed = transpose(kept);
      ASSERT_TRUE(testing::near(testing::product_oracle(formed.view(), std::span<const double>(z)),
                                testing::constant(transposed)));
      for (double& value : doubled) value *= 1.1;
      plan.update_values(std::span<const double>(doubled));
    }
  }
}

TEST(Plan, ValuesThatNoFloatHoldsAreRefused) {
  SpmvOptions options;
  options.fp32_values = true;
  const auto matrix = testing::make_csr<double>(2, 2, {0, 1, 2}, {0, 1}, {1.0, 1e39});
  EXPECT_NE(message_of<InvalidMatrix>([&] {
              const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), options);
            }).find("nonzero 1 is 1e+39"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
