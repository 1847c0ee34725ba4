/// \file
/// MERBIT: products along precomputed merge-path tiles (MERBIT, §4). Row offsets are not read: the views passed to the
/// kernels may come without them.
#pragma once

#include "spmv/common/kernel.hpp"
#include "spmv/merbit/hub_columns.hpp"
#include "spmv/merbit/merbit_tuning.hpp"

#include <memory>
#include <optional>

namespace tessera {

namespace detail {

/// Descriptor width and path items per lane.
struct MerbitShape {
  int sigma = 0;
  int descriptor_bits = 0;
};

/// What the caller fixed; for the rest the defaults for descriptors of 32 and of 64 bits.
/// \throws NotSupported when the requested sigma does not fit the requested descriptors
[[nodiscard]] MerbitShape choose_merbit_shape(const SpmvOptions& options, int sigma_32, int sigma_64);

}  // namespace detail

namespace host {

/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace host

namespace cuda {

struct MerbitTileArrays;

/// A MERBIT kernel on a GPU as its tests see it.
template <class T>
class InspectableMerbitKernel : public SpmvKernel<T> {
 public:
  /// Live as long as the kernel.
  [[nodiscard]] virtual const MerbitTileArrays& tiles() const noexcept = 0;
};

/// What tests may force; by default everything is chosen for the matrix and the GPU.
struct MerbitTuning {
  std::optional<MerbitLayout> layout;  ///< `rows` is replaced where some tile would have to be walked
  std::optional<HubRules> hubs;        ///< for a layout that takes them; a forced one has none else
};

/// If the options ask for a sigma or for 64-bit descriptors, the layout is `exact`; otherwise matrix and GPU decide
/// between the others. Shared rows are added atomically into dual buffers, except where options.determinism asks for
/// more than not_guaranteed, no row is shared, or thousands of snapped tiles share a few: then results are run_to_run.
/// \param a on options.device
/// \throws as SpmvPlan's constructor; NotSupported for a forced layout that does not suit the GPU or the matrix
template <class T>
[[nodiscard]] std::unique_ptr<InspectableMerbitKernel<T>> make_merbit_kernel(const CsrView<T>& a,
                                                                             const SpmvOptions& options,
                                                                             const MerbitTuning& tuning);

template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace cuda
}  // namespace tessera
