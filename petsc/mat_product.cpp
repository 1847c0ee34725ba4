// C = A B and C = Pᵀ A P of sequential matrices by SpgemmPlan: the symbolic phase once, then values alone, as
// MAT_REUSE_MATRIX asks for.
#include "plugin.hpp"
#include "seq_aij.hpp"

#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/statistics.hpp"

#include <petsc/private/matimpl.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::petsc {

namespace {

using Matrix = Csr<PetscScalar>;
using ProductPlan = SpgemmPlan<PetscScalar>;

[[nodiscard]] std::shared_ptr<const Matrix> share(Matrix matrix) {
  return std::make_shared<const Matrix>(std::move(matrix));
}

/// A B, or Pᵀ (A P) with P in place of B. The factors are on PETSc's arrays, so their values are those of now.
class PlannedProduct {
 public:
  PlannedProduct(MatProductType type, const SeqAijArrays& a, const SeqAijArrays& b, const Device& host)
      : a_key_(a.key),
        b_key_(b.key),
        a_(share(a.borrow(host, Check::full))),
        b_(share(b.borrow(host, Check::full))),
        first_(a_, b_, {.device = host}) {
    if (type != MATPRODUCT_PtAP) return;
    a_p_values_ = Array<PetscScalar>(first_.structure().nnz(), Init::zero, host);
    a_p_ = share(first_.structure().with_values(Array<PetscScalar>::adopt(a_p_values_.span(), nullptr, host)));
    p_transposed_ = share(transpose(b_->view(), host));
    p_state_ = b.state;
    second_.emplace(p_transposed_, a_p_, SpgemmOptions{.device = host});
  }

  [[nodiscard]] bool fits(const SeqAijArrays& a, const SeqAijArrays& b) const noexcept {
    return a_key_ == a.key && b_key_ == b.key;
  }
  [[nodiscard]] const Matrix& structure() const noexcept { return second_ ? second_->structure() : first_.structure(); }
  [[nodiscard]] double flops() const noexcept {
    return static_cast<double>(first_.report().flops() + (second_ ? second_->report().flops() : 0));
  }

  /// \param b the state of B, or of P, now
  void compute(PetscObjectState b, std::span<PetscScalar> values) {
    if (!second_) return first_.multiply_into(*a_, *b_, values);
    if (p_state_ != b) {
      p_transposed_ = share(p_transposed_->with_values(transpose(b_->view(), b_->device()).values().to(b_->device())));
      p_state_ = b;
    }
    first_.multiply_into(*a_, *b_, a_p_values_.span());
    second_->multiply_into(*p_transposed_, *a_p_, values);
  }

 private:
  StructureKey a_key_;
  StructureKey b_key_;
  std::shared_ptr<const Matrix> a_;
  std::shared_ptr<const Matrix> b_;
  ProductPlan first_;
  // Of Pᵀ A P.
  Array<PetscScalar> a_p_values_;
  std::shared_ptr<const Matrix> a_p_;  ///< on a_p_values_
  std::shared_ptr<const Matrix> p_transposed_;
  PetscObjectState p_state_ = -1;  ///< of P when it was transposed
  std::optional<ProductPlan> second_;
};

/// \throws InvalidMatrix for entries that PETSc's 32-bit indices do not count
template <class T>
[[nodiscard]] std::vector<PetscInt> petsc_indices(std::span<const T> indices) {
  if (!indices.empty() && std::is_same_v<T, offset_t> && indices.back() > std::numeric_limits<PetscInt>::max()) {
    throw InvalidMatrix("the product has " + std::to_string(indices.back()) +
                        " entries: this PETSc counts them with 32 bits");
  }
  std::vector<PetscInt> result(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) result[k] = static_cast<PetscInt>(indices[k]);
  return result;
}

PetscErrorCode destroy_product(void* product) {
  delete static_cast<PlannedProduct*>(product);
  return success;
}

/// C with the structure of the product, and zeros.
PetscErrorCode give_structure(Mat c, const Matrix& structure, const Mat_Product& product) {
  PetscFunctionBegin;
  Mat a = product.A;
  Mat b = product.B;
  PetscLayout rows = product.type == MATPRODUCT_PtAP ? b->cmap : a->rmap;
  PetscCall(MatSetSizes(c, rows->n, b->cmap->n, rows->N, b->cmap->N));
  PetscCall(PetscLayoutSetBlockSize(c->rmap, rows->bs));
  PetscCall(PetscLayoutSetBlockSize(c->cmap, b->cmap->bs));
  PetscBool is_seq_aij = PETSC_FALSE;
  PetscCall(PetscObjectBaseTypeCompare(reinterpret_cast<PetscObject>(c), MATSEQAIJ, &is_seq_aij));
  if (!is_seq_aij) PetscCall(MatSetType(c, reinterpret_cast<PetscObject>(a)->type_name));
  std::vector<PetscInt> offsets;
  std::vector<PetscInt> columns;
  PetscCall(guarded([&] {
    offsets = petsc_indices(structure.row_offsets().span());
    columns = petsc_indices(structure.columns().span());
  }));
  PetscCall(MatSeqAIJSetPreallocationCSR(c, offsets.data(), columns.data(), nullptr));
  PetscFunctionReturn(success);
}

PetscErrorCode product_numeric(Mat c) {
  PetscFunctionBegin;
  SeqAijArrays a;
  SeqAijArrays b;
  PetscCall(get_arrays(c->product->A, &a));
  PetscCall(get_arrays(c->product->B, &b));
  auto* product = static_cast<PlannedProduct*>(c->product->data);
  if (product == nullptr || !product->fits(a, b)) {
    // A factor was assembled anew or replaced.
    PetscCall(product_symbolic(c));
    product = static_cast<PlannedProduct*>(c->product->data);
  }
  PetscCall(PetscLogEventBegin(events.numeric, c, nullptr, nullptr, nullptr));
  PetscScalar* values = nullptr;
  PetscCall(MatSeqAIJGetArrayWrite(c, &values));
  const auto nnz = static_cast<std::size_t>(product->structure().nnz());
  const PetscErrorCode outcome = guarded([&] { product->compute(b.state, {values, nnz}); });
  PetscCall(MatSeqAIJRestoreArrayWrite(c, &values));
  PetscCall(outcome);
  PetscCall(PetscLogFlops(product->flops()));
  PetscCall(PetscLogEventEnd(events.numeric, c, nullptr, nullptr, nullptr));
  PetscFunctionReturn(success);
}

}  // namespace

PetscErrorCode product_symbolic(Mat c) {
  PetscFunctionBegin;
  Mat_Product* product = c->product;
  SeqAijArrays a;
  SeqAijArrays b;
  Device host;
  PetscCall(get_arrays(product->A, &a));
  PetscCall(get_arrays(product->B, &b));
  PetscCall(get_host(reinterpret_cast<PetscObject>(product->A), "-mat_tessera_threads", &host));
  PetscCall(PetscLogEventBegin(events.symbolic, c, nullptr, nullptr, nullptr));
  std::unique_ptr<PlannedProduct> planned;
  PetscCall(guarded([&] { planned = std::make_unique<PlannedProduct>(product->type, a, b, host); }));
  PetscCall(give_structure(c, planned->structure(), *product));
  if (product->destroy != nullptr && product->data != nullptr) PetscCall((*product->destroy)(product->data));
  product->data = planned.release();
  product->destroy = destroy_product;
  c->ops->productnumeric = product_numeric;
  PetscCall(PetscLogEventEnd(events.symbolic, c, nullptr, nullptr, nullptr));
  PetscFunctionReturn(success);
}

}  // namespace tessera::petsc
