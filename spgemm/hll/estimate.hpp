/// \file
/// Estimates of the entries of every row of C.
#pragma once

#include "spgemm/job.hpp"

namespace tessera::host {

/// Bytes that the estimate holds while it works: the sketches of B and a number a row of A.
[[nodiscard]] std::uint64_t estimate_bytes(SpgemmWorkflow workflow, int registers, std::int64_t a_rows,
                                           std::int64_t b_rows) noexcept;

/// \param workflow hll or cohen \param registers 32, 64 or 128
/// \returns an estimate a row, never above its bound; exact for rows with fewer than two lists
/// O(nnz(B) + registers * nnz(A)); for cohen O(registers * (nnz(A) + nnz(B))). \throws OutOfMemory
template <class T>
[[nodiscard]] Array<float> estimate_rows(const ProductJob<T>& job, SpgemmWorkflow workflow, int registers);

}  // namespace tessera::host
