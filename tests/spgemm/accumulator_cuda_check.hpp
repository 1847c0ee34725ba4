/// \file
/// One accumulator of a GPU over the rows of a product that it serves, in every phase, against the host's product.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/accumulators/tuning.hpp"
#include "spgemm/host/analysis.hpp"
#include "tests/spgemm/product_check.hpp"
#include "tests/support/cuda_test.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Limits of the accumulators on the GPU of the tests.
[[nodiscard]] inline const cuda::Tuning& tuning_of_gpu() {
  return cuda::tuning_for(cuda::Context::of(Device::cuda(0)).limits());
}

/// What an accumulator does.
struct AccumulatorTraits {
  bool allocates = true;  ///< has the phase numeric_allocating
  bool two_phase = true;  ///< has the phases symbolic and numeric
  bool ordered = true;    ///< adds the terms in the host's order; else values are held against an error bound
};

/// \tparam V double, float or NoValue \tparam T type of the matrices
template <class V, class T>
class AccumulatorCheck {
 public:
  using Enqueue = void (*)(const cuda::Context&, cuda::Phase, const cuda::Factors<V>&, const cuda::RowBatch&,
                           const cuda::RowOutput<V>&);

  AccumulatorCheck(const Device& gpu, const Csr<T>& a, const Csr<T>& b)
      : gpu_(gpu),
        a_(a.to(gpu)),
        b_(b.to(gpu)),
        analysis_(host::analyse_product(a.view(), b.view(), Device::host(1))),
        expected_(expected(a, b)) {
    std::vector<std::uint32_t> products(static_cast<std::size_t>(a.rows()));
    for (index_t i = 0; i < a.rows(); ++i) {
      const host::RowTask row = analysis_.task(a.row_offsets().data(), i);
      products[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(row.products);
      tasks_.push_back(row);
    }
    products_ = Array<std::uint32_t>::copy_of(products, gpu);
    first_columns_ = analysis_.first_columns.to(gpu);
    widths_ = analysis_.widths.to(gpu);
    mean_list_ = a.nnz() == 0 ? 0.0 : static_cast<double>(analysis_.total()) / static_cast<double>(a.nnz());
  }

  /// All passes over the rows that serves(task, entries of C) admits. \returns how many these are
  template <class Serves>
  index_t run(Enqueue enqueue, Serves&& serves, AccumulatorTraits traits = {}) {
    ordered_ = traits.ordered;
    if (!ordered_ && has_values && magnitudes_.rows() != expected_.rows()) {
      magnitudes_ = expected(magnitudes_of(a_), magnitudes_of(b_));
    }
    std::vector<index_t> rows;
    for (index_t i = 0; i < expected_.rows(); ++i) {
      if (serves(tasks_[static_cast<std::size_t>(i)], entries(i))) rows.push_back(i);
    }
    const auto count = static_cast<index_t>(rows.size());
    batch_ = cuda::RowBatch{};
    batch_.facts = {products_.data(), first_columns_.data(), widths_.data()};
    batch_.count = count;
    batch_.mean_b_row_nnz = mean_list_;
    offset_t total = 0;
    for (const index_t i : rows) {
      const host::RowTask& row = tasks_[static_cast<std::size_t>(i)];
      batch_.max_a_row_nnz = std::max(batch_.max_a_row_nnz, static_cast<index_t>(row.a_row_nnz()));
      batch_.most_products = std::max(batch_.most_products, static_cast<std::uint32_t>(row.products));
      batch_.widest = std::max(batch_.widest, row.width);
      batch_.most_entries = std::max(batch_.most_entries, static_cast<index_t>(row.limit));
      total += entries(i);
    }
    batch_.mean_entries = count == 0 ? 0.0 : static_cast<double>(total) / count;
    const auto on_gpu = Array<index_t>::copy_of(rows, gpu_);
    // All rows of the matrix are also done without a row of B.
    batch_.rows = count == expected_.rows() ? nullptr : on_gpu.data();
    enqueue_ = enqueue;
    rows_ = std::move(rows);
    if (traits.two_phase) check_symbolic();
    if (traits.two_phase && !::testing::Test::HasFatalFailure()) check_numeric();
    if (traits.allocates && !::testing::Test::HasFatalFailure()) check_allocations();
    return count;
  }

  /// Phase numeric_allocating of the same rows once more, where the accumulator is told that none has more entries than
  /// `estimate`: rows that do are counted, and get an offset or none.
  void run_allocating(index_t estimate) {
    batch_.most_entries = estimate;
    estimate_ = estimate;
    check_allocations();
  }

 private:
  [[nodiscard]] static Csr<T> expected(const Csr<T>& a, const Csr<T>& b) {
    SpgemmOptions options;
    options.workflow = SpgemmWorkflow::symbolic;
    return spgemm(a, b, options).matrix;
  }
  /// The matrix of absolute values, on the host.
  [[nodiscard]] static Csr<T> magnitudes_of(const Csr<T>& on_gpu) {
    const Csr<T> matrix = on_gpu.to(Device{});
    if (matrix.is_pattern()) return matrix.to(Device{});
    Array<T> values(matrix.nnz());
    for (offset_t k = 0; k < matrix.nnz(); ++k) values[k] = std::abs(matrix.values()[k]);
    return Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                  std::move(values));
  }
  [[nodiscard]] offset_t entries(index_t i) const noexcept {
    return expected_.row_offsets()[i + 1] - expected_.row_offsets()[i];
  }
  [[nodiscard]] cuda::Factors<V> factors() const { return host::factors_of<V>(a_.view(), b_.view()); }

