// seqaijtessera: MATSEQAIJ whose products run by plans of Tessera. The arrays stay PETSc's; the plan of a structure is
// made by the first product with it, and hangs on the matrix as a composed object, so that it goes wherever PETSc moves
// the matrix to.
#include "plugin.hpp"
#include "seq_aij.hpp"
#include "seq_products.hpp"

#include <petsc/private/matimpl.h>

#include <array>
#include <cstddef>

namespace tessera::petsc {

PetscErrorCode get_arrays(Mat a, SeqAijArrays* arrays) {
  static constexpr PetscInt no_rows = 0;
  PetscFunctionBegin;
  const PetscInt* offsets = nullptr;
  const PetscInt* columns = nullptr;
  PetscScalar* values = nullptr;
  PetscMemType memory = PETSC_MEMTYPE_HOST;
  PetscCall(MatSeqAIJGetCSRAndMemType(a, &offsets, &columns, &values, &memory));
  PetscCheck(PetscMemTypeHost(memory), PETSC_COMM_SELF, PETSC_ERR_SUP, "tessera: the matrix does not lie on the host");
  const PetscInt rows = a->rmap->n;
  if (rows == 0) offsets = &no_rows;
  const auto nnz = static_cast<std::size_t>(offsets[rows]);
  PetscCheck(values != nullptr || nnz == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "tessera: the matrix has %zu positions and no values (MAT_STRUCTURE_ONLY)", nnz);
  arrays->key = {a->nonzerostate, rows, a->cmap->n, offsets, columns, values};
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(a), &arrays->state));
  arrays->offsets = {offsets, static_cast<std::size_t>(rows) + 1};
  arrays->columns = {columns, nnz};
  arrays->values = {values, nnz};
  PetscFunctionReturn(success);
}

namespace {

constexpr const char* products_key = "tessera products";

/// The operations of MATSEQAIJ, the same for all its matrices.
_MatOps seq_aij_ops;
bool knows_seq_aij_ops = false;

void remember_operations(Mat plain) {
  if (!knows_seq_aij_ops) seq_aij_ops = *plain->ops;
  knows_seq_aij_ops = true;
}

PetscErrorCode destroy_products(void* products) {
  delete static_cast<Products*>(products);
  return success;
}

/// Null where the matrix has none yet.
PetscErrorCode find_products(Mat a, Products** products) {
  PetscFunctionBegin;
  *products = nullptr;
  PetscObject container = nullptr;
  PetscCall(PetscObjectQuery(reinterpret_cast<PetscObject>(a), products_key, &container));
  if (container != nullptr) {
    void* pointer = nullptr;
    PetscCall(PetscContainerGetPointer(reinterpret_cast<PetscContainer>(container), &pointer));
    *products = static_cast<Products*>(pointer);
  }
  PetscFunctionReturn(success);
}

/// MatHeaderMerge() brings the operations of one matrix together with the composed objects of another, so these may be
/// missing.
PetscErrorCode get_products(Mat a, Products** products) {
  PetscFunctionBegin;
  PetscCall(find_products(a, products));
  if (*products == nullptr) {
    PetscCall(guarded([&] { *products = new Products; }));
    PetscContainer container = nullptr;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, *products));
    PetscCall(PetscContainerSetUserDestroy(container, destroy_products));
    PetscCall(
        PetscObjectCompose(reinterpret_cast<PetscObject>(a), products_key, reinterpret_cast<PetscObject>(container)));
    PetscCall(PetscContainerDestroy(&container));
  }
  PetscFunctionReturn(success);
}

PetscErrorCode read_options(Mat a, SpmvOptions* options) {
  PetscFunctionBegin;
  const auto object = reinterpret_cast<PetscObject>(a);
  PetscCall(get_host(object, "-mat_tessera_threads", &options->device));
  std::array<char, 64> word{};
  PetscBool given = PETSC_FALSE;
  PetscCall(
      PetscOptionsGetString(object->options, object->prefix, "-mat_tessera_kernel", word.data(), word.size(), &given));
  if (given) PetscCall(guarded([&] { options->algorithm = parse_spmv_algorithm(word.data()); }));
  PetscFunctionReturn(success);
}

