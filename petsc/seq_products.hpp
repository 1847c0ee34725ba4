/// \file
/// Products of a MATSEQAIJ by plans of Tessera. No function of PETSc is called, so all may throw.
#pragma once

#include "seq_aij.hpp"

#include "tessera/spmv.hpp"

#include <petscmat.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera::petsc {

using Vector = std::span<const PetscScalar>;
using MutableVector = std::span<PetscScalar>;

/// Products of one matrix, for the structure and the values that it had last.
class Products {
 public:
  using Plan = SpmvPlan<PetscScalar>;

  /// Whether the plan was made for this structure.
  [[nodiscard]] bool fits(const SeqAijArrays& a) const noexcept { return plan_ && key_ == a.key; }
  /// Whether its products have these values.
  [[nodiscard]] bool is_current(const SeqAijArrays& a) const noexcept;
  [[nodiscard]] bool transposed_is_current(const SeqAijArrays& a) const noexcept {
    return transposed_ && transposed_key_ == a.key && transposed_state_ == a.state;
  }

  /// For a new structure. Of an off-diagonal block most rows may be empty: then the plan has the others alone.
  void make_plan(const SeqAijArrays& a, const SpmvOptions& options);
  void update_values(const SeqAijArrays& a);
  void make_transposed(const SeqAijArrays& a, const SpmvOptions& options);

  /// y = A x
  void multiply(Vector x, MutableVector y);
  /// y = y + A x
  void multiply_add(Vector x, MutableVector y);
  /// y = A^T x + beta y
  void multiply_transposed(Vector x, MutableVector y, PetscScalar beta) const {
    transposed_->apply(PetscScalar{1}, x, beta, y);
  }

  /// Null before make_plan().
  [[nodiscard]] const Plan* plan() const noexcept { return plan_ ? &*plan_ : nullptr; }
  /// Rows of a plan that has those with entries alone, else 0.
  [[nodiscard]] std::size_t compressed_rows() const noexcept { return rows_.size(); }

 private:
  void compress_rows(const SeqAijArrays& a);
  void add_rows(Vector x, MutableVector y);

  std::optional<Plan> plan_;
  StructureKey key_;
  PetscObjectState state_ = -1;
  std::vector<PetscInt> rows_;     ///< of a compressed plan, else empty
  std::vector<PetscInt> offsets_;  ///< of these rows
  std::vector<PetscScalar> sums_;  ///< of these rows
  std::optional<Plan> transposed_;
  StructureKey transposed_key_;
  PetscObjectState transposed_state_ = -1;
};

}  // namespace tessera::petsc
