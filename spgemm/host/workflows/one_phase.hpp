/// \file
/// One-phase workflows on the host: rows are summed into a store of estimated size, then copied into C. Sizes come from
/// estimate_sizes().
#pragma once

#include "spgemm/host/job.hpp"

#include <optional>
#include <string>

namespace tessera::host {

/// Estimated size of C.
struct SizeEstimate {
  offset_t capacity = 0;   ///< capacity of the store, in entries
  offset_t expected = 0;   ///< entries that C probably has
  Array<float> estimates;  ///< of every row; none: only the sum of all counts
  double margin = 1.0;     ///< capacity for a row over its estimate
};

/// By the workflow that the report names: a sample, sketches, or the number of products. None when its sketches do not
/// fit into memory.
template <class T>
[[nodiscard]] std::optional<SizeEstimate> estimate_sizes(HostJob<T>& job, const SpgemmOptions& options,
                                                         SpgemmReport& report);

/// C, and how the phase went.
template <class T>
struct OnePhaseResult {
  Csr<T> matrix;
  index_t overflow_rows = 0;
  double numeric_ms = 0.0;
  double compaction_ms = 0.0;
  /// Nonempty when C and the store did not fit beside each other and the rows were summed a second time.
  std::string fallback;
};

/// Bytes of the store with its workspaces and of C as foreseen.
template <class V, class T>
[[nodiscard]] std::uint64_t one_phase_bytes(const HostJob<T>& job, const SizeEstimate& plan) noexcept;

/// Rows for which the store is full, or that exceed their estimate, are computed again straight into C.
/// \throws OutOfMemory only when `symbolic` would throw
template <class V, class T>
[[nodiscard]] OnePhaseResult<T> one_phase(HostJob<T>& job, const SizeEstimate& plan);

/// Sampled rows: 3 %, at least 600 and at most 10 000, never more than there are.
[[nodiscard]] constexpr index_t sample_size(index_t rows) noexcept {
  const std::int64_t wanted = std::clamp<std::int64_t>(std::int64_t{rows} * 3 / 100, 600, 10000);
  return static_cast<index_t>(std::min<std::int64_t>(rows, wanted));
}

/// Row number `k` of `size` sampled ones: at a random position in part k of the rows, the same in every run.
[[nodiscard]] index_t sampled_row(index_t rows, index_t size, index_t k) noexcept;

/// Relative standard error of 1 / compression over n rows: sqrt((ε² + CV² (1 + ε²)) / n).
/// \param estimator_error ε, relative error of the size of a row; 0 for counted rows
/// \param variation CV, standard deviation of the rows' sizes over their mean
[[nodiscard]] double compression_error(double estimator_error, double variation, index_t n) noexcept;

/// Compression of C from a sample of counted rows. \throws OutOfMemory for the workspaces
template <class T>
[[nodiscard]] SpgemmSample sample_compression(HostJob<T>& job);

/// \param workflow hll or cohen \param registers 32, 64 or 128
/// \returns an estimate per row, never above its bound; exact for rows of A with fewer than two entries
/// O(nnz(B) + registers * nnz(A)); for cohen O(registers * (nnz(A) + nnz(B))). \throws OutOfMemory
template <class T>
[[nodiscard]] Array<float> estimate_rows(const HostJob<T>& job, SpgemmWorkflow workflow, int registers);

}  // namespace tessera::host
