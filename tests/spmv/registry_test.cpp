// Names of kernels, and which one `automatic` takes.
#include "spmv/registry.hpp"

#include "tessera/error.hpp"
#include "tests/spmv/product_check.hpp"

#include <set>

namespace tessera {

using namespace detail;
namespace {

std::string parse_error(std::string_view name) {
  try {
    (void)parse_spmv_algorithm(name);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, NamesComeBack) {
  std::set<std::string_view> names;
  std::set<std::string_view> descriptions;
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    EXPECT_NE(algorithm, SpmvAlgorithm::automatic);
    EXPECT_EQ(parse_spmv_algorithm(to_string(algorithm)), algorithm);
    names.insert(to_string(algorithm));
    descriptions.insert(describe(algorithm));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"csr", "merge", "merbit", "csr5", "tiles", "patterns", "sell", "blocked",
                                               "streamed"}));
  EXPECT_EQ(descriptions.size(), 9U);
  EXPECT_EQ(parse_spmv_algorithm("auto"), SpmvAlgorithm::automatic);
  EXPECT_EQ(to_string(SpmvAlgorithm::automatic), "auto");
  EXPECT_FALSE(describe(SpmvAlgorithm::automatic).empty());
}

TEST(Registry, UnknownNamesAreExplained) {
  EXPECT_EQ(parse_error("merbt"),
            "unknown SpMV kernel 'merbt': known are auto, measured, csr, merge, merbit, csr5, csr-vector, tiles, "
            "patterns, sell, blocked, streamed, vendor-csr, vendor-coo; did you mean 'merbit'?");
  EXPECT_EQ(parse_error("CSR-5-x"),
            "unknown SpMV kernel 'CSR-5-x': known are auto, measured, csr, merge, merbit, csr5, csr-vector, tiles, "
            "patterns, sell, blocked, streamed, vendor-csr, vendor-coo");
  EXPECT_NE(parse_error(""), "");
  EXPECT_THROW((void)to_string(static_cast<SpmvAlgorithm>(17)), InvalidArgument);
}

TEST(Registry, KernelsOfAGpuAreRefusedOnTheHostByName) {
  for (const SpmvAlgorithm algorithm :
       {SpmvAlgorithm::csr_vector, SpmvAlgorithm::vendor_csr, SpmvAlgorithm::vendor_coo}) {
    EXPECT_EQ(parse_spmv_algorithm(to_string(algorithm)), algorithm);
    EXPECT_FALSE(spmv_kernel_entry(algorithm).host.offered());
    try {
      const SpmvPlan<double> plan(testing::with_row_lengths<double>({1, 2}, 3, ValueStorage::weighted),
                                  testing::options_of({algorithm, Determinism::not_guaranteed}));
      FAIL() << to_string(algorithm) << " ran on the host";
    } catch (const NotSupported& error) {
      EXPECT_EQ(error.what(), "kernel " + std::string(to_string(algorithm)) +
                                  " does not run on host: known there are csr, merge, merbit, csr5, tiles, patterns, "
                                  "sell, blocked, streamed");
    }
  }
}

TEST(Registry, DeterminismNames) {
  EXPECT_EQ(to_string(Determinism::not_guaranteed), "not_guaranteed");
  EXPECT_EQ(to_string(Determinism::run_to_run), "run_to_run");
  EXPECT_EQ(to_string(Determinism::gpu_to_gpu), "gpu_to_gpu");
  EXPECT_THROW((void)to_string(static_cast<Determinism>(9)), InvalidArgument);
}

TEST(Registry, EveryKernelKeepsTheClassItRegisters) {
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    const SpmvKernelEntry& entry = spmv_kernel_entry(algorithm);
    const SpmvPlan<double> plan(testing::with_row_lengths<double>({1, 2}, 3, ValueStorage::weighted),
                                testing::options_of({algorithm, entry.host.strongest}));
    EXPECT_EQ(plan.info().determinism, entry.host.strongest) << entry.name;
    EXPECT_EQ(plan.info().bytes > 0, entry.has_setup) << entry.name;
  }
}

PlanInfo automatic_plan(const std::vector<index_t>& lengths, std::int64_t applications, int threads = 2,
                        index_t cols = 60000) {
  SpmvOptions options;
  options.expected_applications = applications;
  options.device = Device::host(threads);
  return SpmvPlan<double>(testing::with_row_lengths<double>(lengths, cols, ValueStorage::pattern), options).info();
}

