// mpiaijtessera: MATMPIAIJ whose diagonal and off-diagonal blocks are seqaijtessera. PETSc's product then starts the
// scatter, multiplies by the diagonal block while it runs, and adds the off-diagonal block's product last.
#include "plugin.hpp"

#include <petsc/private/matimpl.h>

#include <array>

namespace tessera::petsc {

namespace {

/// The operations of MATMPIAIJ, the same for all its matrices.
_MatOps mpi_aij_ops;

/// Converts the blocks that PETSc has made; both are null before preallocation.
PetscErrorCode convert_blocks(Mat a, bool ours) {
  PetscFunctionBegin;
  std::array<Mat, 2> blocks{};
  PetscCall(MatMPIAIJGetSeqAIJ(a, &blocks[0], &blocks[1], nullptr));
  for (Mat& block : blocks) {
    if (block == nullptr) continue;
    if (ours) PetscCall(convert_seq_aij(block, seq_aij_type, MAT_INPLACE_MATRIX, &block));
    if (!ours) PetscCall(convert_seq_aij_back(block, MATSEQAIJ, MAT_INPLACE_MATRIX, &block));
  }
  PetscFunctionReturn(success);
}

/// Whatever made the blocks: preallocation, coordinates, a new off-diagonal block for new columns.
PetscErrorCode assembly_end(Mat a, MatAssemblyType type) {
  PetscFunctionBegin;
  PetscCall(mpi_aij_ops.assemblyend(a, type));
  if (type == MAT_FINAL_ASSEMBLY) PetscCall(convert_blocks(a, true));
  PetscFunctionReturn(success);
}

/// With a dense factor, as PETSc does it for MATMPIAIJ.
PetscErrorCode set_product_with_dense(Mat c) {
  PetscFunctionBegin;
  PetscErrorCode (*set)(Mat) = nullptr;
  PetscCall(PetscObjectQueryFunction(reinterpret_cast<PetscObject>(c->product->B),
                                     "MatProductSetFromOptions_mpiaij_mpidense_C", &set));
  PetscCheck(set != nullptr, PETSC_COMM_SELF, PETSC_ERR_SUP, "tessera: no product of mpiaij with %s",
             reinterpret_cast<PetscObject>(c->product->B)->type_name);
  PetscCall((*set)(c));
  PetscFunctionReturn(success);
}

PetscErrorCode convert(Mat a, MatType type, MatReuse reuse, Mat* converted);
PetscErrorCode convert_back(Mat a, MatType type, MatReuse reuse, Mat* converted);

/// What A offers by name; null functions take it back.
PetscErrorCode compose(Mat a, bool ours) {
  PetscFunctionBegin;
  const auto object = reinterpret_cast<PetscObject>(a);
  const auto offer = [&](const char* name, auto function) {
    return PetscObjectComposeFunction(object, name, ours ? function : nullptr);
  };
  PetscCall(offer("MatConvert_mpiaij_mpiaijtessera_C", &convert));
  PetscCall(offer("MatConvert_mpiaijtessera_mpiaij_C", &convert_back));
  PetscCall(offer("MatProductSetFromOptions_mpiaijtessera_mpidense_C", &set_product_with_dense));
  PetscFunctionReturn(success);
}

PetscErrorCode destroy(Mat a) {
  PetscFunctionBegin;
  PetscCall(compose(a, false));
  a->ops->destroy = mpi_aij_ops.destroy;
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), MATMPIAIJ));
  PetscCall(mpi_aij_ops.destroy(a));
  PetscFunctionReturn(success);
}

/// From MATMPIAIJ to mpiaijtessera, in place; nothing for another type.
PetscErrorCode make_ours(Mat a) {
  PetscFunctionBegin;
  PetscBool is_plain = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATMPIAIJ, &is_plain));
  if (!is_plain) PetscFunctionReturn(success);
  a->ops->assemblyend = assembly_end;
  a->ops->destroy = destroy;
  PetscCall(compose(a, true));
  PetscCall(convert_blocks(a, true));
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), mpi_aij_type));
  PetscFunctionReturn(success);
}

PetscErrorCode make_plain(Mat a) {
  PetscFunctionBegin;
  PetscBool is_ours = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), mpi_aij_type, &is_ours));
  if (!is_ours) PetscFunctionReturn(success);
  a->ops->assemblyend = mpi_aij_ops.assemblyend;
  a->ops->destroy = mpi_aij_ops.destroy;
  PetscCall(compose(a, false));
  PetscCall(convert_blocks(a, false));
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), MATMPIAIJ));
  PetscFunctionReturn(success);
}

PetscErrorCode convert(Mat a, MatType /*type*/, MatReuse reuse, Mat* converted) {
  return convert_by(a, reuse, converted, make_ours);
}

PetscErrorCode convert_back(Mat a, MatType /*type*/, MatReuse reuse, Mat* converted) {
  return convert_by(a, reuse, converted, make_plain);
}

PetscErrorCode create(Mat a) {
  PetscFunctionBegin;
  PetscCall(MatSetType(a, MATMPIAIJ));
  PetscCall(make_ours(a));
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode register_mpi_aij() {
  PetscFunctionBegin;
  Mat plain = nullptr;
  PetscCall(MatCreate(PETSC_COMM_SELF, &plain));
  PetscCall(MatSetType(plain, MATMPIAIJ));
  mpi_aij_ops = *plain->ops;
  PetscCall(MatDestroy(&plain));
  PetscCall(MatRegister(mpi_aij_type, create));
  PetscCall(MatRegisterRootName(aij_type, seq_aij_type, mpi_aij_type));
  PetscFunctionReturn(success);
}

}  // namespace tessera::petsc