  void launch(cuda::Phase phase, const cuda::RowOutput<V>& out) const {
    const cuda::DeviceGuard current(gpu_);
    enqueue_(cuda::Context::of(gpu_), phase, factors(), batch_, out);
  }

  void check_symbolic() const {
    std::vector<offset_t> marked(static_cast<std::size_t>(expected_.rows()), -7);
    auto counts = Array<offset_t>::copy_of(marked, gpu_);
    cuda::RowOutput<V> out;
    out.counts = counts.data();
    launch(cuda::Phase::symbolic, out);
    const auto found = counts.to(Device{});
    for (const index_t i : rows_) ASSERT_EQ(found[i], entries(i)) << "count of row " << i;
    // Nobody else's row was touched.
    for (const index_t i : rows_) marked[static_cast<std::size_t>(i)] = found[i];
    for (index_t i = 0; i < expected_.rows(); ++i) ASSERT_EQ(found[i], marked[static_cast<std::size_t>(i)]) << i;
  }

  void check_numeric() const {
    const auto starts = expected_.row_offsets().to(gpu_);
    Array<index_t> columns(expected_.nnz(), Init::zero, gpu_);
    Array<V> values(has_values ? expected_.nnz() : 0, Init::zero, gpu_);
    cuda::RowOutput<V> out;
    out.starts = starts.data();
    out.columns = columns.data();
    out.values = has_values ? values.data() : nullptr;
    launch(cuda::Phase::numeric, out);
    const auto offsets = expected_.row_offsets().to(Device{});
    compare(offsets, columns.to(Device{}), values.to(Device{}));
  }

  /// Entries of the rows that are not beyond the estimate.
  [[nodiscard]] offset_t entries_to_allocate() const noexcept {
    offset_t all = 0;
    for (const index_t i : rows_) all += entries(i) <= estimate_ ? entries(i) : 0;
    return all;
  }

  void check_allocations() const {
    const offset_t all = entries_to_allocate();
    check_allocation(all, false);
    check_allocation(all - all / 3, false);
    check_allocation(2 * expected_.nnz(), true);
  }

