/// \file
/// The table of kernels. A new kernel is one folder and one line of this table.
#pragma once

#include "spmv/common/kernel.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <string_view>

namespace tessera::detail {

template <class T>
using SpmvKernelFactory = std::unique_ptr<SpmvKernel<T>> (*)(const CsrView<T>&, const SpmvOptions&);

/// A kernel on one kind of device.
struct SpmvBackend {
  Determinism strongest = Determinism::not_guaranteed;  ///< class that the kernel can keep when asked
  SpmvKernelFactory<float> make_float = nullptr;
  SpmvKernelFactory<double> make_double = nullptr;

  [[nodiscard]] bool offered() const noexcept { return make_float != nullptr; }
};

struct SpmvKernelEntry {
  SpmvAlgorithm algorithm;
  std::string_view name;
  std::string_view description;
  bool has_descriptors;  ///< builds tiles, so takes sigma and descriptor_bits
  bool has_setup;        ///< the first product costs more than the others
  SpmvBackend host;
  SpmvBackend cuda;

  [[nodiscard]] const SpmvBackend& on(const Device& device) const noexcept { return device.is_host() ? host : cuda; }
};

/// How a kernel is made on a GPU; not offered() for one that runs on the host only, and for all of them in a build
/// without CUDA. The factories take a matrix that lies on options.device; that of `streamed` one on the host.
[[nodiscard]] SpmvBackend cuda_backend(SpmvAlgorithm algorithm);

/// \throws InvalidArgument for `automatic`, `measured` and for values that no kernel has
[[nodiscard]] const SpmvKernelEntry& spmv_kernel_entry(SpmvAlgorithm algorithm);

}  // namespace tessera::detail
