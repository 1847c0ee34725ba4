// The pitfalls of the dual-buffer commit, one by one.
#include "tests/spmv/product_check.hpp"

#include <utility>

namespace tessera {

using namespace detail;
namespace {

using testing::constant;
using testing::near;

constexpr double poison = std::numeric_limits<double>::quiet_NaN();

SpmvOptions dual_options(int sigma = 0) {
  SpmvOptions options = testing::options_of({SpmvAlgorithm::merbit, Determinism::not_guaranteed}, 2);
  options.sigma = sigma;
  return options;
}

SpmvPlan<double> make_plan(const std::vector<index_t>& lengths, index_t cols, int sigma = 1, std::uint64_t seed = 1) {
  return SpmvPlan<double>(testing::with_row_lengths<double>(lengths, cols, ValueStorage::weighted, seed),
                          dual_options(sigma));
}

/// Hub rows, empty rows, single entries: with sigma 1 and 7 most blocks share rows.
SpmvPlan<double> varied_plan(std::uint64_t seed = 1, int sigma = 7) {
  std::vector<index_t> lengths = testing::power_law_lengths(1500, 900, seed);
  lengths[200] = 20000;
  lengths[201] = 0;
  lengths[202] = 9000;
  return make_plan(lengths, 25000, sigma, seed);
}

std::span<const double> result(const DualBuffer<double>& buffer) { return buffer.current(); }

/// A product with x number `round` into the buffer, checked.
void apply_and_check(const SpmvPlan<double>& plan, DualBuffer<double>& buffer, std::uint64_t round) {
  const auto x = testing::random_vector<double>(plan.cols(), 100 + round);
  plan.apply(x, buffer);
  ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), result(buffer))) << "round " << round;
}

void repeat_and_check(const SpmvPlan<double>& plan, std::uint64_t rounds = 4) {
  DualBuffer<double> buffer = plan.make_output();
  ASSERT_EQ(buffer.mode(), DualBuffer<double>::Mode::dual);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    apply_and_check(plan, buffer, round);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(DualBufferCommit, BlocksWithoutNonzerosStillWriteZeros) {
  const SpmvPlan<double> plan = make_plan(testing::one_long_row(5000, 0, 3, 0), 10);
  DualBuffer<double> buffer = plan.make_output();
  for (std::uint64_t round = 0; round < 4; ++round) {
    apply_and_check(plan, buffer, round);
    std::fill(buffer.current().begin(), buffer.current().end(), poison);
  }
}

TEST(DualBufferCommit, RowsAreNoMultipleOfAnything) {
  for (const std::size_t rows : {1U, 31U, 33U, 127U, 257U, 1009U})
    repeat_and_check(make_plan(testing::lengths_of(rows, 3), 50));
}

TEST(DualBufferCommit, NoNonzeros) {
  repeat_and_check(make_plan(testing::lengths_of(700, 0), 5));
  repeat_and_check(make_plan(testing::lengths_of(1, 0), 0));
}

TEST(DualBufferCommit, OneRow) {
  repeat_and_check(make_plan({1}, 1));
  repeat_and_check(make_plan({9000}, 9000));
}

TEST(DualBufferCommit, OneColumn) { repeat_and_check(make_plan(testing::lengths_of(3000, 1), 1)); }

TEST(DualBufferCommit, RowSpanningManyBlocks) {
  repeat_and_check(make_plan(testing::one_long_row(40, 20, 30000, 2), 40000, 1), 6);
}

TEST(DualBufferCommit, AlternatelyIntoTwoBuffers) {
  const SpmvPlan<double> plan = varied_plan();
  DualBuffer<double> first = plan.make_output();
  DualBuffer<double> second = plan.make_output();
  for (std::uint64_t round = 0; round < 6; round += 2) {
    apply_and_check(plan, first, round);
    apply_and_check(plan, second, round + 1);
  }
}

TEST(DualBufferCommit, BufferUsedByAnotherPlanBefore) {
  const SpmvPlan<double> plan = varied_plan(1);
  const SpmvPlan<double> other = varied_plan(2);
  ASSERT_EQ(plan.rows(), other.rows());
  DualBuffer<double> buffer = plan.make_output();
  for (std::uint64_t round = 0; round < 6; ++round) {
    apply_and_check(plan, buffer, round);
    apply_and_check(other, buffer, round);
    if (round % 2 == 0) apply_and_check(other, buffer, round + 50);
  }
}

TEST(DualBufferCommit, BufferOfASingleModeOperator) {
  const SpmvPlan<double> plan = varied_plan();
  DualBuffer<double> single(plan.rows(), DualBuffer<double>::Mode::single, Device{});
  std::fill(single.current().begin(), single.current().end(), poison);
  apply_and_check(plan, single, 1);
  apply_and_check(plan, single, 2);
}

TEST(DualBufferCommit, DualBufferGivenToASingleModeOperatorInBetween) {
  const SpmvPlan<double> plan = varied_plan();
  const IdentityOperator<double> identity(plan.rows());
  DualBuffer<double> buffer = plan.make_output();
  apply_and_check(plan, buffer, 1);
  const auto x = testing::random_vector<double>(plan.rows(), 3);
  identity.apply(x, buffer);
  EXPECT_EQ(buffer.prepared_for(), 0U);
  apply_and_check(plan, buffer, 2);
  apply_and_check(plan, buffer, 3);
}

TEST(DualBufferCommit, AfterAProductThatWasCutShort) {
  const SpmvPlan<double> plan = varied_plan();
  DualBuffer<double> buffer = plan.make_output();
  apply_and_check(plan, buffer, 1);
  buffer.set_prepared_for(0);
  std::fill(buffer.next().begin(), buffer.next().end(), poison);
  for (std::uint64_t round = 2; round < 6; ++round) apply_and_check(plan, buffer, round);
}

TEST(DualBufferCommit, CallerOverwritesTheResultBetweenProducts) {
  const SpmvPlan<double> plan = varied_plan();
  DualBuffer<double> buffer = plan.make_output();
  for (std::uint64_t round = 0; round < 5; ++round) {
    apply_and_check(plan, buffer, round);
    std::fill(buffer.current().begin(), buffer.current().end(), poison);
  }
}

TEST(DualBufferCommit, ResultStaysUntilTheNextProduct) {
  const SpmvPlan<double> plan = varied_plan();
  DualBuffer<double> buffer = plan.make_output();
  const auto x = testing::random_vector<double>(plan.cols(), 3);
  plan.apply(x, buffer);
  const std::vector<double> before(result(buffer).begin(), result(buffer).end());
  std::vector<double> elsewhere(before.size());
  plan.apply(x, elsewhere);
  DualBuffer<double> other = plan.make_output();
  plan.apply(x, other);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), result(buffer).begin()));
}