  /// \param own each row has its own part of the buffer, every third one too small by one; else rows share `capacity`
  void check_allocation(offset_t capacity, bool own) const {
    SCOPED_TRACE(own ? "parts of the rows" : "common capacity of " + std::to_string(capacity));
    const index_t m = expected_.rows();
    Array<offset_t> counts(m, Init::zero, gpu_);
    Array<offset_t> offsets(m, Init::zero, gpu_);
    std::vector<offset_t> starts{0};
    for (index_t i = 0; i < m; ++i) starts.push_back(starts.back() + std::max<offset_t>(0, entries(i) + 1 - i % 3));
    const auto starts_on_gpu = Array<offset_t>::copy_of(starts, gpu_);
    if (own) capacity = starts.back();
    Array<index_t> columns(capacity, Init::zero, gpu_);
    Array<V> values(has_values ? capacity : 0, Init::zero, gpu_);
    Array<unsigned long long> cursor(1, Init::zero, gpu_);
    cuda::RowOutput<V> out{counts.data(),  own ? starts_on_gpu.data() : nullptr,
                           columns.data(), has_values ? values.data() : nullptr,
                           offsets.data(), cursor.data(),
                           capacity};
    launch(cuda::Phase::numeric_allocating, out);
    const auto found = counts.to(Device{});
    const auto where = offsets.to(Device{});
    offset_t placed = 0;
    for (const index_t i : rows_) {
      ASSERT_EQ(found[i], entries(i)) << "row " << i;
      const bool fits = entries(i) <= starts[static_cast<std::size_t>(i) + 1] - starts[static_cast<std::size_t>(i)];
      if (own && (entries(i) <= estimate_ || where[i] != cuda::no_offset)) {
        ASSERT_EQ(where[i], fits ? starts[static_cast<std::size_t>(i)] : cuda::no_offset) << "row " << i;
      }
      if (where[i] != cuda::no_offset) placed += entries(i);
      if (entries(i) == 0) {
        ASSERT_NE(where[i], cuda::no_offset) << "empty row " << i;
      }
    }
    ASSERT_LE(placed, capacity);
    if (!own && capacity >= entries_to_allocate() && estimate_ >= expected_.cols()) {
      ASSERT_EQ(placed, entries_to_allocate());
    }
    compare(where, columns.to(Device{}), values.to(Device{}));
  }

  void compare(const Array<offset_t>& offsets, const Array<index_t>& columns, const Array<V>& values) const {
    for (const index_t i : rows_) {
      const offset_t offset = offsets[i];
      if (offset == cuda::no_offset) continue;
      const offset_t from = expected_.row_offsets()[i];
      for (offset_t k = 0; k < entries(i); ++k) {
        ASSERT_EQ(columns[offset + k], expected_.columns()[from + k]) << "row " << i << ", entry " << k;
        if constexpr (has_values) {
          ASSERT_TRUE(agree(values[offset + k], i, from + k))
              << "row " << i << ", entry " << k << ": " << values[offset + k] << ", not "
              << expected_.values()[from + k];
        }
      }
    }
  }

  /// Whether a value is that of entry k of C, in row i. Two sums of n terms, each off by γ_n Σ |a_ik b_kj| (Higham, 2nd
  /// ed., §3.1), differ by less than 2 n ε Σ |a_ik b_kj|; atomic additions take float numbers below the normal ones for
  /// zero.
  template <class X>
  [[nodiscard]] bool agree(X value, index_t i, offset_t k) const {
    const X expected = expected_.values()[k];
    if (ordered_ || !std::isfinite(expected)) return same_value(value, expected);
    const auto terms = static_cast<X>(tasks_[static_cast<std::size_t>(i)].a_row_nnz());
    const X unit = std::numeric_limits<X>::epsilon();
    const X bound = 2 * terms * (unit * magnitudes_.values()[k] + std::numeric_limits<X>::min());
    return std::abs(value - expected) <= bound;
  }

  /// Bit by bit, save that one NaN is as good as another.
  template <class X>
  [[nodiscard]] static bool same_value(X one, X other) {
    if (std::isnan(one) && std::isnan(other)) return true;
    return one == other && std::signbit(one) == std::signbit(other);
  }

  static constexpr bool has_values = cuda::has_values<V>;

  Device gpu_;
  Csr<T> a_;
  Csr<T> b_;
  host::ProductAnalysis analysis_;
  Csr<T> expected_;
  Csr<T> magnitudes_;  ///< Σ |a_ik b_kj| of every entry, where it is needed
  bool ordered_ = true;
  std::vector<host::RowTask> tasks_;
  Array<std::uint32_t> products_;
  Array<index_t> first_columns_;
  Array<index_t> widths_;
  double mean_list_ = 0.0;
  cuda::RowBatch batch_;
  std::vector<index_t> rows_;
  offset_t estimate_ = std::numeric_limits<offset_t>::max();
  Enqueue enqueue_ = nullptr;
};

}  // namespace tessera::testing
