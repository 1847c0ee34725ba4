/// \file
/// The kernels that are compared. The table is a value, so that a test can add one that is wrong.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/spmv.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// A kernel set up for one matrix.
template <class T>
struct PlannedKernel {
  std::unique_ptr<LinearOperator<T>> product;
  PlanInfo info;
};

/// A kernel by name, with the options that choose it.
template <class T>
struct Candidate {
  std::string name;
  SpmvOptions options;
  /// Sets the kernel up; may throw.
  std::function<PlannedKernel<T>(const std::shared_ptr<const Csr<T>>&)> plan;
};

/// The kernel that all others are measured against: no set-up, no surprises.
inline constexpr std::string_view reference_kernel = "csr";

/// Every kernel of the registry. One that adds in no fixed order unless a determinism class is asked for (MERBIT's two
/// commits) appears twice, the second time as "NAME:gpu" with Determinism::gpu_to_gpu.
template <class T>
[[nodiscard]] std::vector<Candidate<T>> registered_candidates(const Device& device);

/// The candidates that --kernels names, in the order of the table; the reference always takes part, as the first.
/// \param wanted "all", or names separated by commas
/// \throws UsageError for an unknown name (naming the nearest) and for one given twice
template <class T>
[[nodiscard]] std::vector<Candidate<T>> choose_candidates(std::vector<Candidate<T>> table, const std::string& wanted);

}  // namespace tessera::cli