TEST(DualBufferCommit, PlainAndFusedProductsMixed) {
  const SpmvPlan<double> plan = varied_plan();
  DualBuffer<double> buffer = plan.make_output();
  const auto w = testing::random_vector<double>(plan.rows(), 9);
  for (std::uint64_t round = 0; round < 6; ++round) {
    apply_and_check(plan, buffer, round);
    const auto x = testing::random_vector<double>(plan.cols(), round);
    const ProductDots dots = plan.apply_and_dot(x, buffer, w);
    ASSERT_TRUE(near(testing::product_oracle(plan.matrix(), constant(x)), result(buffer)));
    ASSERT_TRUE(testing::dots_match(dots, result(buffer), constant(w)));
  }
}

TEST(DualBufferCommit, FiftyRepeatedProductsEqualFreshOnes) {
  // One thread: the additions have one order, so not a bit may drift.
  SpmvOptions options = dual_options(7);
  options.device = Device::host(1);
  const SpmvPlan<double> varied = varied_plan();
  const SpmvPlan<double> plan(Csr<double>::copy_of(varied.matrix()), options);
  DualBuffer<double> buffer = plan.make_output();
  for (std::uint64_t round = 0; round < 50; ++round) {
    const auto x = testing::random_vector<double>(plan.cols(), round % 7);
    plan.apply(x, buffer);
    DualBuffer<double> fresh = plan.make_output();
    plan.apply(x, fresh);
    ASSERT_TRUE(std::equal(result(fresh).begin(), result(fresh).end(), result(buffer).begin())) << round;
  }
}

TEST(DualBufferCommit, MovedPlanKeepsItsBuffers) {
  SpmvPlan<double> original = varied_plan();
  DualBuffer<double> buffer = original.make_output();
  apply_and_check(original, buffer, 1);
  const auto id = buffer.prepared_for();
  ASSERT_NE(id, 0U);
  const SpmvPlan<double> moved = std::move(original);
  apply_and_check(moved, buffer, 2);
  EXPECT_EQ(buffer.prepared_for(), id);
}

TEST(DualBufferCommit, DeterministicPlansNeedOneVectorOnly) {
  SpmvOptions options = dual_options();
  options.determinism = Determinism::run_to_run;
  const SpmvPlan<double> plan(testing::with_row_lengths<double>({1, 2}, 3, ValueStorage::weighted), options);
  EXPECT_EQ(plan.make_output().mode(), DualBuffer<double>::Mode::single);
}

}  // namespace
}  // namespace tessera
