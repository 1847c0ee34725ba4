/// \file
/// SpmvBatch: the products of several small matrices in one launch.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// Where a part of a batch lies in the vectors and in the values of all parts, which follow each other.
struct BatchPart {
  std::int64_t first_row = 0;     ///< in y
  std::int64_t rows = 0;          ///< of the part
  std::int64_t first_column = 0;  ///< in x
  std::int64_t cols = 0;
  offset_t first_entry = 0;  ///< in the values
  offset_t entries = 0;
};

/// What the set-up took before that of plan().
struct SpmvBatchInfo {
  double join_ms = 0.0;            ///< wall-clock time of forming the block-diagonal matrix
  std::uint64_t matrix_bytes = 0;  ///< of it; the parts are no longer needed
};

/// y_p = A_p x_p for many matrices A_p, by one plan of diag(A_0, A_1, ...). A product of less than some 10^5 nonzeros
/// takes a GPU as long as its launch; so many of them take as long as one. x and y of all parts lie one behind the
/// other. Every kernel serves, and plan() is an operator as any other, with several columns, transposes and loops on
/// the GPU. The sums of a part do not depend on the other parts but for their order: a plan of the part alone may take
/// another kernel, with other rounding. A moved-from batch may only be assigned to or destroyed.
///
/// Each part has its own copy of its columns, also where all parts have one structure: 4 bytes per entry that a kernel
/// for equal structures would not read (docs/batch.md).
template <class T>
class SpmvBatch {
 public:
  /// O(rows + nnz), and one copy of 40 bytes per part to a GPU (block_diagonal()), then the set-up of SpmvPlan.
  /// \param parts joined where they lie, all on one device; none are needed after the constructor
  /// \throws InvalidArgument for parts on several devices; DimensionError where rows or columns of all parts exceed
  /// 2^31 - 1; otherwise as SpmvPlan
  explicit SpmvBatch(std::span<const Csr<T>> parts, const SpmvOptions& options = {});
  /// The same of arrays in the memory of `place`. One view may come several times: a structure whose values
  /// update_values() brings.
  SpmvBatch(std::span<const CsrView<T>> parts, const Device& place, const SpmvOptions& options = {});

  /// Number of parts.
  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(parts_.size()); }
  /// \param i from 0 \throws InvalidArgument for a part that does not exist
  [[nodiscard]] const BatchPart& part(std::int64_t i) const;
  /// Of the block-diagonal matrix: its kernel and why, y = A x for several columns, loops.
  [[nodiscard]] const SpmvPlan<T>& plan() const noexcept { return plan_; }
  [[nodiscard]] const SpmvBatchInfo& info() const noexcept { return info_; }

  /// The elements of part i in an x, or a y, of all parts.
  /// \param x plan().cols() elements, on any device \throws InvalidArgument as part(); DimensionError for other sizes
  template <class U>
  [[nodiscard]] std::span<U> x_of(std::int64_t i, std::span<U> x) const {
    check_size("x", x.size(), plan_.cols());
    return subspan(x, part(i).first_column, part(i).cols);
  }
  /// \param y plan().rows() elements
  template <class U>
  [[nodiscard]] std::span<U> y_of(std::int64_t i, std::span<U> y) const {
    check_size("y", y.size(), plan_.rows());
    return subspan(y, part(i).first_row, part(i).rows);
  }

  /// y_p = A_p x_p for all parts. The old y is not read. O(nnz); neither waits nor allocates.
  /// \param x plan().cols() elements, \param y plan().rows() elements, both on plan().device(), not overlapping
  /// \throws DimensionError, InvalidArgument
  void apply(std::span<const T> x, std::span<T> y) const { plan_.apply(x, y); }
  /// y_p = α A_p x_p + β y_p. With β = 0 the old y is not read; with α = 0 the product is not formed.
  void apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const { plan_.apply(alpha, x, beta, y); }

  /// New values of all parts, one behind the other, as SpmvPlan::update_values(): on the host or on the plan's GPU.
  void update_values(std::span<const T> values) { plan_.update_values(values); }
  /// New values of part i alone. O(nnz) of all parts, and as many values for the moment: the plan takes over all of
  /// them. Who has new values of many parts should bring them together.
  /// \param values as many as part i has entries, on the host or on the plan's GPU
  /// \throws InvalidArgument for a part that does not exist; DimensionError for another length; otherwise as
  /// SpmvPlan::update_values()
  void update_values(std::int64_t i, std::span<const T> values);
  /// New values of matrices with the structures of the parts, which are compared. They are joined where they lie, as by
  /// the constructor.
  /// \throws DimensionError for another number of parts and for a part of another size; InvalidMatrix for another
  /// structure, with rows of the block-diagonal matrix; otherwise as SpmvPlan::update_values()
  void update_values(std::span<const Csr<T>> parts);

 private:
  struct Joined {
    Csr<T> matrix;
    SpmvBatchInfo info;
  };
  SpmvBatch(std::vector<BatchPart> parts, Joined joined, const SpmvOptions& options);
  /// \param join forms the block-diagonal matrix
  template <class Join>
  [[nodiscard]] static Joined timed(const Join& join);
  /// \throws DimensionError
  void check_size(const char* name, std::size_t size, std::int64_t expected) const;
  template <class U>
  [[nodiscard]] static std::span<U> subspan(std::span<U> vector, std::int64_t first, std::int64_t count) {
    return vector.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }

  std::vector<BatchPart> parts_;
  SpmvBatchInfo info_;
  SpmvPlan<T> plan_;
};

extern template class SpmvBatch<float>;
extern template class SpmvBatch<double>;

}  // namespace tessera
