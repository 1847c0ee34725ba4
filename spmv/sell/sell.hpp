/// \file
/// Sliced ELL (Monakov, Lokhmotov & Avetisyan, HiPEAC 2010; SELL-C-σ of Kreutzer et al., SIAM J. Sci. Comput. 36, 2014,
/// with σ = 1): slices of neighbouring rows, stored entry by entry over the rows of a slice, in as few bytes as the
/// matrix allows. Columns take 16 bits where none is farther than 32767 from its row's own, values a byte where there
/// are at most 255 of them, or 4 where float holds them exactly; nothing is lost. A row is summed by one thread in the
/// order of its columns; positions that it lacks are never multiplied, so that NaN and infinity in x reach exactly the
/// rows that hold their column. Long rows, if there are few, are read from CSR in the same product.
#pragma once

#include "spmv/common/kernel.hpp"
#include "spmv/sell/sell_layout.hpp"

#include <memory>

namespace tessera {

namespace host {

/// Rows in parallel as in CSR, with columns and values in fewer bytes where possible; not in slices, which a processor
/// with caches does not need. Takes every matrix. \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_sell_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace host

namespace cuda {

/// A thread for two or four rows, all loads of them under way at once. \param on_device the matrix on options.device
/// \throws NotSupported for long rows that hold too much of the matrix; as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_sell_kernel(const CsrView<T>& on_device, const SpmvOptions& options);

/// The same for a matrix of which a sample promised a layout. \throws NotSupported where all of it needs a larger one
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_promised_sell_kernel(const CsrView<T>& on_device,
                                                                       const SpmvOptions& options,
                                                                       const detail::SellLayout& promised);

/// What a sample of rows and of values promises. O(1): one block each, one copy; waits. \throws CudaError
template <class T>
[[nodiscard]] detail::SellSample sample_for_sell(const CsrView<T>& on_device, const Device& device);

}  // namespace cuda
}  // namespace tessera
