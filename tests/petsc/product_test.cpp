// Sparse products of sequential matrices against PETSc's own; those of MPI matrices, whose blocks are ours.
#include "petsc_test.hpp"

#include <array>
#include <string>

namespace tessera::test {
namespace {

constexpr const char* ours = "seqaijtessera";
constexpr double bound = 1e4 * PETSC_MACHINE_EPSILON;  // sums of at most 50^2 products of numbers in [-2, 2]

[[nodiscard]] OwnedMat sequential(MatType type, const MatrixSpec& spec, std::uint64_t seed) {
  return make_matrix(type, spec, seed, 0.0, PETSC_COMM_SELF);
}

/// max |A - B|; structures may differ by entries that are 0.
[[nodiscard]] double difference(Mat a, Mat b) {
  OwnedMat dense;
  OwnedMat dense_too;
  ok(MatConvert(a, MATDENSE, MAT_INITIAL_MATRIX, &dense));
  ok(MatConvert(b, MATDENSE, MAT_INITIAL_MATRIX, &dense_too));
  ok(MatAXPY(dense, -1.0, dense_too, SAME_NONZERO_PATTERN));
  PetscReal norm = 0;
  ok(MatNorm(dense, NORM_FROBENIUS, &norm));
  return static_cast<double>(norm);
}

TEST(PetscProduct, MatMatMultIsThatOfAijAndTakesNewValues) {
  constexpr std::array<std::array<PetscInt, 3>, 4> sizes{{{30, 40, 20}, {50, 50, 50}, {1, 7, 1}, {0, 5, 3}}};
  for (const auto& [m, k, n] : sizes) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
    const OwnedMat a = sequential(ours, {m, k}, 11);
    const OwnedMat b = sequential(ours, {k, n}, 12);
    const OwnedMat plain_a = sequential(MATSEQAIJ, {m, k}, 11);
    const OwnedMat plain_b = sequential(MATSEQAIJ, {k, n}, 12);
    OwnedMat c;
    OwnedMat expected;
    const int symbolic = event_count("TesseraSpGEMMSym");
    ok(MatMatMult(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &c));
    ok(MatMatMult(plain_a, plain_b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
    EXPECT_EQ(type_of(c), ours);
    EXPECT_LE(difference(c, expected), bound);

    for (Mat each : {Mat{a}, Mat{plain_a}}) fill(each, {m, k}, 13);
    ok(MatMatMult(a, b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &c));
    ok(MatMatMult(plain_a, plain_b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &expected));
    EXPECT_LE(difference(c, expected), bound);
    EXPECT_EQ(event_count("TesseraSpGEMMSym"), symbolic + 1);
  }
}

TEST(PetscProduct, ANewStructureIsPlannedAnew) {
  const OwnedMat a = sequential(ours, {30, 30, Pattern::diagonal}, 11);
  const OwnedMat b = sequential(ours, {30, 30}, 12);
  ok(MatSetOption(a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  OwnedMat c;
  ok(MatMatMult(a, b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &c));
  fill(a, {30, 30, Pattern::hub_row}, 13);
  ok(MatMatMult(a, b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &c));
  const OwnedMat plain_a = sequential(MATSEQAIJ, {30, 30, Pattern::hub_row}, 13);
  const OwnedMat plain_b = sequential(MATSEQAIJ, {30, 30}, 12);
  OwnedMat expected;
  ok(MatMatMult(plain_a, plain_b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
  EXPECT_LE(difference(c, expected), bound);
}

TEST(PetscProduct, PtAPIsThatOfAijAndTakesNewValues) {
  const MatrixSpec square{40, 40};
  const MatrixSpec tall{40, 15};
  const OwnedMat a = sequential(ours, square, 11);
  const OwnedMat p = sequential(ours, tall, 12);
  const OwnedMat plain_a = sequential(MATSEQAIJ, square, 11);
  const OwnedMat plain_p = sequential(MATSEQAIJ, tall, 12);
  OwnedMat c;
  OwnedMat expected;
  const int symbolic = event_count("TesseraSpGEMMSym");
  ok(MatPtAP(a, p, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &c));
  ok(MatPtAP(plain_a, plain_p, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
  EXPECT_LE(difference(c, expected), bound);
  // New values of A, then of P, which is transposed again.
  const auto repeat = [&](Mat ours_too, Mat plain, const MatrixSpec& spec) {
    for (Mat each : {ours_too, plain}) fill(each, spec, 14);
    ok(MatPtAP(a, p, MAT_REUSE_MATRIX, PETSC_DEFAULT, &c));
    ok(MatPtAP(plain_a, plain_p, MAT_REUSE_MATRIX, PETSC_DEFAULT, &expected));
    EXPECT_LE(difference(c, expected), bound);
  };
  repeat(a, plain_a, square);
  repeat(p, plain_p, tall);
  EXPECT_EQ(event_count("TesseraSpGEMMSym"), symbolic + 1);
}

TEST(PetscProduct, MixedTypesAndOtherProducts) {
  const MatrixSpec spec{25, 25};
  const OwnedMat a = sequential(ours, spec, 11);
  const OwnedMat plain = sequential(MATSEQAIJ, spec, 12);
  const OwnedMat plain_a = sequential(MATSEQAIJ, spec, 11);
  const auto expect_same = [&](auto&& product, Mat left, Mat right, Mat plain_left, Mat plain_right) {
    OwnedMat c;
    OwnedMat expected;
    ok(product(left, right, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &c));
    ok(product(plain_left, plain_right, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
    EXPECT_LE(difference(c, expected), bound);
  };
  expect_same(MatMatMult, a, plain, plain_a, plain);
  expect_same(MatMatMult, plain, a, plain, plain_a);
  expect_same(MatPtAP, plain, a, plain, plain_a);
  expect_same(MatTransposeMatMult, a, a, plain_a, plain_a);
  expect_same(MatMatTransposeMult, a, a, plain_a, plain_a);
  OwnedMat dense;
  ok(MatConvert(plain, MATSEQDENSE, MAT_INITIAL_MATRIX, &dense));
  expect_same(MatMatMult, a, dense, plain_a, dense);
}

TEST(PetscProduct, OfMpiMatrices) {
  const MatrixSpec square{40, 40};
  const MatrixSpec tall{40, 15};
  const OwnedMat a = make_matrix("aijtessera", square, 11);
  const OwnedMat p = make_matrix("aijtessera", tall, 12);
  const OwnedMat plain_a = make_matrix(MATAIJ, square, 11);
  const OwnedMat plain_p = make_matrix(MATAIJ, tall, 12);
  OwnedMat c;
  OwnedMat expected;
  ok(MatPtAP(a, p, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &c));
  ok(MatPtAP(plain_a, plain_p, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
  EXPECT_LE(difference(c, expected), bound);
  OwnedMat dense;
  ok(MatConvert(plain_p, MATDENSE, MAT_INITIAL_MATRIX, &dense));
  OwnedMat with_dense;
  OwnedMat with_dense_expected;
  ok(MatMatMult(a, dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &with_dense));
  ok(MatMatMult(plain_a, dense, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &with_dense_expected));
  EXPECT_LE(difference(with_dense, with_dense_expected), bound);
}

}  // namespace
}  // namespace tessera::test
