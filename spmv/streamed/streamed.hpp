/// \file
/// The streamed product: slices of a matrix that stays in the memory of the host, copied to a GPU while the slice
/// before is multiplied. On the host, ranges of rows one after the other.
#pragma once

#include "core/detail_namespace.hpp"
#include "spmv/common/kernel.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tessera::detail {

/// A matrix of the host that a GPU gets in slices.
struct Streaming {
  std::string reason;
  std::uint64_t memory_bytes = 0;  ///< of the GPU that slices may take; 0: buffers alone
};

/// Whether a plan streams: where `streamed` is named, and where `automatic` or `measured` find that matrix and
/// descriptors exceed options.memory_limit_bytes, or what the GPU has free beside the vectors of a solve. Nothing for
/// the host, and for a matrix on a GPU under another name. \param options checked \throws CudaError
template <class T>
[[nodiscard]] std::optional<Streaming> choose_streaming(const Csr<T>& matrix, const SpmvOptions& options);

}  // namespace tessera::detail

namespace tessera::host {

/// Row by row with the bits of csr. \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_streamed_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace tessera::host

namespace tessera::cuda {

/// Packs the slices into page-locked memory, and measures the bus. Rows are summed as by csr-vector; long ones by parts
/// that are added in their order, whatever the slices are. Products are not for stream capture.
/// \param on_host the matrix; it keeps its place as long as the kernel
/// \param options.memory_limit_bytes of buffers and slices that stay on the GPU; 0: buffers alone
/// \throws OutOfMemory where the limit is below two of the smallest slices, and as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_streamed_kernel(const CsrView<T>& on_host,
                                                                  const SpmvOptions& options);

}  // namespace tessera::cuda
