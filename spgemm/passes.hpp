/// \file
/// Passes over the rows of C whose sizes are known, or are found out exactly.
#pragma once

#include "spgemm/job.hpp"

namespace tessera::host {

/// Decides how many threads share the rows, and whether they save memory rather than time, so that the workspaces fit
/// beside `other_bytes`; sets job.sizes, job.workers and job.policy.frugal. \tparam V T or NoValue
/// \throws OutOfMemory when not even one frugal thread fits
template <class V, class T>
void fit_workspaces(ProductJob<T>& job, std::uint64_t other_bytes);

/// Rows and products by accumulator, those without products left out.
template <class T>
[[nodiscard]] std::vector<SpgemmAccumulatorUse> accumulator_use(const ProductJob<T>& job);

/// Row offsets of C, counted. \throws OutOfMemory
template <class T>
[[nodiscard]] Array<offset_t> count_entries(ProductJob<T>& job);

/// Sums every row into its place. \param columns may be null: values only \param values null for a pattern
template <class V, class T>
void sum_rows(const ProductJob<T>& job, std::vector<RowWorkspace<V>>& workspaces, const offset_t* offsets,
              index_t* columns, V* values);

/// Adds up counts that lie at counts[1] ...; counts[0] becomes 0.
void counts_to_offsets(Array<offset_t>& counts);

/// C itself, once its offsets are known. The caller has reserved its bytes, not those of the workspaces.
template <class V, class T>
[[nodiscard]] Csr<T> sum_into_place(ProductJob<T>& job, Array<offset_t> offsets);

/// A matrix with values of type T, or a pattern where V is NoValue.
template <class V, class T>
[[nodiscard]] Csr<T> assemble_result(const ProductJob<T>& job, Array<offset_t> offsets, Array<index_t> columns,
                                     Array<V> values) {
  if constexpr (has_values<V>) {
    return Csr<T>(job.a.rows, job.b.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  } else {
    return Csr<T>::pattern(job.a.rows, job.b.cols, std::move(offsets), std::move(columns), Check::trusted);
  }
}

/// Bytes of a value of C.
template <class V>
inline constexpr std::size_t value_bytes = has_values<V> ? sizeof(V) : 0;

}  // namespace tessera::host
