/// \file
/// Comparison of structures: a matrix may differ from the planned one in its values alone.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Compares sizes, storage, row offsets and columns, O(rows + nnz), parallel. \param device on which both lie
/// \throws InvalidMatrix naming the first difference
template <class T>
void require_same_structure(const Device& device, const CsrView<T>& planned, const CsrView<T>& given);

}  // namespace tessera::detail

namespace tessera::cuda {
/// Smallest index at which a and b, of equal length, differ; -1 when they are the same. Waits.
template <class I>
[[nodiscard]] std::int64_t first_difference(const Device& device, std::span<const I> a, std::span<const I> b);
}  // namespace tessera::cuda