/// The products of A, with a plan for its structure and its values.
PetscErrorCode get_current_products(Mat a, Products** products) {
  PetscFunctionBegin;
  SeqAijArrays arrays;
  PetscCall(get_arrays(a, &arrays));
  PetscCall(get_products(a, products));
  if (!(*products)->fits(arrays)) {
    SpmvOptions options;
    PetscCall(read_options(a, &options));
    PetscCall(PetscLogEventBegin(events.plan, a, nullptr, nullptr, nullptr));
    PetscCall(guarded([&] { (*products)->make_plan(arrays, options); }));
    PetscCall(PetscLogEventEnd(events.plan, a, nullptr, nullptr, nullptr));
  } else if (!(*products)->is_current(arrays)) {
    PetscCall(PetscLogEventBegin(events.values, a, nullptr, nullptr, nullptr));
    PetscCall(guarded([&] { (*products)->update_values(arrays); }));
    PetscCall(PetscLogEventEnd(events.values, a, nullptr, nullptr, nullptr));
  }
  PetscCall(PetscLogFlops(2.0 * static_cast<double>(arrays.values.size())));
  PetscFunctionReturn(success);
}

PetscErrorCode get_transposed_products(Mat a, Products** products) {
  PetscFunctionBegin;
  SeqAijArrays arrays;
  PetscCall(get_arrays(a, &arrays));
  PetscCall(get_products(a, products));
  if (!(*products)->transposed_is_current(arrays)) {
    SpmvOptions options;
    PetscCall(read_options(a, &options));
    PetscCall(PetscLogEventBegin(events.transpose, a, nullptr, nullptr, nullptr));
    PetscCall(guarded([&] { (*products)->make_transposed(arrays, options); }));
    PetscCall(PetscLogEventEnd(events.transpose, a, nullptr, nullptr, nullptr));
  }
  PetscCall(PetscLogFlops(2.0 * static_cast<double>(arrays.values.size())));
  PetscFunctionReturn(success);
}

/// Runs body(x, y) on the local entries of both vectors. \param reads_y y holds numbers that the body reads
template <class Body>
PetscErrorCode with_arrays(Vec x, Vec y, bool reads_y, const Body& body) {
  PetscFunctionBegin;
  PetscInt x_size = 0;
  PetscInt y_size = 0;
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscCall(VecGetLocalSize(x, &x_size));
  PetscCall(VecGetLocalSize(y, &y_size));
  PetscCall(VecGetArrayRead(x, &from));
  if (reads_y) PetscCall(VecGetArray(y, &to));
  if (!reads_y) PetscCall(VecGetArrayWrite(y, &to));
  const PetscErrorCode outcome = guarded([&] {
    body(Vector(from, static_cast<std::size_t>(x_size)), MutableVector(to, static_cast<std::size_t>(y_size)));
  });
  if (reads_y) PetscCall(VecRestoreArray(y, &to));
  if (!reads_y) PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(outcome);
  PetscFunctionReturn(success);
}

PetscErrorCode mult(Mat a, Vec x, Vec y) {
  PetscFunctionBegin;
  Products* products = nullptr;
  PetscCall(get_current_products(a, &products));
  PetscCall(with_arrays(x, y, false, [&](Vector from, MutableVector to) { products->multiply(from, to); }));
  PetscFunctionReturn(success);
}

PetscErrorCode mult_add(Mat a, Vec x, Vec y, Vec z) {
  PetscFunctionBegin;
  Products* products = nullptr;
  PetscCall(get_current_products(a, &products));
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(with_arrays(x, z, true, [&](Vector from, MutableVector to) { products->multiply_add(from, to); }));
  PetscFunctionReturn(success);
}

