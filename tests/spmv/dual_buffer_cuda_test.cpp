// The pitfalls of the dual-buffer commit on a GPU, one by one: the bodies of dual_buffer_test.cpp.
#include "tests/spmv/dual_buffer_check.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

using testing::DualPlan;
using testing::repeat_and_check;

class DualBufferOnGpu : public testing::CudaTest {};

TEST_F(DualBufferOnGpu, ShapesAtTheEdges) {
  for (const std::size_t rows : {1U, 31U, 33U, 257U, 1009U})
    repeat_and_check({gpu(), testing::lengths_of(rows, 3), 50});
  repeat_and_check({gpu(), testing::lengths_of(700, 0), 5});
  repeat_and_check({gpu(), testing::lengths_of(1, 0), 0});
  repeat_and_check({gpu(), testing::lengths_of(3000, 1), 1});
  repeat_and_check({gpu(), testing::one_long_row(40, 20, 30000, 2), 40000});
}

TEST_F(DualBufferOnGpu, BlocksWithoutNonzerosStillWriteZeros) { testing::check_blocks_without_nonzeros(gpu()); }
TEST_F(DualBufferOnGpu, BufferUsedByAnotherPlanBefore) { testing::check_buffer_used_by_another_plan(gpu()); }
TEST_F(DualBufferOnGpu, BufferOfASingleModeOperator) { testing::check_buffer_of_a_single_mode_operator(gpu()); }
TEST_F(DualBufferOnGpu, GivenToASingleModeOperatorInBetween) { testing::check_single_mode_operator_in_between(gpu()); }
TEST_F(DualBufferOnGpu, AfterAProductThatWasCutShort) { testing::check_after_a_product_that_was_cut_short(gpu()); }
TEST_F(DualBufferOnGpu, CallerOverwritesTheResultBetweenProducts) {
  testing::check_results_that_the_caller_overwrites(gpu());
}
TEST_F(DualBufferOnGpu, MovedPlanKeepsItsBuffers) { testing::check_a_moved_plan(gpu()); }

}  // namespace
}  // namespace tessera
