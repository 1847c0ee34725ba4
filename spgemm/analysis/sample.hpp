/// \file
/// The compression of C = A B, from a few of its rows.
#pragma once

#include "spgemm/job.hpp"

namespace tessera::host {

/// Rows looked at: 3 %, at least 600 and at most 10 000, never more than there are.
[[nodiscard]] constexpr index_t sample_size(index_t rows) noexcept {
  const std::int64_t wanted = std::clamp<std::int64_t>(std::int64_t{rows} * 3 / 100, 600, 10000);
  return static_cast<index_t>(std::min<std::int64_t>(rows, wanted));
}

/// Row number `k` of `size` sampled ones: at a random place of part k of the rows, the same in every run.
[[nodiscard]] index_t sampled_row(index_t rows, index_t size, index_t k) noexcept;

/// Relative standard error of 1 / compression over n rows: sqrt((ε² + CV² (1 + ε²)) / n).
/// \param estimator_error ε, relative error of the size of a row; 0 for counted rows
/// \param variation CV, standard deviation of the rows' sizes over their mean
[[nodiscard]] double compression_error(double estimator_error, double variation, index_t n) noexcept;

/// Counts the sampled rows. \throws OutOfMemory for the workspaces
template <class T>
[[nodiscard]] SpgemmSample sample_compression(ProductJob<T>& job);

}  // namespace tessera::host
