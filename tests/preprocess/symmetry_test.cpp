// Symmetry and the signs of diagonals, on the host.
#include "tests/preprocess/symmetry_cases.hpp"

namespace tessera {
namespace {

TEST(Symmetry, IsThatOfEveryEntry) {
  testing::expect_symmetry<float>(Device{});
  testing::expect_symmetry<double>(Device{});
}
TEST(Symmetry, DiagonalsThatAreNotPositiveAreFound) {
  testing::expect_diagonals<float>(Device{});
  testing::expect_diagonals<double>(Device{});
}

}  // namespace
}  // namespace tessera
