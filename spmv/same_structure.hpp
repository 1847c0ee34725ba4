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
