/// \file
/// Predicted times of products beside measured ones.
#pragma once

#include "bench/report.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "tessera/device_figures.hpp"
#include "tessera/spmv.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

/// A kernel of the registry, timed on a matrix.
struct TimedKernel {
  SpmvAlgorithm algorithm = SpmvAlgorithm::csr;
  double ms = 0.0;
};

/// What the kernels of one matrix are predicted to take, by samples and not by their plans.
class Predictions {
 public:
  Predictions(const detail::ProductTraits& traits, const DeviceFigures& figures) : traits_(traits), figures_(figures) {}

  /// The traits, predicted times, and the rank of the fastest kernel by prediction. \param timed those without a
  /// prediction are left out
  [[nodiscard]] Json json(const std::vector<TimedKernel>& timed) const;

 private:
  /// In milliseconds; nothing for a kernel that is not predicted.
  [[nodiscard]] std::optional<double> of(SpmvAlgorithm algorithm) const;
  /// Place of a kernel among those timed, by predicted time; the first is 1. \param timed those that are predicted
  [[nodiscard]] int rank(SpmvAlgorithm algorithm, const std::vector<TimedKernel>& timed) const;

  detail::ProductTraits traits_;
  DeviceFigures figures_;
};

}  // namespace tessera::bench
