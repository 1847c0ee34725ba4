/// \file
/// Multigrid cycle on threads of the host: matrices as CSR or as row templates in the element type of the cycle, and
/// one pass per operation.
#pragma once

#include "core/borrowed_csr.hpp"
#include "core/checked.hpp"
#include "core/detail_namespace.hpp"
#include "core/parallel.hpp"
#include "core/sums.hpp"
#include "solvers/amg/cycle_ops.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/row_lists_host.hpp"
#include "spmv/patterns/row_patterns.hpp"
#include "spmv/patterns/value_store_host.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

/// Rows on templates: lists of relative columns and values that they share.
template <class V>
struct CycleTemplateRows {
  const std::uint8_t* codes;  ///< the list of each row
  const index_t* lists;       ///< per list its length, then relative columns
  int stride;                 ///< of lists
  TemplateValues<V> values;

  [[nodiscard]] RowList list(int code) const noexcept {
    const index_t* const own = lists + std::int64_t{code} * stride;
    return {own[0], own + 1};
  }
};

/// A matrix of the cycle: row templates where these name all rows of a large matrix, else CSR. Both give the same bits.
template <class V>
class CycleMatrix {
 public:
  CycleMatrix() = default;
  /// \param least_templated nonzeros from which templates are looked for, by default never \throws OutOfMemory
  template <class T>
  CycleMatrix(const Device& device, const Csr<T>& source,
              offset_t least_templated = std::numeric_limits<offset_t>::max())
      : rows_(source.rows()) {
    if (!find_templates(device, source, least_templated)) copy(device, source);
  }

  /// Takes the values of a matrix of the same structure. Where rows on a template no longer share them, it becomes CSR.
  /// \throws OutOfMemory, with the old values
  template <class T>
  void assign(const Device& device, const Csr<T>& source) {
    if (!is_templated()) return assign_values(device, source, values_);
    if (take_shared_values(device, source)) return;
    copy(device, source);
    codes_ = Array<std::uint8_t>();
    lists_ = Array<index_t>();
  }

