/// \file
/// The gate that a kernel passes before it is timed.
#pragma once

#include "compare/candidate.hpp"
#include "compare/oracle.hpp"

#include <span>
#include <string>

namespace tessera::compare {

struct Verdict {
  bool passed = false;
  std::string reason;             ///< of a failure
  double error_over_bound = 0.0;  ///< largest of all products that were checked
  bool repeats = false;           ///< all products were equal to the last bit
};

/// Applies the kernel to a plain vector and repeatedly to the output that it makes for itself, every output filled with
/// NaN before, and holds all results against the oracle. A kernel whose plan promises equal bits and whose products
/// differ fails too. Outputs are brought to the host to be judged. What the kernel throws is a failure with the
/// exception's text.
template <class T>
[[nodiscard]] Verdict check_products(const PlannedKernel<T>& kernel, std::span<const T> x, const ProductOracle& oracle);

}  // namespace tessera::compare