PetscErrorCode mult_transpose(Mat a, Vec x, Vec y) {
  PetscFunctionBegin;
  Products* products = nullptr;
  PetscCall(get_transposed_products(a, &products));
  PetscCall(with_arrays(
      x, y, false, [&](Vector from, MutableVector to) { products->multiply_transposed(from, to, PetscScalar{0}); }));
  PetscFunctionReturn(success);
}

PetscErrorCode mult_transpose_add(Mat a, Vec x, Vec y, Vec z) {
  PetscFunctionBegin;
  Products* products = nullptr;
  PetscCall(get_transposed_products(a, &products));
  if (y != z) PetscCall(VecCopy(y, z));
  PetscCall(with_arrays(
      x, z, true, [&](Vector from, MutableVector to) { products->multiply_transposed(from, to, PetscScalar{1}); }));
  PetscFunctionReturn(success);
}

PetscErrorCode view(Mat a, PetscViewer viewer) {
  PetscFunctionBegin;
  PetscCall(seq_aij_ops.view(a, viewer));
  PetscBool is_text = PETSC_FALSE;
  PetscViewerFormat format = PETSC_VIEWER_DEFAULT;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_text));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (!is_text || (format != PETSC_VIEWER_ASCII_INFO && format != PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    PetscFunctionReturn(success);
  }
  Products* products = nullptr;
  PetscCall(find_products(a, &products));
  const Products::Plan* plan = products == nullptr ? nullptr : products->plan();
  if (plan == nullptr) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "tessera: no plan yet, no product was formed\n"));
    PetscFunctionReturn(success);
  }
  const PlanInfo& info = plan->info();
  PetscCall(PetscViewerASCIIPrintf(viewer, "tessera: kernel %s, threads %d, %zu bytes besides the matrix\n",
                                   to_string(info.algorithm).data(), plan->device().threads(),
                                   static_cast<std::size_t>(info.bytes)));
  if (products->compressed_rows() > 0) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "tessera: %zu rows have entries\n", products->compressed_rows()));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "tessera: %s\n", info.reason.c_str()));
  PetscFunctionReturn(success);
}

/// Called where one factor is ours: PETSc finds it by the operations of A or by the names of both types.
PetscErrorCode set_product(Mat c) {
  PetscFunctionBegin;
  const Mat_Product* product = c->product;
  const bool is_ours = product->type == MATPRODUCT_AB || product->type == MATPRODUCT_PtAP;
  PetscBool is_seq_aij = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(product->B), MATSEQAIJ, &is_seq_aij));
  if (is_ours && is_seq_aij) {
    c->ops->productsymbolic = product_symbolic;
  } else {
    PetscCall(seq_aij_ops.productsetfromoptions(c));
  }
  PetscFunctionReturn(success);
}

/// With a dense factor, as PETSc does it for MATSEQAIJ.
PetscErrorCode set_product_with_dense(Mat c) {
  PetscFunctionBegin;
  PetscErrorCode (*set)(Mat) = nullptr;
  PetscCall(PetscObjectQueryFunction(reinterpret_cast<PetscObject>(c->product->B),
                                     "MatProductSetFromOptions_seqaij_seqdense_C", &set));
  PetscCheck(set != nullptr, PETSC_COMM_SELF, PETSC_ERR_SUP, "tessera: no product of seqaij with %s",
             reinterpret_cast<PetscObject>(c->product->B)->type_name);
  PetscCall((*set)(c));
  PetscFunctionReturn(success);
}

/// What A offers by name; null functions take it back.
PetscErrorCode compose(Mat a, bool ours) {
  PetscFunctionBegin;
  const auto object = reinterpret_cast<PetscObject>(a);
  const auto offer = [&](const char* name, auto function) {
    return PetscObjectComposeFunction(object, name, ours ? function : nullptr);
  };
  PetscCall(offer("MatConvert_seqaij_seqaijtessera_C", &convert_seq_aij));
  PetscCall(offer("MatConvert_seqaijtessera_seqaij_C", &convert_seq_aij_back));
  PetscCall(offer("MatProductSetFromOptions_seqaijtessera_seqaij_C", &set_product));
  PetscCall(offer("MatProductSetFromOptions_seqaij_seqaijtessera_C", &set_product));
  PetscCall(offer("MatProductSetFromOptions_seqaijtessera_seqdense_C", &set_product_with_dense));
  if (!ours) PetscCall(PetscObjectCompose(object, products_key, nullptr));
  PetscFunctionReturn(success);
}

