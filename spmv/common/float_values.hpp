/// \file
/// The values of a double matrix kept as float (SpmvOptions::fp32_values).
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <span>

namespace tessera::cuda {

/// A float copy of the values if the options ask for one and the matrix has double values; else nothing.
/// \param on_device the matrix on options.device \throws OutOfMemory
template <class T>
[[nodiscard]] Array<float> float_values(const CsrView<T>& on_device, const SpmvOptions& options);

/// \param from,to as many on the device
void round_to_float(const Device& device, std::span<const double> from, std::span<float> to);

}  // namespace tessera::cuda
