// -pc_type tessera: against PETSc's own preconditioners where both are the same operator, and as preconditioners.
#include "petsc_test.hpp"

#include "tessera/generators.hpp"

#include <malloc.h>
#include <petscksp.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::test {
namespace {

using OwnedKsp = Owned<KSP, KSPDestroy>;
using OwnedPc = Owned<PC, PCDestroy>;

/// Five-point Laplacian of an n x n grid, with `drift` that makes it unsymmetric.
[[nodiscard]] OwnedMat laplacian(MatType type, PetscInt n, double drift = 0.0) {
  OwnedMat a;
  ok(MatCreate(PETSC_COMM_WORLD, &a));
  ok(MatSetSizes(a, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  ok(MatSetType(a, type));
  ok(MatSetUp(a));
  PetscInt begin = 0;
  PetscInt end = 0;
  ok(MatGetOwnershipRange(a, &begin, &end));
  const auto set = [&a](PetscInt row, PetscInt col, double value) {
    ok(MatSetValue(a, row, col, static_cast<PetscScalar>(value), INSERT_VALUES));
  };
  for (PetscInt row = begin; row < end; ++row) {
    const PetscInt i = row / n;
    const PetscInt j = row % n;
    set(row, row, 4.0);
    if (i > 0) set(row, row - n, -1.0 - drift);
    if (i < n - 1) set(row, row + n, -1.0 + drift);
    if (j > 0) set(row, row - 1, -1.0);
    if (j < n - 1) set(row, row + 1, -1.0);
  }
  ok(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  ok(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  return a;
}

[[nodiscard]] OwnedPc make_pc(Mat a, const char* type, const char* word = nullptr) {
  OwnedPc pc;
  ok(PCCreate(PetscObjectComm(reinterpret_cast<PetscObject>(a)), &pc));
  ok(PCSetOperators(pc, a, a));
  ok(PCSetType(pc, type));
  const Option option("-pc_tessera_type", word == nullptr ? "ilu0" : word);
  ok(PCSetFromOptions(pc));
  return pc;
}

/// max |M x - N x|
[[nodiscard]] double difference(PC m, PC n, Mat a) {
  OwnedVec x;
  OwnedVec y;
  OwnedVec z;
  ok(MatCreateVecs(a, &x, &y));
  ok(VecDuplicate(y, &z));
  fill(x, 21);
  ok(VecSet(y, PETSC_INFINITY));
  ok(PCApply(m, x, y));
  ok(PCApply(n, x, z));
  return difference(y, z);
}

TEST(PetscPc, JacobiAndDirectAreThoseOfPetsc) {
  const Option sub("-sub_pc_type", "lu");
  for (const char* type : {"aijtessera", MATAIJ}) {
    const OwnedMat a = laplacian(type, 9, 0.3);
    EXPECT_LE(difference(make_pc(a, "tessera", "jacobi"), make_pc(a, PCJACOBI), a), 1e-15) << type;
    EXPECT_LE(difference(make_pc(a, "tessera", "direct"), make_pc(a, PCBJACOBI), a), 1e-12) << type;
  }
}

TEST(PetscPc, TakesNewValuesAndNewStructures) {
  const Option sub("-sub_pc_type", "lu");
  const MatrixSpec spec{30, 30};
  const OwnedMat a = make_matrix("aijtessera", spec, 2, 20.0);
  ok(MatSetOption(a, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  const OwnedPc ours = make_pc(a, "tessera", "direct");
  EXPECT_LE(difference(ours, make_pc(a, PCBJACOBI), a), 1e-13);
  fill(a, spec, 5, 20.0);
  ok(PCSetOperators(ours, a, a));
  EXPECT_LE(difference(ours, make_pc(a, PCBJACOBI), a), 1e-13);
  fill(a, {30, 30, Pattern::hub_row}, 6, 30.0);
  ok(PCSetOperators(ours, a, a));
  EXPECT_LE(difference(ours, make_pc(a, PCBJACOBI), a), 1e-13);
}

TEST(PetscPc, ApplyTransposeIsAdjoint) {
  const OwnedMat a = laplacian("aijtessera", 9);
  for (const char* word : {"jacobi", "ic0", "fsai", "spai:0", "amg"}) {
    const OwnedPc pc = make_pc(a, "tessera", word);
    OwnedVec x;
    OwnedVec y;
    OwnedVec image;
    ok(MatCreateVecs(a, &x, &y));
    ok(VecDuplicate(x, &image));
    fill(x, 22);
    fill(y, 23);
    PetscScalar forward = 0;
    PetscScalar back = 0;
    ok(PCApply(pc, x, image));
    ok(VecDot(image, y, &forward));
    ok(PCApplyTranspose(pc, y, image));
    ok(VecDot(x, image, &back));
    EXPECT_NEAR(forward, back, 1e-5) << word;  // the cycle of amg is in single precision
  }
}

/// Iterations to a relative residual of 1e-8, which the solution must really have.
[[nodiscard]] PetscInt iterations(Mat a, const char* method, const char* word) {
  OwnedKsp ksp;
  ok(KSPCreate(PetscObjectComm(reinterpret_cast<PetscObject>(a)), &ksp));
  ok(KSPSetOperators(ksp, a, a));
  ok(KSPSetType(ksp, method));
  ok(KSPSetNormType(ksp, method == std::string(KSPCG) ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_DEFAULT));
  if (method != std::string(KSPCG)) ok(KSPSetPCSide(ksp, PC_RIGHT));
  ok(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
  PC pc = nullptr;
  ok(KSPGetPC(ksp, &pc));
  ok(PCSetType(pc, word == nullptr ? PCNONE : "tessera"));
  const Option option("-pc_tessera_type", word == nullptr ? "ilu0" : word);
  ok(KSPSetFromOptions(ksp));
  OwnedVec x;
  OwnedVec b;
  OwnedVec residual;
  ok(MatCreateVecs(a, &x, &b));
  ok(VecDuplicate(b, &residual));
  fill(b, 24);
  ok(KSPSolve(ksp, b, x));
  PetscReal norm = 0;
  PetscReal size = 0;
  ok(MatResidual(a, b, x, residual));
  ok(VecNorm(residual, NORM_2, &norm));
  ok(VecNorm(b, NORM_2, &size));
  EXPECT_LE(norm, 2e-8 * size) << (word == nullptr ? "none" : word);
  PetscInt count = 0;
  ok(KSPGetIterationNumber(ksp, &count));
  return count;
}

TEST(PetscPc, EveryWordPreconditions) {
  const OwnedMat symmetric = laplacian("aijtessera", 16);
  const PetscInt plain = iterations(symmetric, KSPCG, nullptr);
  for (const char* word : {"ic0", "ict:1e-2:20", "amg", "fsai", "fsai:1:0.05", "poly:4", "neumann:3", "direct"}) {
    EXPECT_LT(iterations(symmetric, KSPCG, word), plain) << word;
  }
  const OwnedMat drifting = laplacian("aijtessera", 16, 0.4);
  const PetscInt plain_too = iterations(drifting, KSPGMRES, nullptr);
  for (const char* word :
       {"ilu0", "iluk:2", "ilut:1e-3:20", "ilutp", "bjacobi:2:ilut:1e-2", "bjacobi:3", "spai", "spai:1"}) {
    EXPECT_LT(iterations(drifting, KSPGMRES, word), plain_too) << word;
  }
}

TEST(PetscPc, MoreProcessesThanRows) {
  const OwnedMat a = make_matrix("aijtessera", {2, 2}, 2, 4.0);
  EXPECT_LE(iterations(a, KSPGMRES, "ilu0"), 2);
  EXPECT_LE(iterations(a, KSPGMRES, "spai"), 2);
}

// Elasticity: three unknowns per node and rigid-body modes, from the matrix itself.
TEST(PetscPc, AmgTakesBlockSizeAndNearNullspaceFromTheMatrix) {
  if (processes() > 1) GTEST_SKIP() << "the matrix is sequential";
  const GeneratorSpec spec = parse_generator("elasticity3d:8");
  const Csr<double> elastic = generate<double>(spec);
  std::vector<double> coordinates = generator_coordinates(spec);
  const std::vector<PetscInt> offsets(elastic.row_offsets().begin(), elastic.row_offsets().end());
  const PetscInt n = elastic.rows();
  ASSERT_EQ(coordinates.size(), static_cast<std::size_t>(n));
  OwnedMat a;
  ok(MatCreate(PETSC_COMM_SELF, &a));
  ok(MatSetSizes(a, n, n, n, n));
  ok(MatSetType(a, "seqaijtessera"));
  ok(MatSeqAIJSetPreallocationCSR(a, offsets.data(), elastic.columns().data(), elastic.values().data()));
  // The unknowns per node are found without it.
  const PetscInt without_modes = iterations(a, KSPCG, "amg");
  ok(MatSetBlockSize(a, 3));
  OwnedVec points;
  ok(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, n, coordinates.data(), &points));
  ok(VecSetBlockSize(points, 3));
  MatNullSpace modes = nullptr;
  ok(MatNullSpaceCreateRigidBody(points, &modes));
  ok(MatSetNearNullSpace(a, modes));
  ok(MatNullSpaceDestroy(&modes));
  EXPECT_LT(3 * iterations(a, KSPCG, "amg"), 2 * without_modes);
}

// Plans are memory of C++, which -malloc_dump does not see.
TEST(PetscPc, NothingStaysBehindWhenAllIsDestroyed) {
  if (processes() > 1) GTEST_SKIP() << "all of it is sequential";
  const auto live_and_die = [] {
    const OwnedMat a = make_matrix("seqaijtessera", {60, 60}, 2, 20.0, PETSC_COMM_SELF);
    OwnedVec x;
    OwnedVec y;
    ok(MatCreateVecs(a, &x, &y));
    fill(x, 21);
    ok(MatMult(a, x, y));
    ok(MatMultTranspose(a, x, y));
    OwnedMat square;
    ok(MatMatMult(a, a, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &square));
    OwnedMat galerkin;
    ok(MatPtAP(a, a, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &galerkin));
    OwnedMat plain;
    ok(MatConvert(square, MATSEQAIJ, MAT_INITIAL_MATRIX, &plain));
    for (const char* word : {"ilut", "spai", "direct"}) ok(PCApply(make_pc(a, "tessera", word), x, y));
  };
  for (int warming = 0; warming < 3; ++warming) live_and_die();
  const std::size_t before = mallinfo2().uordblks;
  for (int round = 0; round < 40; ++round) live_and_die();
  // A plan of this size takes kilobytes in each round; malloc's own lists of small blocks count as in use.
  EXPECT_LE(mallinfo2().uordblks, before + (std::size_t{1} << 16U));
}

TEST(PetscPc, RefusesWithItsWords) {
  const OwnedMat a = make_matrix("aijtessera", {9, 9, Pattern::random}, 2, 3.0);
  ok(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
  OwnedPc pc;
  ok(PCCreate(PETSC_COMM_WORLD, &pc));
  ok(PCSetOperators(pc, a, a));
  ok(PCSetType(pc, "tessera"));
  for (const char* word :
       {"", "ilu", "ilu0:1", "ilut:x", "ilut:1e-3:", "ilut:1e-3:20:1", "bjacobi:2:jacobi", "amg:2", "bjacobi"}) {
    const Option option("-pc_tessera_type", word);
    EXPECT_EQ(PCSetFromOptions(pc), PETSC_ERR_ARG_OUTOFRANGE) << word;
    EXPECT_NE(last_message().find("ilut:TAU:P"), std::string::npos) << word << ": " << last_message();
  }
  {
    const Option option("-pc_tessera_type", "fsai:7");
    ok(PCSetFromOptions(pc));
    EXPECT_EQ(PCSetUp(pc), PETSC_ERR_ARG_OUTOFRANGE);
  }
  if (processes() == 1) {
    const Option option("-pc_tessera_type", "ic0");
    ok(PCSetFromOptions(pc));
    EXPECT_EQ(PCSetUp(pc), PETSC_ERR_ARG_WRONG);
    EXPECT_NE(last_message().find("entry (1, 4) is not stored"), std::string::npos) << last_message();
  }
  ok(PetscPopErrorHandler());
}

}  // namespace
}  // namespace tessera::test
