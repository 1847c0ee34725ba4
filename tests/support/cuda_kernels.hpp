/// \file
/// The kernels of a GPU that can run on this machine.
#pragma once

#include "tessera/error.hpp"
#include "tessera/spmv.hpp"
#include "tests/support/adversarial.hpp"

#include <string>
#include <vector>

namespace tessera::testing {

[[nodiscard]] inline bool is_vendor(SpmvAlgorithm algorithm) {
  return algorithm == SpmvAlgorithm::vendor_csr || algorithm == SpmvAlgorithm::vendor_coo;
}

/// Whether cuSPARSE can be loaded here; if not, `why` is what the kernels say.
[[nodiscard]] inline bool has_vendor_kernels(const Device& gpu, std::string& why) {
  try {
    SpmvOptions options;
    options.device = gpu;
    options.algorithm = SpmvAlgorithm::vendor_csr;
    const SpmvPlan<float> plan(with_row_lengths<float>({1, 2}, 3, ValueStorage::weighted), options);
    return true;
  } catch (const NotSupported& error) {
    why = error.what();
    return false;
  }
}

/// All kernels that take any matrix, without those of cuSPARSE where it is missing.
[[nodiscard]] inline std::vector<SpmvAlgorithm> cuda_algorithms(const Device& gpu) {
  std::string why;
  const bool vendor = has_vendor_kernels(gpu, why);
  std::vector<SpmvAlgorithm> algorithms;
  for (const SpmvAlgorithm algorithm : spmv_algorithms(gpu)) {
    if (algorithm == SpmvAlgorithm::patterns) continue;  // refuses rows that do not repeat
    if (algorithm == SpmvAlgorithm::sell) continue;      // refuses rows that are too long
    if (vendor || !is_vendor(algorithm)) algorithms.push_back(algorithm);
  }
  return algorithms;
}

}  // namespace tessera::testing
