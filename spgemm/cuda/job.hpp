/// \file
/// One product on a GPU: what its phases share, and the phases.
#pragma once

#include "core/cuda/context.hpp"
#include "core/memory_budget.hpp"
#include "spgemm/cuda/accumulators/tuning.hpp"
#include "spgemm/cuda/analysis.hpp"
#include "spgemm/cuda/bins.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace tessera::cuda {

/// \tparam V float, double or NoValue for the pattern
template <class V>
struct DeviceJob {
  /// Analyses the product of two matrices on the device of the options. Waits for the totals.
  /// \throws OutOfMemory
  template <class T>
  DeviceJob(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& given)
      : DeviceJob(a, b, given, tuning_for(Context::of(given.device).limits())) {}
  /// The same with given thresholds, for tests, or without some rows. \param left_out see RowAnalysis; must outlive the
  /// job
  template <class T>
  DeviceJob(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& given, const Tuning& tuning,
            const std::uint8_t* left_out = nullptr);

  SpgemmOptions options;
  const Context& context;
  DeviceGuard current;
  index_t rows;   ///< of A and C
  index_t inner;  ///< rows of B
  index_t cols;   ///< of B and C
  Factors<V> factors;
  Factors<NoValue> positions;
  RowAnalysis analysis;
  RowPolicy policy;
  bool ordered = false;            ///< terms of a row in the order of A's row
  bool adds_in_any_order = false;  ///< some rows were summed in another order
  std::optional<SpgemmSample>
      small_rows;                  ///< where rows of C are to be summed in small hash tables; then `bins` is one
  BinTotals all;                   ///< over all rows; entries: the most that they can have
  index_t rows_with_products = 0;  ///< rows that repeat others left out, which those of `esc` never are
  std::optional<detail::MemoryBudget> budget;
  BinnedRows bins;  ///< for the symbolic phase; none for the workflow `esc` and after a fallback, see bin_rows()
  SpgemmReport report;

  [[nodiscard]] const Device& device() const noexcept { return options.device; }
  /// Entries that C has at most.
  [[nodiscard]] offset_t bound_total() const noexcept { return static_cast<offset_t>(all.entries); }
  /// Policy for rows that are to be counted.
  [[nodiscard]] RowPolicy counting_policy() const noexcept {
    RowPolicy result = policy;
    result.counting = true;
    return result;
  }
  /// Policy for rows whose entries are known.
  [[nodiscard]] RowPolicy counted_policy() const noexcept {
    RowPolicy result = policy;
    result.counted = true;
    return result;
  }
};

/// C in parts, on the device.
template <class V>
struct CsrArrays {
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<V> values;  ///< none for a pattern
};

/// Bins for the symbolic phase, for a job of another workflow that falls back to `symbolic`. Waits. \throws OutOfMemory
template <class V>
void bin_rows(DeviceJob<V>& job);

/// Symbolic phase of the rows of `bins`: counts[row]; other rows get 0 where `bins` has lists. \param counts as many as
/// rows
template <class V>
void enqueue_symbolic(const DeviceJob<V>& job, const BinnedRows& bins, offset_t* counts);

/// Numeric phase of rows with known offsets; notes the accumulators in the report. \param offsets of C
template <class V>
void enqueue_numeric(DeviceJob<V>& job, const BinnedRows& bins, const offset_t* offsets, index_t* columns, V* values);

/// Adds the rows of a bin to the report's list of accumulators.
void note_use(SpgemmReport& report, RowBin bin, const BinTotals& total);

/// Rows of known length in their bins.
struct CountedRows {
  Array<offset_t> offsets;  ///< of C
  BinnedRows bins;
  offset_t nnz = 0;
};

/// Symbolic phase of all rows; consumes the bins of the job. Waits. \param count_others enqueues the counts of the rows
/// that the job leaves out \throws OutOfMemory
template <class V>
[[nodiscard]] CountedRows count_rows(DeviceJob<V>& job, const std::function<void(offset_t* counts)>& count_others = {});

/// The workflow `symbolic`: symbolic phase, then numeric phase. \throws OutOfMemory before anything is summed
template <class V>
[[nodiscard]] CsrArrays<V> two_phase(DeviceJob<V>& job);

using detail::LocalFactor;

}  // namespace tessera::cuda
