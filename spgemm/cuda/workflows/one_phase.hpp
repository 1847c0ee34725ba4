/// \file
/// One-phase workflows on a GPU: estimated sizes, the output buffer, and the copy into C.
#pragma once

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "spgemm/cuda/accumulators/row_batch.hpp"
#include "spgemm/cuda/bins.hpp"
#include "spgemm/cuda/job.hpp"
#include "tessera/array.hpp"
#include "tessera/spgemm.hpp"

#include <optional>

namespace tessera::cuda {

/// Rows of C whose offsets in C are not known yet, and their offsets in this buffer.
template <class V>
struct OutputBuffer {
  OutputBuffer(const DeviceJob<V>& job, offset_t entries)
      : columns(entries, Init::none, job.device()),
        values(has_values<V> ? entries : 0, Init::none, job.device()),
        buffer_offsets(job.rows, Init::none, job.device()),
        cursor(1, Init::zero, job.device()) {
    static_assert(no_offset == -1);
    if (job.rows == 0) return;
    check(cudaMemsetAsync(buffer_offsets.data(), 0xff, buffer_offsets.bytes(), job.context.stream()),
          "clearing buffer_offsets of rows");
  }

  Array<index_t> columns;
  Array<V> values;
  Array<offset_t> buffer_offsets;
  Array<unsigned long long> cursor;

  /// For phase numeric_allocating. \param counts entries of rows go here
  [[nodiscard]] RowOutput<V> output(offset_t* counts) noexcept {
    RowOutput<V> out;
    out.counts = counts;
    out.columns = columns.data();
    out.values = values.data();
    out.buffer_offsets = buffer_offsets.data();
    out.cursor = cursor.data();
    out.capacity = columns.size();
    return out;
  }

  [[nodiscard]] static std::uint64_t bytes(std::int64_t rows, offset_t entries) noexcept {
    return detail::csr_bytes(rows, entries, value_bytes<V>);
  }
};

/// Estimated size of C.
struct DeviceSizeEstimate {
  offset_t capacity = 0;   ///< capacity of the output buffer, in entries
  RowEntries entries;      ///< of the rows
  Array<float> estimates;  ///< where `entries` points
};

/// By the workflow that the report names: a sample, sketches, or the number of products. None when its sketches do not
/// fit into memory. Waits.
template <class V>
[[nodiscard]] std::optional<DeviceSizeEstimate> estimate_sizes(DeviceJob<V>& job);

/// Copies every row of the output buffer to its offset in C. O(nnz(C) + rows).
/// \param buffer_offsets of every row in the output buffer, or no_offset \param offsets of C, rows + 1 entries
/// \param mean_entries of a row
template <class V>
void enqueue_compaction(const Context& context, index_t rows, double mean_entries, const offset_t* buffer_offsets,
                        const offset_t* offsets, const index_t* from_columns, const V* from_values, index_t* columns,
                        V* values);

/// Mean of |estimate - entries| / entries over the rows that have some. Waits. \param offsets of C
[[nodiscard]] double mean_estimate_error(const Device& device, const Array<float>& estimates,
                                         const Array<offset_t>& offsets);

/// Forms C by another workflow than `symbolic`. None when that does not fit into memory; the report then says what it
/// would have needed.
template <class V>
using NamedWorkflow = std::optional<CsrArrays<V>> (*)(DeviceJob<V>&);

/// All workflows but `symbolic` and `esc`: rows are written to an output buffer of estimated size, then copied into C.
/// None when the buffer does not fit into memory; the report says what it would have needed. \throws OutOfMemory only
/// when two_phase() would throw
template <class V>
[[nodiscard]] std::optional<CsrArrays<V>> one_phase(DeviceJob<V>& job);

/// The workflow `esc`: rows in the order of their products, each by the threads of its level, into an output buffer for
/// all products; then copied into C. None and \throws as one_phase()
template <class V>
[[nodiscard]] std::optional<CsrArrays<V>> esc_workflow(DeviceJob<V>& job);

}  // namespace tessera::cuda
