// Symmetry and the signs of diagonals, on a GPU.
#include "tests/preprocess/symmetry_cases.hpp"
#include "tests/support/cuda_test.hpp"

namespace tessera {
namespace {

class SymmetryCuda : public testing::CudaTest {};

TEST_F(SymmetryCuda, IsThatOfEveryEntry) {
  testing::expect_symmetry<float>(gpu());
  testing::expect_symmetry<double>(gpu());
}
TEST_F(SymmetryCuda, DiagonalsThatAreNotPositiveAreFound) {
  testing::expect_diagonals<float>(gpu());
  testing::expect_diagonals<double>(gpu());
}

}  // namespace
}  // namespace tessera
