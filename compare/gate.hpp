/// \file
/// The gate that a kernel passes before it is timed.
#pragma once

#include "compare/candidate.hpp"
#include "compare/oracle.hpp"

#include <exception>
#include <span>
#include <string>

namespace tessera::compare {

struct Verdict {
  bool passed = false;
  bool out_of_memory = false;     ///< the failure says nothing of the kernel
  std::string reason;             ///< of a failure
  double error_over_bound = 0.0;  ///< largest of all products that were checked
  bool repeats = false;           ///< all products were equal to the last bit
};

/// Multiplies into a plain vector, then several times into the output that the kernel makes for loops, each filled with
/// NaN before, and compares all results with the oracle, on the host. A kernel whose plan promises equal bits and whose
/// products differ fails too. An exception is a failure with its text.
template <class T>
[[nodiscard]] Verdict check_products(const PlannedKernel<T>& kernel, std::span<const T> x, const ProductOracle& oracle);

[[nodiscard]] bool is_out_of_memory(const std::exception& error);

}  // namespace tessera::compare
