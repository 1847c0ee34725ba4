/// \file
/// Blocked two-phase product: the entries of x are first copied, a block of columns at a time, to the halo lists of
/// segments of rows, then each segment is multiplied with its halo list. Both a block of columns and a halo list lie in
/// fast memory, so that x, however large, is never gathered at random. For matrices whose columns are scattered over an
/// x that no cache holds. Cache blocking by columns: Nishtala et al., 2007; propagation blocking, which moves
/// products where this moves entries of x: Beamer, Asanović & Patterson, IPDPS 2017.
#pragma once

#include "spmv/common/kernel.hpp"

#include <memory>

namespace tessera {

namespace host {

/// Segments are chunks of the merge path (spmv/common/chunks.hpp), a block of columns is what a second-level cache
/// holds. \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_blocked_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace host

namespace cuda {

struct BlockedShape;
struct BlockedForecast;

/// Segments of MERBIT tiles; halo lists and blocks of columns fill the shared memory of a multiprocessor. Values stay
/// in the order of CSR. \param on_device the matrix on options.device \throws NotSupported for values that are
/// not aligned to 16 bytes, for more than most_column_blocks blocks of columns and for cells that outnumber half of the
/// nonzeros (blocked_tuning.hpp); as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_blocked_kernel(const CsrView<T>& on_device,
                                                                 const SpmvOptions& options);

/// What a sample of the columns lets expect of the blocked product. O(1): 65536 columns; waits.
/// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
template <class T>
[[nodiscard]] BlockedForecast forecast_blocked(const CsrView<T>& on_device, const Device& device);

/// The same with blocks and lists of a given size, for tests. \throws InvalidArgument for sizes that do not fit
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_blocked_kernel(const CsrView<T>& on_device,
                                                                 const SpmvOptions& options, const BlockedShape& shape);

}  // namespace cuda
}  // namespace tessera
