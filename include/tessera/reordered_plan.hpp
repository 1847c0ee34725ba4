/// \file
/// ReorderedPlan: products of a matrix in another numbering, which the caller does not see.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/ordering.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace tessera {

/// Where the set-up went, and what it takes.
struct ReorderedPlanInfo {
  Ordering ordering = Ordering::natural;
  double ordering_ms = 0.0;        ///< wall-clock time of finding the permutation
  double permute_ms = 0.0;         ///< and of forming P A Pᵀ
  double upload_ms = 0.0;          ///< and of copying a matrix to where the plan works; 0 where it lies there
  double build_ms = 0.0;           ///< and of the plan, copies of P A Pᵀ to a GPU included
  std::uint64_t matrix_bytes = 0;  ///< P A Pᵀ; A is no longer needed
  std::uint64_t vector_bytes = 0;  ///< x and y in the inner numbering, for float also b: scratch space of the products
  std::uint64_t bytes = 0;         ///< all else, without matrix and vectors: permutations, plan, map of new values
};

/// y = A x by a plan of P A Pᵀ: x is gathered into the inner numbering before each product and y brought back after
/// it. On a GPU that reads and writes 2 (4 + 2 sizeof(T)) bytes per row and product, half of the vectors in random
/// order, and starts two kernels: worth it where the reads of x that the numbering saves are more. A solve of many
/// iterations should rather permute once: gather() b and the guess, solve with plan(), scatter() the solution.
///
/// Rows of P A Pᵀ are sorted by its columns, as the kernels ask for, so a row is summed in another order than by a plan
/// of A, with other rounding. A moved-from plan may only be assigned to or destroyed. Products of several threads by
/// one plan are right, and take turns.
template <class T>
class ReorderedPlan final : public FusedOperator<T> {
 public:
  /// \param matrix square; not needed after the constructor. It is permuted on the device of the options, or on the
  /// host where a GPU has no room for it twice or the options stream it
  /// \param ordering rcm and amd are found on the host, degree where the matrix is permuted
  /// \throws DimensionError for a matrix that is not square; otherwise as ordering() and SpmvPlan
  explicit ReorderedPlan(const Csr<T>& matrix, Ordering ordering = Ordering::degree, const SpmvOptions& options = {});
  /// The same of arrays in the memory of `place`.
  ReorderedPlan(const CsrView<T>& matrix, const Device& place, Ordering ordering, const SpmvOptions& options = {});
  ~ReorderedPlan() override;
  ReorderedPlan(ReorderedPlan&&) noexcept;
  ReorderedPlan& operator=(ReorderedPlan&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override;
  [[nodiscard]] Device device() const override;
  [[nodiscard]] bool has_transpose() const override;

  [[nodiscard]] const ReorderedPlanInfo& info() const noexcept;
  /// Of P A Pᵀ, an operator on vectors in the inner numbering.
  [[nodiscard]] const SpmvPlan<T>& plan() const noexcept;
  /// n numbers on device(): the row of A that is row k inside.
  [[nodiscard]] std::span<const index_t> order() const noexcept;

  /// Into the inner numbering: inner[k] = outer[order()[k]]. O(n). Does not wait for a GPU.
  /// \param outer,inner n elements on device(), not overlapping \throws DimensionError, InvalidArgument
  void gather(std::span<const T> outer, std::span<T> inner) const;
  /// And back: outer[order()[k]] = inner[k].
  void scatter(std::span<const T> inner, std::span<T> outer) const;

  /// As SpmvPlan::update_values(): values of A in its CSR order, on the host or on the plan's GPU. The first update
  /// finds where each goes, O(nnz) and 4 bytes per entry that the plan keeps, and twice that for the moment.
  /// \throws NotSupported for 2^31 entries or more; otherwise as SpmvPlan::update_values()
  void update_values(std::span<const T> values);

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  [[nodiscard]] std::string_view transpose_remedy() const override;
  /// For float with sums in double, as SpmvPlan<float>.
  double do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const override;

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class ReorderedPlan<float>;
extern template class ReorderedPlan<double>;

}  // namespace tessera
