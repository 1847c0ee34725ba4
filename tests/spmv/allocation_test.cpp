// Products never allocate.
#include "tessera/generators.hpp"
#include "tessera/reordered_plan.hpp"
#include "tessera/spmv_batch.hpp"
#include "tests/spmv/product_check.hpp"
#include "tests/support/allocation_counter.hpp"

#include <new>

namespace tessera {

using namespace detail;
namespace {

TEST(Allocations, TheCounterCounts) {
  const auto before = testing::allocation_count();
  const auto memory = std::make_unique<int>(3);
  const Array<double> aligned(5);
  EXPECT_GE(testing::allocation_count() - before, 2);
  EXPECT_EQ(*memory, 3);
}

template <class T>
std::int64_t allocations_of_products(const SpmvPlan<T>& plan) {
  const auto x = testing::random_vector<T>(plan.cols(), 3);
  const auto w = testing::random_vector<T>(plan.rows(), 4);
  std::vector<T> y(static_cast<std::size_t>(plan.rows()));
  constexpr std::int64_t columns = 9;
  const auto many_x = testing::random_vector<T>(columns * plan.cols(), 5);
  std::vector<T> many_y(static_cast<std::size_t>(columns * plan.rows()));
  const MultiVectorView<const T> x_by_columns(many_x, plan.cols(), columns);
  const MultiVectorView<T> y_by_columns(many_y, plan.rows(), columns);
  const MultiVectorView<T> y_by_rows(many_y, plan.rows(), columns, MultiVectorLayout::row_major);
  DualBuffer<T> first = plan.make_output();
  DualBuffer<T> second = plan.make_output();
  plan.apply(x, y);  // lets the team start its threads
  const auto before = testing::allocation_count();
  for (int round = 0; round < 3; ++round) {
    plan.apply(x, y);
    plan.apply(T{2}, x, T{3}, y);
    plan.apply(x, first);
    (void)plan.apply_and_dot(x, second, w);
    (void)plan.apply_and_dot(x, y, w);
    plan.apply_many(x_by_columns, y_by_columns);
    plan.apply_many(x_by_columns, y_by_rows);
  }
  return testing::allocation_count() - before;
}

TEST(Allocations, ProductsOfEveryKernelNeverAllocate) {
  std::vector<index_t> lengths = testing::power_law_lengths(30000, 2000, 3);
  lengths[100] = 90000;
  const auto matrix =
      std::make_shared<const Csr<double>>(testing::with_row_lengths<double>(lengths, 100000, ValueStorage::weighted));
  const auto small = std::make_shared<const Csr<double>>(
      testing::with_row_lengths<double>(testing::lengths_of(3, 2), 5, ValueStorage::pattern));
  for (const auto& kernel : testing::all_kernel_cases) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(allocations_of_products(SpmvPlan<double>(matrix, testing::options_of(kernel, threads))), 0)
          << testing::name_of(kernel);
      EXPECT_EQ(allocations_of_products(SpmvPlan<double>(small, testing::options_of(kernel, threads))), 0)
          << testing::name_of(kernel);
    }
  }
}

TEST(Allocations, ProductsInAnotherNumberingNeverAllocate) {
  const auto matrix =
      testing::with_row_lengths<double>(testing::power_law_lengths(20000, 2000, 3), 20000, ValueStorage::weighted);
  const ReorderedPlan<double> plan(matrix, Ordering::degree, {.device = Device::host(3), .with_transpose = true});
  const auto x = testing::random_vector<double>(20000, 3);
  std::vector<double> y(20000);
  plan.apply(x, y);  // lets the team start its threads
  const auto before = testing::allocation_count();
  for (int round = 0; round < 3; ++round) {
    plan.apply(2.0, x, 3.0, y);
    plan.apply_transposed(x, y);
    (void)plan.apply_and_dot(x, y, x);
  }
  EXPECT_EQ(testing::allocation_count() - before, 0);
}

TEST(Allocations, ProductsOfBatchesNeverAllocate) {
  const auto part = testing::with_row_lengths<double>(testing::lengths_of(40, 7), 50, ValueStorage::weighted);
  const std::vector<CsrView<double>> views(300, part.view());
  const SpmvBatch<double> batch(views, Device{}, {.device = Device::host(3)});
  const auto x = testing::random_vector<double>(batch.plan().cols(), 3);
  std::vector<double> y(static_cast<std::size_t>(batch.plan().rows()));
  batch.apply(x, y);  // lets the team start its threads
  const auto before = testing::allocation_count();
  batch.apply(2.0, x, 3.0, y);
  (void)batch.y_of(7, std::span(y));
  EXPECT_EQ(testing::allocation_count() - before, 0);
}

TEST(Allocations, ProductsByRowPatternsNeverAllocate) {
  constexpr testing::KernelCase kernel{SpmvAlgorithm::patterns, Determinism::gpu_to_gpu};
  for (const int threads : {1, 3}) {
    SpmvPlan<double> plan(poisson2d<double>(200, 200), testing::options_of(kernel, threads));
    EXPECT_EQ(allocations_of_products(plan), 0) << "templates";
    plan.update_values(std::span<const double>(testing::random_vector<double>(plan.matrix().nnz(), 3)));
    EXPECT_EQ(allocations_of_products(plan), 0) << "values in full";
  }
}

TEST(Allocations, LaterUpdatesOfValuesNeverAllocate) {
  SpmvPlan<double> plan(testing::with_row_lengths<double>(testing::lengths_of(500, 7), 50, ValueStorage::weighted));
  const auto values = testing::random_vector<double>(3500, 3);
  plan.update_values(std::span<const double>(values));
  const auto before = testing::allocation_count();
  plan.update_values(std::span<const double>(values));
  EXPECT_EQ(testing::allocation_count(), before);
}

}  // namespace
}  // namespace tessera