/// Forty rows of a tenth of x among short ones, for a matrix of 300000 columns.
std::vector<index_t> forty_long_rows() {
  std::vector<index_t> lengths(30000, 3);
  for (std::size_t h = 0; h < 40; ++h) lengths[h * 731 + 5] = 30000;
  return lengths;
}

TEST(Selection, EvenRowsTakeTheRowKernel) {
  const PlanInfo info = automatic_plan(testing::lengths_of(20000, 5), 1000);
  EXPECT_EQ(info.algorithm, SpmvAlgorithm::csr);
  EXPECT_NE(info.reason.find("longest row holds 5 of 100000 nonzeros"), std::string::npos) << info.reason;
}

TEST(Selection, AHubRowIsCut) {
  const PlanInfo info = automatic_plan(testing::one_long_row(10000, 5000, 50000, 5), 1000);
  EXPECT_EQ(info.algorithm, SpmvAlgorithm::merge);
  EXPECT_NE(info.reason.find("one row holds 50000 of 99995 nonzeros (50 %)"), std::string::npos) << info.reason;
}

/// Above 2^18 rows only groups that hold 4096 nonzeros are searched for a long row.
TEST(Selection, LongRowsAreFoundAmongManyShortOnes) {
  constexpr std::size_t rows = 300001;
  const PlanInfo even = automatic_plan(testing::lengths_of(rows, 1), 1);
  EXPECT_EQ(even.algorithm, SpmvAlgorithm::csr);
  EXPECT_NE(even.reason.find("no row holds 4096 or more of 300001 nonzeros"), std::string::npos) << even.reason;
  for (const std::size_t place : {std::size_t{0}, std::size_t{123456}, rows - 1}) {
    SCOPED_TRACE(place);
    std::vector<index_t> lengths(rows, 1);
    lengths[place] = 4096;
    const PlanInfo shorter = automatic_plan(lengths, 1);
    EXPECT_EQ(shorter.algorithm, SpmvAlgorithm::csr);
    EXPECT_NE(shorter.reason.find("the longest row holds 4096 of 304096 "), std::string::npos) << shorter.reason;
    lengths[place] = 30000;
    const PlanInfo longer = automatic_plan(lengths, 1);
    EXPECT_EQ(longer.algorithm, SpmvAlgorithm::merge);
    EXPECT_NE(longer.reason.find("one row holds 30000 of 330000 "), std::string::npos) << longer.reason;
  }
}

TEST(Selection, LongRowsThatReadXSeveralTimesTakeMerbitWhenItsSetUpPays) {
  const PlanInfo often = automatic_plan(forty_long_rows(), 5, 2, 300000);
  EXPECT_EQ(often.algorithm, SpmvAlgorithm::merbit);
  EXPECT_NE(often.reason.find("40 long rows hold 1200000 of 1289880 nonzeros, 4.0 a column"), std::string::npos)
      << often.reason;
  EXPECT_EQ(automatic_plan(forty_long_rows(), 4, 2, 300000).algorithm, SpmvAlgorithm::merge);
  EXPECT_EQ(automatic_plan(forty_long_rows(), 1000, 2, 100000).algorithm, SpmvAlgorithm::merge);  // x stays in a cache
}

TEST(Selection, SmallMatricesTakeTheRowKernel) {
  EXPECT_EQ(automatic_plan({900, 1, 0}, 1000).algorithm, SpmvAlgorithm::csr);
  EXPECT_EQ(automatic_plan({}, 1000).algorithm, SpmvAlgorithm::csr);
}

TEST(Selection, DoesNotDependOnTheNumberOfThreads) {
  const auto lengths = testing::one_long_row(10000, 5000, 3000, 5);
  EXPECT_EQ(automatic_plan(lengths, 1000, 1).algorithm, automatic_plan(lengths, 1000, 5).algorithm);
  EXPECT_EQ(automatic_plan(forty_long_rows(), 1000, 1, 300000).reason,
            automatic_plan(forty_long_rows(), 1000, 5, 300000).reason);
}

TEST(Selection, AutomaticIsReproducibleOnTheHost) {
  ASSERT_EQ(SpmvOptions{}.determinism, Determinism::not_guaranteed);
  const PlanInfo info = automatic_plan(forty_long_rows(), 1000, 2, 300000);
  EXPECT_EQ(info.algorithm, SpmvAlgorithm::merbit);
  EXPECT_EQ(info.determinism, Determinism::gpu_to_gpu);
}

}  // namespace
}  // namespace tessera
