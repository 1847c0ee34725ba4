/// \file
/// The kernels that are compared. The table is a value, so that a test can add one that is wrong.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/spmv.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::compare {

/// A kernel set up for one matrix.
template <class T>
struct PlannedKernel {
  std::unique_ptr<FusedOperator<T>> product;
  PlanInfo info;
};

/// A kernel by name, with the options that choose it.
template <class T>
struct Candidate {
  std::string name;
  SpmvOptions options;
  /// Sets the kernel up; may throw.
  std::function<PlannedKernel<T>(const std::shared_ptr<const Csr<T>>&)> plan;
  std::string unavailable = {};  ///< why it cannot be set up on this machine (a library is missing); empty: it can
};

/// The candidate that all others are measured against, one without set-up: csr on the host, csr-vector on a GPU. Empty
/// where neither takes part.
template <class T>
[[nodiscard]] std::string reference_of(const std::vector<Candidate<T>>& candidates);

/// Every kernel that the device has. One that keeps a stronger class when asked than by itself (MERBIT's two commits)
/// appears twice, the second time as "NAME:reproducible" with Determinism::gpu_to_gpu or, where it can do no more, with
/// Determinism::run_to_run.
template <class T>
[[nodiscard]] std::vector<Candidate<T>> registered_candidates(const Device& device);

/// The name that a candidate has here: other versions wrote "NAME:gpu" and "NAME:run" for "NAME:reproducible", in
/// documents that are baselines today.
[[nodiscard]] std::string current_name(std::string_view name);

}  // namespace tessera::compare
