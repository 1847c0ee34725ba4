/// \file
/// The table of kernels. A new kernel is one folder and one line of this table.
#pragma once

#include "spmv/kernel.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <string_view>

namespace tessera {

template <class T>
using SpmvKernelFactory = std::unique_ptr<SpmvKernel<T>> (*)(const CsrView<T>&, const SpmvOptions&);

struct SpmvKernelEntry {
  SpmvAlgorithm algorithm;
  std::string_view name;
  std::string_view description;
  Determinism strongest;  ///< class that the kernel can keep when asked
  bool has_setup;         ///< builds descriptors, so takes sigma and descriptor_bits
  SpmvKernelFactory<float> make_float;
  SpmvKernelFactory<double> make_double;
};

/// \throws InvalidArgument for `automatic` and for values that no kernel has
[[nodiscard]] const SpmvKernelEntry& spmv_kernel_entry(SpmvAlgorithm algorithm);

}  // namespace tessera
