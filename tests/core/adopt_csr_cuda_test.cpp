// Matrices on the arrays of other libraries, in the memory of a GPU.
#include "tests/core/adopt_csr_cases.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

class CudaAdoptCsr : public testing::CudaTest {};

TEST_F(CudaAdoptCsr, StaysInPlace) {
  testing::expect_adopted_in_place<std::int32_t>(gpu());
  testing::expect_adopted_in_place<std::int64_t>(gpu());
  testing::expect_owner_kept(gpu());
}

}  // namespace
}  // namespace tessera
