/// \file
/// MERBIT on a GPU.
#pragma once

#include "spmv/kernel.hpp"
#include "spmv/merbit/product_cuda.hpp"
#include "spmv/merbit/tile_arrays.hpp"

#include <memory>
#include <optional>

namespace tessera::cuda {

/// What tests may force; by default everything is chosen for the matrix.
struct MerbitTuning {
  std::optional<MerbitLayout> layout;  ///< `rows` gives way to another where some tile would have to be walked
};

/// A MERBIT kernel as its own tests see it.
template <class T>
class MerbitKernel : public SpmvKernel<T> {
 public:
  /// Live as long as the kernel.
  [[nodiscard]] virtual const MerbitTileArrays& tiles() const noexcept = 0;
};

/// A sigma or 64-bit descriptors asked for by the options mean the layout `exact`; otherwise the matrix decides between
/// the others. Rows that several tiles share are added atomically into dual buffers, unless options.determinism asks
/// for more than not_guaranteed, no row is shared, or thousands of snapped tiles share a few: then the results are
/// run_to_run. \param a on options.device
/// \throws as SpmvPlan's constructor; NotSupported for a forced layout that GPU or matrix do not suit
template <class T>
[[nodiscard]] std::unique_ptr<MerbitKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options,
                                                                  const MerbitTuning& tuning);

template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace tessera::cuda
