// Products of a MATSEQAIJ by plans of Tessera: of its rows with entries where few have some, as PETSc does for aij.
#include "seq_products.hpp"

#include "tessera/statistics.hpp"

#include <algorithm>

namespace tessera::petsc {

namespace {

/// Kernels of the host that read the values of the matrix in every product; others keep copies.
[[nodiscard]] bool reads_in_place(SpmvAlgorithm algorithm) noexcept {
  using enum SpmvAlgorithm;
  return algorithm == csr || algorithm == merge || algorithm == merbit;
}

}  // namespace

bool Products::is_current(const SeqAijArrays& a) const noexcept {
  return state_ == a.state || reads_in_place(plan_->info().algorithm);
}

void Products::make_plan(const SeqAijArrays& a, const SpmvOptions& options) {
  plan_.reset();
  compress_rows(a);
  if (rows_.empty()) {
    plan_.emplace(a.borrow(options.device, Check::full), options);
  } else {
    SeqAijArrays compressed = a;
    compressed.key.rows = static_cast<PetscInt>(rows_.size());
    compressed.offsets = offsets_;
    plan_.emplace(compressed.borrow(options.device, Check::full), options);
  }
  sums_.assign(rows_.size(), PetscScalar{0});
  key_ = a.key;
  state_ = a.state;
}

void Products::update_values(const SeqAijArrays& a) {
  plan_->update_values(a.values);
  state_ = a.state;
}

void Products::make_transposed(const SeqAijArrays& a, const SpmvOptions& options) {
  transposed_.reset();
  transposed_.emplace(transpose(a.borrow(options.device, Check::full).view(), options.device), options);
  transposed_key_ = a.key;
  transposed_state_ = a.state;
}

void Products::multiply(Vector x, MutableVector y) {
  if (rows_.empty()) return plan_->apply(x, y);
  std::fill(y.begin(), y.end(), PetscScalar{0});
  add_rows(x, y);
}

void Products::multiply_add(Vector x, MutableVector y) {
  if (rows_.empty()) return plan_->apply(PetscScalar{1}, x, PetscScalar{1}, y);
  add_rows(x, y);
}

/// Rows with entries where at most two in five have some, as PETSc does for aij.
void Products::compress_rows(const SeqAijArrays& a) {
  rows_.clear();
  offsets_.clear();
  const std::size_t rows = a.offsets.size() - 1;
  std::size_t filled = 0;
  for (std::size_t i = 0; i < rows; ++i) filled += a.offsets[i + 1] > a.offsets[i] ? 1U : 0U;
  if (filled == 0 || 5 * filled > 2 * rows) return;
  rows_.reserve(filled);
  offsets_.reserve(filled + 1);
  for (std::size_t i = 0; i < rows; ++i) {
    if (a.offsets[i + 1] == a.offsets[i]) continue;
    rows_.push_back(static_cast<PetscInt>(i));
    offsets_.push_back(a.offsets[i]);
  }
  offsets_.push_back(a.offsets[rows]);
}

void Products::add_rows(Vector x, MutableVector y) {
  plan_->apply(x, sums_);
  for (std::size_t k = 0; k < rows_.size(); ++k) y[static_cast<std::size_t>(rows_[k])] += sums_[k];
}

}  // namespace tessera::petsc