  /// Aᵀ of a square matrix. \param least_templated as above \throws OutOfMemory
  [[nodiscard]] CycleMatrix transposed(const Device& device, offset_t least_templated) const {
    return CycleMatrix(device, transpose(csr(device).view(), device), least_templated);
  }

  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] bool is_templated() const noexcept { return !codes_.empty(); }
  [[nodiscard]] std::string_view layout_name() const noexcept { return is_templated() ? "row-templates" : "csr"; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return offsets_.bytes() + columns_.bytes() + values_.bytes() + codes_.bytes() + lists_.bytes();
  }

  /// Of CSR.
  [[nodiscard]] CycleCsrRows<V> view() const noexcept { return {offsets_.data(), columns_.data(), values_.data()}; }
  [[nodiscard]] CycleTemplateRows<V> templates() const noexcept {
    return {codes_.data(), lists_.data(), stride_, {values_.data(), stride_ - 1}};
  }

 private:
  /// A square matrix, on the memory of this one where that is CSR.
  [[nodiscard]] Csr<V> csr(const Device& device) const {
    if (!is_templated()) {
      return detail::borrow_csr(
          CsrView<V>{rows_, rows_, ValueStorage::weighted, offsets_.span(), columns_.span(), values_.span()}, device);
    }
    const CycleTemplateRows<V> own = templates();
    Array<offset_t> offsets(std::int64_t{rows_} + 1);
    for (index_t i = 0; i < rows_; ++i) offsets[i + 1] = offsets[i] + own.list(own.codes[i]).length;
    Array<index_t> columns(offsets[rows_], Init::none);
    Array<V> values(offsets[rows_], Init::none);
    for (index_t i = 0; i < rows_; ++i) {
      const RowList list = own.list(own.codes[i]);
      std::transform(list.columns, list.columns + list.length, columns.data() + offsets[i],
                     [i](index_t relative) { return i + relative; });
      std::copy_n(own.values.row(i, own.codes[i]).values, list.length, values.data() + offsets[i]);
    }
    return Csr<V>(rows_, rows_, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  }

  /// Nothing changes where memory is lacking.
  template <class T>
  void copy(const Device& device, const Csr<T>& source) {
    Array<offset_t> offsets(source.row_offsets().size(), Init::none);
    Array<index_t> columns(source.nnz(), Init::none);
    Array<V> values(source.nnz(), Init::none);
    convert(device, offsets, source.row_offsets());
    convert(device, columns, source.columns());
    assign_values(device, source, values);
    offsets_ = std::move(offsets);
    columns_ = std::move(columns);
    values_ = std::move(values);
  }

  template <class T>
  static void assign_values(const Device& device, const Csr<T>& source, Array<V>& values) {
    if (source.is_pattern()) return fill(device, values, [](std::int64_t /*k*/) { return V{1}; });
    convert(device, values, source.values());
  }

  /// \returns whether all rows are on templates
  template <class T>
  [[nodiscard]] bool find_templates(const Device& device, const Csr<T>& source, offset_t least_templated) {
    const CsrView<T> a = source.view();
    if (a.is_pattern() || a.nnz() < least_templated || !neighbours_are_alike(a)) return false;
    RowPatterns<T> found;
    const bool is_refused =
        search_row_patterns(a, RowListKind::columns_and_values, device, found).has_value() || !found.exceptions.empty();
    if (is_refused) return false;
    values_ = Array<V>(found.values.size(), Init::none);
    convert(device, values_, found.values);
    stride_ = found.stride();
    lists_ = std::move(found.table);
    codes_ = std::move(found.codes);
    return true;
  }

  /// Gives each list the values of its first row. \returns false, and changes nothing, where another row has others
  template <class T>
  [[nodiscard]] bool take_shared_values(const Device& device, const Csr<T>& source) {
    if (source.is_pattern()) return false;
    using Bits = RowSource<V, true>;
    const offset_t* const offsets = source.row_offsets().data();
    const T* const values = source.values().data();
    std::vector<V> shared(static_cast<std::size_t>(values_.size()));
    const auto values_of = [&](std::int64_t row) { return shared.data() + std::int64_t{codes_[row]} * (stride_ - 1); };
    std::array<bool, std::numeric_limits<std::uint8_t>::max() + 1> is_known{};
    for (std::int64_t i = 0; i < rows_; ++i) {
      if (std::exchange(is_known[codes_[i]], true)) continue;
      std::transform(values + offsets[i], values + offsets[i + 1], values_of(i),
                     [](T value) { return static_cast<V>(value); });
    }
    const auto first_unlike = parallel_sum<FirstIndex>(device, rows_, [&](Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const auto is_kept = [](T value, V kept) {
          return Bits::bits_of(static_cast<V>(value)) == Bits::bits_of(kept);
        };
        if (!std::equal(values + offsets[i], values + offsets[i + 1], values_of(i), is_kept)) return FirstIndex{i};
      }
      return FirstIndex{};
    });
    if (first_unlike.index >= 0) return false;
    std::copy(shared.begin(), shared.end(), values_.begin());
    return true;
  }

  index_t rows_ = 0;
  Array<offset_t> offsets_;
  Array<index_t> columns_;
  Array<V> values_;  ///< of CSR, or of the lists
  Array<std::uint8_t> codes_;
  Array<index_t> lists_;
  int stride_ = 0;
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

  [[nodiscard]] CycleDense transposed() const {
    CycleDense result(values_, rows_);
    fill(Device::host(1), result.values_, [this](std::int64_t k) { return values_[k % rows_ * rows_ + k / rows_]; });
    return result;
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
  using Matrix = CycleMatrix<V>;
  using Dense = CycleDense<V>;
  /// Arithmetic costs more than the pass over vectors that it would save.
  static constexpr bool fuses_first_sweep = false;

  HostExecutor(const Device& device, T* z) : device_(device), z_(z) {}

  /// \returns the sums of the operation
  template <class AnyMatrix, class Gather, class Op>
  typename Op::Sums rows(const AnyMatrix& matrix, const Gather& x, const Op& op) {
    using Sums = typename Op::Sums;
    const auto pass = [&](Range range) {
      // No other gather meets templates: the first sweep is not fused, and matrices of ranks have none.
      if constexpr (std::is_same_v<AnyMatrix, Matrix> && std::is_same_v<Gather, AmgVector<V>>) {
        if (matrix.is_templated()) return sums_of_templates(range, matrix.templates(), x.x, op);
      }
      return sums_of(range, matrix.view(), x, op);
    };
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
  [[nodiscard]] static typename Op::Sums sums_of_templates(Range range, const CycleTemplateRows<V> rows,
                                                           const V* const x, const Op op) {
    typename Op::Sums sums{};
    std::array<V, slice_rows> of_rows;
    for (auto i = static_cast<index_t>(range.begin); i < range.end;) {
      const int code = rows.codes[i];
      const index_t count = rows_alike(rows.codes + i, range.end - i);
      add_rows(count, rows.list(code), rows.values.row(i, code), x + i, of_rows);
      for (index_t r = 0; r < count; ++r, ++i) {
        op.apply(i, of_rows[static_cast<std::size_t>(r)], op.constants(i), op.load(i), sums);
      }
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
