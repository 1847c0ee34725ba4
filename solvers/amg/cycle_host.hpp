/// \file
/// Multigrid cycle on threads of the host: matrices as CSR in the element type of the cycle, and
/// one pass per operation.
#pragma once

#include "core/checked.hpp"
#include "core/detail_namespace.hpp"
#include "core/parallel.hpp"
#include "solvers/amg/cycle_ops.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <type_traits>

namespace tessera::host {

/// to[i] = from(i)
template <class To, class From>
void fill(const Device& device, Array<To>& to, const From& from) {
  parallel_for(device, to.size(), [&](Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) to[i] = from(i);
  });
}

/// to[i] = from[i], rounded
template <class To, class From>
void convert(const Device& device, Array<To>& to, const Array<From>& from) {
  fill(device, to, [&](std::int64_t i) { return static_cast<To>(from[i]); });
}

/// The rows of a CSR matrix, by value: so that the pointers stay in registers.
template <class V>
struct CycleCsrRows {
  const offset_t* offsets;
  const index_t* columns;
  const V* values;

  template <class Gather>
  [[nodiscard]] V sum(index_t i, const Gather& x) const {
    V sum{0};
    const offset_t end = offsets[i + 1];
    for (offset_t k = offsets[i]; k < end; ++k) sum += values[k] * x.at(columns[k]);
    return sum;
  }
};

/// The rows of a square dense matrix, row-major.
template <class V>
struct CycleDenseRows {
  index_t columns;
  const V* values;

  template <class Gather>
  [[nodiscard]] V sum(index_t i, const Gather& x) const {
    const V* const row = values + std::int64_t{i} * columns;
    V sum{0};
    for (index_t j = 0; j < columns; ++j) sum += row[j] * x.at(j);
    return sum;
  }
};

/// A matrix of the cycle.
template <class V>
class CycleCsr {
 public:
  CycleCsr() = default;
  template <class T>
  CycleCsr(const Device& device, const Csr<T>& source)
      : rows_(source.rows()),
        offsets_(source.row_offsets().size(), Init::none),
        columns_(source.nnz(), Init::none),
        values_(source.nnz(), Init::none) {
    convert(device, offsets_, source.row_offsets());
    convert(device, columns_, source.columns());
    assign(device, source);
  }

  /// Takes the values of a matrix of the same structure.
  template <class T>
  void assign(const Device& device, const Csr<T>& source) {
    if (source.is_pattern()) return fill(device, values_, [](std::int64_t /*k*/) { return V{1}; });
    convert(device, values_, source.values());
  }

  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return offsets_.bytes() + columns_.bytes() + values_.bytes(); }

  [[nodiscard]] CycleCsrRows<V> view() const noexcept { return {offsets_.data(), columns_.data(), values_.data()}; }

 private:
  index_t rows_ = 0;
  Array<offset_t> offsets_;
  Array<index_t> columns_;
  Array<V> values_;
};

/// The inverse of the coarsest matrix, row-major.
template <class V>
class CycleDense {
 public:
  template <class T>
  CycleDense(const Array<T>& source, index_t rows) : rows_(rows), values_(source.size(), Init::none) {
    assign(Device::host(1), source);
  }

  template <class T>
  void assign(const Device& device, const Array<T>& source) {
    convert(device, values_, source);
  }

  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return values_.bytes(); }

  [[nodiscard]] CycleDenseRows<V> view() const noexcept { return {rows_, values_.data()}; }

 private:
  index_t rows_;
  Array<V> values_;
};

/// Runs the operations of a cycle.
template <class T, class V>
class HostExecutor {
 public:
  using Matrix = CycleCsr<V>;
  using Dense = CycleDense<V>;
  /// Arithmetic costs more than the pass over vectors that it would save.
  static constexpr bool fuses_first_sweep = false;

  HostExecutor(const Device& device, T* z) : device_(device), z_(z) {}

  /// \returns the sums of the operation
  template <class AnyMatrix, class Gather, class Op>
  typename Op::Sums rows(const AnyMatrix& matrix, const Gather& x, const Op& op) {
    using Sums = typename Op::Sums;
    const auto pass = [&](Range range) { return sums_of(range, matrix.view(), x, op); };
    if constexpr (std::is_empty_v<Sums>) {
      parallel_for(device_, matrix.rows(), pass);
      return {};
    } else {
      return parallel_sum<Sums>(device_, matrix.rows(), pass);
    }
  }

  template <class Op>
  void elements(index_t n, const Op& op) {
    parallel_for(device_, n, [&](Range range) { apply_to(range, op); });
  }

  template <class Gather, class Op>
  void scalars(const Matrix& matrix, const Gather& x, const Op& op, AmgKrylovScalars* scalars) {
    scalars->after(rows(matrix, x, op));
  }

  template <class AnyMatrix, class Gather, class MakeOp>
  void last(const AnyMatrix& matrix, const Gather& x, MakeOp&& make_op) {
    rows(matrix, x, make_op(AmgOutput<T>{z_}));
  }

 private:
  // The operations come by value, so that their pointers stay in registers.

  template <class Rows, class Gather, class Op>
  [[nodiscard]] static typename Op::Sums sums_of(Range range, const Rows rows, const Gather x, const Op op) {
    typename Op::Sums sums{};
    for (auto i = static_cast<index_t>(range.begin); i < range.end; ++i) {
      op.apply(i, rows.sum(i, x), op.constants(i), op.load(i), sums);
    }
    return sums;
  }
  template <class Op>
  static void apply_to(Range range, const Op op) {
    for (auto i = static_cast<index_t>(range.begin); i < range.end; ++i) op.apply(i, op.constants(i), op.load(i));
  }

  const Device& device_;
  T* z_;
};

}  // namespace tessera::host