PetscErrorCode destroy(Mat a) {
  PetscFunctionBegin;
  PetscCall(compose(a, false));
  a->ops->destroy = seq_aij_ops.destroy;
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), MATSEQAIJ));
  PetscCall(seq_aij_ops.destroy(a));
  PetscFunctionReturn(success);
}

void set_operations(Mat a) {
  _MatOps& ops = *a->ops;
  ops.mult = mult;
  ops.multadd = mult_add;
  ops.multtranspose = mult_transpose;
  ops.multtransposeadd = mult_transpose_add;
  ops.view = view;
  ops.productsetfromoptions = set_product;
  ops.destroy = destroy;
}

void set_operations_back(Mat a) {
  _MatOps& ops = *a->ops;
  ops.mult = seq_aij_ops.mult;
  ops.multadd = seq_aij_ops.multadd;
  ops.multtranspose = seq_aij_ops.multtranspose;
  ops.multtransposeadd = seq_aij_ops.multtransposeadd;
  ops.view = seq_aij_ops.view;
  ops.productsetfromoptions = seq_aij_ops.productsetfromoptions;
  ops.destroy = seq_aij_ops.destroy;
}

/// From MATSEQAIJ to seqaijtessera, in place; nothing for another type.
PetscErrorCode make_ours(Mat a) {
  PetscFunctionBegin;
  PetscBool is_plain = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), MATSEQAIJ, &is_plain));
  if (!is_plain) PetscFunctionReturn(success);
  remember_operations(a);
  set_operations(a);
  PetscCall(compose(a, true));
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), seq_aij_type));
  PetscFunctionReturn(success);
}

PetscErrorCode make_plain(Mat a) {
  PetscFunctionBegin;
  PetscBool is_ours = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(a), seq_aij_type, &is_ours));
  if (!is_ours) PetscFunctionReturn(success);
  set_operations_back(a);
  PetscCall(compose(a, false));
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(a), MATSEQAIJ));
  PetscFunctionReturn(success);
}

PetscErrorCode create(Mat a) {
  PetscFunctionBegin;
  PetscCall(MatSetType(a, MATSEQAIJ));
  PetscCall(make_ours(a));
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode convert_by(Mat a, MatReuse reuse, Mat* converted, PetscErrorCode (*convert)(Mat)) {
  PetscFunctionBegin;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall((*convert)(a));
    *converted = a;
    PetscFunctionReturn(success);
  }
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(a, *converted, DIFFERENT_NONZERO_PATTERN));
  } else {
    PetscCall(MatDuplicate(a, MAT_COPY_VALUES, converted));
  }
  PetscCall((*convert)(*converted));
  PetscFunctionReturn(success);
}

PetscErrorCode convert_seq_aij(Mat a, MatType /*type*/, MatReuse reuse, Mat* converted) {
  return convert_by(a, reuse, converted, make_ours);
}

PetscErrorCode convert_seq_aij_back(Mat a, MatType /*type*/, MatReuse reuse, Mat* converted) {
  return convert_by(a, reuse, converted, make_plain);
}

PetscErrorCode register_seq_aij() {
  PetscFunctionBegin;
  PetscCall(MatRegister(seq_aij_type, create));
  PetscCall(MatSeqAIJRegister(seq_aij_type, convert_seq_aij));
  // With -mat_seqaij_type seqaijtessera this matrix is converted, and its operations remembered, while it is created.
  Mat plain = nullptr;
  PetscCall(MatCreate(PETSC_COMM_SELF, &plain));
  PetscCall(MatSetType(plain, MATSEQAIJ));
  remember_operations(plain);
  PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(success);
}

}  // namespace tessera::petsc
