/// \file
/// Operations whose growth with the size of a matrix is measured: analysis, set-up, advice, PageRank, and the ladder
/// under a limit of time.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/statistics.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {

/// A matrix on the host and the threads that work on it.
struct GrowthSubject {
  std::shared_ptr<const Csr<double>> matrix;
  MatrixStatistics facts;
  Device device;
};

struct GrowthOperation {
  std::string name;
  std::function<void(const GrowthSubject&)> run;
  bool takes_rectangles = false;
};

/// "inspect": what `solve inspect` computes of a matrix before it sets up kernels, without the advice; "matching": both
/// matchings; "plan": an SpMV plan by `auto`; the preconditioners, set up with their default options; "advice": facts
/// and rungs of the ladder, with the prediction of direct factors; "pagerank": set-up and ten iterations on the
/// pattern.
[[nodiscard]] std::vector<GrowthOperation> growth_operations();

/// The ladder on A x = A ones. \returns the status that it ended with
[[nodiscard]] std::string climb_ladder(const GrowthSubject& subject, double time_limit_seconds);

}  // namespace tessera::bench
