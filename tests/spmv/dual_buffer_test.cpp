// The pitfalls of the dual-buffer commit, one by one.
#include "tests/spmv/dual_buffer_check.hpp"

namespace tessera {
namespace {

using testing::apply_and_check;
using testing::constant;
using testing::DualPlan;
using testing::near;

const Device two_threads = Device::host(2);

void repeat_and_check(const std::vector<index_t>& lengths, index_t cols, std::uint64_t rounds = 4) {
  const DualPlan a(two_threads, lengths, cols);
  ASSERT_EQ(a.plan().make_output().mode(), DualBuffer<double>::Mode::dual);
  testing::repeat_and_check(a, rounds);
}

TEST(DualBufferCommit, BlocksWithoutNonzerosStillWriteZeros) { testing::check_blocks_without_nonzeros(two_threads); }

TEST(DualBufferCommit, RowsAreNoMultipleOfAnything) {
  for (const std::size_t rows : {1U, 31U, 33U, 127U, 257U, 1009U}) repeat_and_check(testing::lengths_of(rows, 3), 50);
}

TEST(DualBufferCommit, NoNonzeros) {
  repeat_and_check(testing::lengths_of(700, 0), 5);
  repeat_and_check(testing::lengths_of(1, 0), 0);
}

TEST(DualBufferCommit, OneRow) {
  repeat_and_check({1}, 1);
  repeat_and_check({9000}, 9000);
}

TEST(DualBufferCommit, OneColumn) { repeat_and_check(testing::lengths_of(3000, 1), 1); }

TEST(DualBufferCommit, RowSpanningManyBlocks) { repeat_and_check(testing::one_long_row(40, 20, 30000, 2), 40000, 6); }

TEST(DualBufferCommit, AlternatelyIntoTwoBuffers) {
  const DualPlan a = DualPlan::varied(two_threads);
  DualBuffer<double> first = a.plan().make_output();
  DualBuffer<double> second = a.plan().make_output();
  for (std::uint64_t round = 0; round < 6; round += 2) {
    apply_and_check(a, first, round);
    apply_and_check(a, second, round + 1);
  }
}

TEST(DualBufferCommit, BufferUsedByAnotherPlanBefore) { testing::check_buffer_used_by_another_plan(two_threads); }
TEST(DualBufferCommit, BufferOfASingleModeOperator) { testing::check_buffer_of_a_single_mode_operator(two_threads); }
TEST(DualBufferCommit, DualBufferGivenToASingleModeOperatorInBetween) {
  testing::check_single_mode_operator_in_between(two_threads);
}
TEST(DualBufferCommit, AfterAProductThatWasCutShort) { testing::check_after_a_product_that_was_cut_short(two_threads); }
TEST(DualBufferCommit, CallerOverwritesTheResultBetweenProducts) {
  testing::check_results_that_the_caller_overwrites(two_threads);
}

TEST(DualBufferCommit, ResultStaysUntilTheNextProduct) {
  const DualPlan a = DualPlan::varied(two_threads);
  const SpmvPlan<double>& plan = a.plan();
  DualBuffer<double> buffer = plan.make_output();
  const auto x = testing::random_vector<double>(plan.cols(), 3);
  plan.apply(x, buffer);
  const std::vector<double> before(std::as_const(buffer).current().begin(), std::as_const(buffer).current().end());
  std::vector<double> elsewhere(before.size());
  plan.apply(x, elsewhere);
  DualBuffer<double> other = plan.make_output();
  plan.apply(x, other);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), std::as_const(buffer).current().begin()));
}

TEST(DualBufferCommit, PlainAndFusedProductsMixed) {
  const DualPlan a = DualPlan::varied(two_threads);
  const SpmvPlan<double>& plan = a.plan();
  DualBuffer<double> buffer = plan.make_output();
  const auto w = testing::random_vector<double>(plan.rows(), 9);
  for (std::uint64_t round = 0; round < 6; ++round) {
    apply_and_check(a, buffer, round);
    const auto x = testing::random_vector<double>(plan.cols(), round);
    const ProductDots dots = plan.apply_and_dot(x, buffer, w);
    ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), std::as_const(buffer).current()));
    ASSERT_TRUE(testing::dots_match(dots, std::as_const(buffer).current(), constant(w)));
  }
}

TEST(DualBufferCommit, FiftyRepeatedProductsEqualFreshOnes) {
  // One thread: the additions have one order, so not a bit may drift.
  const DualPlan a = DualPlan::varied(Device::host(1));
  const SpmvPlan<double>& plan = a.plan();
  DualBuffer<double> buffer = plan.make_output();
  for (std::uint64_t round = 0; round < 50; ++round) {
    const auto x = testing::random_vector<double>(plan.cols(), round % 7);
    plan.apply(x, buffer);
    DualBuffer<double> fresh = plan.make_output();
    plan.apply(x, fresh);
    ASSERT_TRUE(std::equal(std::as_const(fresh).current().begin(), std::as_const(fresh).current().end(),
                           std::as_const(buffer).current().begin()))
        << round;
  }
}

TEST(DualBufferCommit, MovedPlanKeepsItsBuffers) { testing::check_a_moved_plan(two_threads); }

TEST(DualBufferCommit, DeterministicPlansNeedOneVectorOnly) {
  SpmvOptions options = DualPlan::options(two_threads);
  options.determinism = Determinism::run_to_run;
  const SpmvPlan<double> plan(testing::with_row_lengths<double>({1, 2}, 3, ValueStorage::weighted), options);
  EXPECT_EQ(plan.make_output().mode(), DualBuffer<double>::Mode::single);
}

}  // namespace
}  // namespace tessera
