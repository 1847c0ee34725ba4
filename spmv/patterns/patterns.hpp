/// \file
/// Row patterns: one byte per row names the row's list of relative columns, at most 254 lists, found exactly; where the
/// values repeat too, the list of both (row templates). Products read no columns. Rows on no list, at most 1 %, are
/// read from CSR in the same product. A row on a list is summed in the order of its columns by one thread; positions
/// that it lacks are never multiplied, so that NaN and infinity in x reach exactly the rows that hold their column.
#pragma once

#include "spmv/common/kernel.hpp"
#include "spmv/patterns/row_patterns.hpp"

#include <memory>
#include <optional>

namespace tessera {

namespace host {

/// Threads take ranges of rows; 16 neighbouring ones on one list are summed side by side. Values lie in slices of
/// these, in as few bytes as hold them; in CSR where neighbours are on different lists. \throws NotSupported for a
/// matrix whose rows do not repeat; as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_patterns_kernel(const CsrView<T>& a, const SpmvOptions& options);

/// The same for a matrix of which a sample promised values in fewer than 8 bytes. \throws NotSupported where all of it
/// needs these
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_promised_patterns_kernel(const CsrView<T>& a,
                                                                           const SpmvOptions& options);

/// What a sample of rows promises to lists of one kind. O(1): 8192 rows, or as many as show that lists cannot name
/// enough of them; nothing is named then. \param a on the host
template <class T>
[[nodiscard]] RowListEstimate estimate_row_lists(const CsrView<T>& a, RowListKind kind, const Device& device);

/// Whether most rows of a sample have the list of relative columns of the next row, so that they are summed side by
/// side. O(1): 1024 rows. \param a on the host
template <class T>
[[nodiscard]] bool neighbours_are_alike(const CsrView<T>& a);

/// Bytes of a value in the layout that a sample promises to row patterns: 1 in a dictionary, 4 where single precision
/// holds all, about half of that where the values are symmetric, else those of T. O(1): 4096 values, 1024 rows.
/// \param a weighted, on the host
template <class T>
[[nodiscard]] double promised_value_bytes(const CsrView<T>& a);

/// Lists of one kind, and the list of each row. \returns what the lists of the sample named where those do not name
/// enough rows, else nothing
template <class T>
[[nodiscard]] std::optional<RowListEstimate> search_row_patterns(const CsrView<T>& a, RowListKind kind,
                                                                 const Device& device, RowPatterns<T>& found);

/// Lists and the list of each row. \param options.device of the matrix \throws NotSupported, OutOfMemory
template <class T>
[[nodiscard]] RowPatterns<T> find_row_patterns(const CsrView<T>& a, const Device& device);

}  // namespace host

namespace cuda {

/// A thread per row, all loads of a row under way at once; values in slices, padded or jagged.
/// \param on_device the matrix on options.device \throws NotSupported for a matrix whose rows do not repeat; as
/// SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_patterns_kernel(const CsrView<T>& on_device,
                                                                  const SpmvOptions& options);

/// What a sample of rows promises, of templates first. O(1): 1024 rows, and 8192 where those may repeat; waits. \throws
/// CudaError
template <class T>
[[nodiscard]] RowListEstimate estimate_row_lists(const CsrView<T>& on_device, const Device& device);

/// Bytes of a value in the layout that a sample of values promises to row patterns: 1 in a dictionary, 4 where single
/// precision holds all, else those of T; a symmetric half may read less. O(1): 4096 values; waits. \param on_device
/// weighted \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] double promised_value_bytes(const CsrView<T>& on_device, const Device& device);

/// As host::find_row_patterns(). \throws NotSupported, OutOfMemory, CudaError
template <class T>
[[nodiscard]] RowPatterns<T> find_row_patterns(const CsrView<T>& on_device, const Device& device);

/// The same for callers that have another way: nothing where the rows do not repeat, which a first look at 1024 rows
/// mostly finds. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::optional<RowPatterns<T>> look_for_row_patterns(const CsrView<T>& on_device, const Device& device);

}  // namespace cuda
}  // namespace tessera
