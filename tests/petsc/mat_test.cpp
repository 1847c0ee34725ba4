// Products and changes of aijtessera against PETSc's own aij, on as many processes as mpiexec starts.
#include "petsc_test.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace tessera::test {
namespace {

constexpr const char* ours = "aijtessera";

/// Sums of at most n products of numbers in [-1, 1], in any order, plus one.
[[nodiscard]] double rounding(const MatrixSpec& spec) {
  const auto n = static_cast<double>(std::max(spec.rows, spec.cols) + 1);
  return 2.0 * n * n * PETSC_MACHINE_EPSILON;
}

/// All four products of A are those of B, but for rounding.
void expect_same_products(Mat a, Mat b, double bound) {
  OwnedVec x;
  OwnedVec y;
  ok(MatCreateVecs(a, &x, &y));
  fill(x, 3);
  fill(y, 4);
  OwnedVec forward;
  OwnedVec forward_too;
  OwnedVec back;
  OwnedVec back_too;
  ok(VecDuplicate(y, &forward));
  ok(VecDuplicate(y, &forward_too));
  ok(VecDuplicate(x, &back));
  ok(VecDuplicate(x, &back_too));

  // The old content is not read.
  ok(VecSet(forward, PETSC_INFINITY));
  ok(MatMult(a, x, forward));
  ok(MatMult(b, x, forward_too));
  EXPECT_LE(difference(forward_too, forward), bound) << "A x";
  ok(VecSet(back, PETSC_INFINITY));
  ok(MatMultTranspose(a, y, back));
  ok(MatMultTranspose(b, y, back_too));
  EXPECT_LE(difference(back_too, back), bound) << "A' y";

  ok(MatMultAdd(a, x, y, forward));
  ok(MatMultAdd(b, x, y, forward_too));
  EXPECT_LE(difference(forward_too, forward), bound) << "y + A x";
  ok(MatMultTransposeAdd(a, y, x, back));
  ok(MatMultTransposeAdd(b, y, x, back_too));
  EXPECT_LE(difference(back_too, back), bound) << "x + A' y";

  // In place.
  ok(VecCopy(y, forward));
  ok(MatMultAdd(a, x, forward, forward));
  EXPECT_LE(difference(forward_too, forward), bound) << "y += A x";
  ok(VecCopy(x, back));
  ok(MatMultTransposeAdd(a, y, back, back));
  EXPECT_LE(difference(back_too, back), bound) << "x += A' y";
}

/// Under MPI the type of both blocks, else of the matrix.
void expect_our_blocks(Mat a) {
  if (processes() == 1) {
    EXPECT_EQ(type_of(a), "seqaijtessera");
    return;
  }
  EXPECT_EQ(type_of(a), "mpiaijtessera");
  Mat diagonal = nullptr;
  Mat off_diagonal = nullptr;
  ok(MatMPIAIJGetSeqAIJ(a, &diagonal, &off_diagonal, nullptr));
  EXPECT_EQ(type_of(diagonal), "seqaijtessera");
  EXPECT_EQ(type_of(off_diagonal), "seqaijtessera");
}

constexpr std::array specs{
    MatrixSpec{40, 40, Pattern::random},   MatrixSpec{57, 31, Pattern::random},
    MatrixSpec{31, 57, Pattern::random},   MatrixSpec{60, 60, Pattern::every_fourth_row},
    MatrixSpec{48, 48, Pattern::diagonal}, MatrixSpec{50, 50, Pattern::hub_row},
    MatrixSpec{20, 20, Pattern::none},     MatrixSpec{0, 0, Pattern::random},
    MatrixSpec{0, 5, Pattern::random},     MatrixSpec{5, 0, Pattern::random},
    MatrixSpec{1, 1, Pattern::random},     MatrixSpec{2, 2, Pattern::random},
};

TEST(PetscMat, ProductsAreThoseOfAij) {
  for (const MatrixSpec& spec : specs) {
    SCOPED_TRACE(std::to_string(spec.rows) + " x " + std::to_string(spec.cols));
    const OwnedMat a = make_matrix(ours, spec);
    const OwnedMat b = make_matrix(MATAIJ, spec);
    expect_our_blocks(a);
    expect_same_products(a, b, rounding(spec));
  }
}

/// Changes of A and B alike; after each of them products are compared, so that plans exist before.
void expect_same_after_changes(Mat a, Mat b, const MatrixSpec& spec) {
  expect_same_products(a, b, rounding(spec));
  for (Mat each : {a, b}) ok(MatScale(each, -0.5));
  expect_same_products(a, b, rounding(spec));
  for (Mat each : {a, b}) fill(each, spec, 5);
  expect_same_products(a, b, rounding(spec));
  for (Mat each : {a, b}) {
    OwnedVec left;
    OwnedVec right;
    ok(MatCreateVecs(each, &right, &left));
    fill(left, 6);
    fill(right, 7);
    ok(MatDiagonalScale(each, left, right));
  }
  expect_same_products(a, b, rounding(spec));
  for (Mat each : {a, b}) ok(MatZeroEntries(each));
  expect_same_products(a, b, 0.0);
  // Entries at new positions, in columns of other processes, too.
  for (Mat each : {a, b}) fill(each, {spec.rows, spec.cols, Pattern::hub_row}, 8);
  expect_same_products(a, b, rounding(spec));
}

TEST(PetscMat, SeesNewValuesAndNewStructures) {
  const MatrixSpec spec{40, 40, Pattern::random};
  for (const char* kernel : {"auto", "csr", "merge", "merbit", "csr5", "tiles", "sell"}) {
    SCOPED_TRACE(kernel);
    const Option option("-mat_tessera_kernel", kernel);
    const OwnedMat a = make_matrix(ours, spec);
    const OwnedMat b = make_matrix(MATAIJ, spec);
    for (Mat each : {Mat{a}, Mat{b}}) ok(MatSetOption(each, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    expect_same_after_changes(a, b, spec);
    expect_our_blocks(a);
  }
}

TEST(PetscMat, PlansOncePerStructure) {
  const MatrixSpec spec{30, 30, Pattern::random};
  const OwnedMat a = make_matrix("seqaijtessera", spec, 2, 0.0, PETSC_COMM_SELF);
  ok(MatSetOption(a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  OwnedVec x;
  OwnedVec y;
  ok(MatCreateVecs(a, &x, &y));
  fill(x, 3);
  const int before = event_count("TesseraPlan");
  const auto multiply_twice = [&] {
    ok(MatMult(a, x, y));
    ok(MatMult(a, x, y));
  };
  multiply_twice();
  EXPECT_EQ(event_count("TesseraPlan"), before + 1);
  fill(a, spec, 5);
  multiply_twice();
  EXPECT_EQ(event_count("TesseraPlan"), before + 1);
  fill(a, {30, 30, Pattern::hub_row}, 5);
  multiply_twice();
  EXPECT_EQ(event_count("TesseraPlan"), before + 2);

  // A kernel that keeps copies is told of new values once.
  const Option option("-mat_tessera_kernel", "sell");
  const int updates = event_count("TesseraValues");
  const OwnedMat sliced = make_matrix("seqaijtessera", spec, 2, 0.0, PETSC_COMM_SELF);
  ok(MatMult(sliced, x, y));
  ok(MatScale(sliced, 2.0));
  ok(MatMult(sliced, x, y));
  ok(MatMult(sliced, x, y));
  EXPECT_EQ(event_count("TesseraValues"), updates + 1);
}

TEST(PetscMat, ConvertsBothWaysAndDuplicates) {
  const MatrixSpec spec{33, 29, Pattern::random};
  const OwnedMat plain = make_matrix(MATAIJ, spec);
  OwnedMat converted;
  ok(MatConvert(plain, ours, MAT_INITIAL_MATRIX, &converted));
  expect_our_blocks(converted);
  expect_same_products(converted, plain, rounding(spec));

  OwnedMat copy;
  ok(MatDuplicate(converted, MAT_COPY_VALUES, &copy));
  expect_our_blocks(copy);
  expect_same_products(copy, plain, rounding(spec));

  ok(MatScale(plain, 3.0));
  ok(MatConvert(plain, ours, MAT_REUSE_MATRIX, &converted));
  expect_same_products(converted, plain, 3.0 * rounding(spec));

  ok(MatConvert(converted, MATAIJ, MAT_INPLACE_MATRIX, &converted));
  EXPECT_EQ(type_of(converted), processes() == 1 ? "seqaij" : "mpiaij");
  expect_same_products(converted, plain, 3.0 * rounding(spec));
  ok(MatConvert(converted, ours, MAT_INPLACE_MATRIX, &converted));
  expect_our_blocks(converted);
  expect_same_products(converted, plain, 3.0 * rounding(spec));
}

// MatHeaderMerge(), of MatAXPY() with another pattern, gives A the composed objects of another matrix.
TEST(PetscMat, SurvivesAnExchangeOfItsInside) {
  const MatrixSpec spec{40, 40, Pattern::random};
  const MatrixSpec other{40, 40, Pattern::hub_row};
  const OwnedMat a = make_matrix(ours, spec);
  const OwnedMat b = make_matrix(MATAIJ, spec);
  expect_same_products(a, b, rounding(spec));
  ok(MatAXPY(a, 2.0, make_matrix(ours, other), DIFFERENT_NONZERO_PATTERN));
  ok(MatAXPY(b, 2.0, make_matrix(MATAIJ, other), DIFFERENT_NONZERO_PATTERN));
  expect_same_products(a, b, 3.0 * rounding(spec));
  Mat transposed = a;
  ok(MatTranspose(transposed, MAT_INPLACE_MATRIX, &transposed));
  Mat transposed_too = b;
  ok(MatTranspose(transposed_too, MAT_INPLACE_MATRIX, &transposed_too));
  expect_same_products(a, b, 3.0 * rounding(spec));
}

TEST(PetscMat, WrittenMatricesAreReadBack) {
  const MatrixSpec spec{35, 35, Pattern::random};
  const OwnedMat a = make_matrix(ours, spec);
  const std::string path = testing::TempDir() + "tessera_petsc_test_" + std::to_string(processes()) + ".bin";
  PetscViewer viewer = nullptr;
  ok(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path.c_str(), FILE_MODE_WRITE, &viewer));
  ok(MatView(a, viewer));
  ok(PetscViewerDestroy(&viewer));
  OwnedMat loaded;
  ok(MatCreate(PETSC_COMM_WORLD, &loaded));
  ok(MatSetType(loaded, ours));
  ok(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path.c_str(), FILE_MODE_READ, &viewer));
  ok(MatLoad(loaded, viewer));
  ok(PetscViewerDestroy(&viewer));
  expect_our_blocks(loaded);
  expect_same_products(loaded, make_matrix(MATAIJ, spec), rounding(spec));
  PetscMPIInt rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (rank == 0) {
    for (const std::string& each : {path, path + ".info"}) std::remove(each.c_str());
  }
}

TEST(PetscMat, RefusesUnknownKernelsAndThreads) {
  const OwnedMat a = make_matrix("seqaijtessera", {9, 9}, 2, 0.0, PETSC_COMM_SELF);
  OwnedVec x;
  OwnedVec y;
  ok(MatCreateVecs(a, &x, &y));
  ok(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
  {
    const Option option("-mat_tessera_kernel", "cser");
    EXPECT_EQ(MatMult(a, x, y), PETSC_ERR_ARG_OUTOFRANGE);
    EXPECT_NE(last_message().find("did you mean 'csr'"), std::string::npos) << last_message();
  }
  {
    const Option option("-mat_tessera_kernel", "vendor-csr");
    EXPECT_EQ(MatMult(a, x, y), PETSC_ERR_SUP);
    EXPECT_NE(last_message().find("does not run on host"), std::string::npos) << last_message();
  }
  {
    const Option option("-mat_tessera_threads", "0");
    EXPECT_EQ(MatMult(a, x, y), PETSC_ERR_ARG_OUTOFRANGE);
    EXPECT_NE(last_message().find("-mat_tessera_threads 0"), std::string::npos) << last_message();
  }
  ok(PetscPopErrorHandler());
  ok(MatMult(a, x, y));
}

}  // namespace
}  // namespace tessera::test
