/// \file
/// A first look at a few rows of a matrix on a GPU: whether they can repeat at all. It costs a tenth of what counting a
/// sample costs, and most matrices that do not qualify end here.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/patterns/row_patterns.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

namespace tessera {

namespace detail {

/// Rows that are looked at, and relative columns of each.
inline constexpr index_t screened_rows = 1024;
inline constexpr int screened_entries = 16;

/// A matrix that qualifies shows fewer beginnings of rows: those of its lists, and of its exceptions in the sample.
inline constexpr int most_screened_beginnings = most_row_lists + 66;

}  // namespace detail

namespace cuda {

/// Whether the rows of a sample begin in few ways: false where row patterns surely do not qualify, or nearly so. One
/// block of threads; waits. \throws CudaError
template <class T>
[[nodiscard]] bool rows_may_repeat(const CsrView<T>& on_device, const Device& device);

}  // namespace cuda
}  // namespace tessera
