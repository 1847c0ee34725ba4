/// \file
/// Predicted times of kernels and the figures they are made of, as text and JSON.
#pragma once

#include "report_json.hpp"

#include "spmv/prediction/predicted_time.hpp"
#include "tessera/device_figures.hpp"

#include <string>
#include <vector>

namespace tessera::cli {

/// Predicted times of the kernels of one GPU, the fastest first.
struct KernelPredictions {
  DeviceFigures figures;
  std::vector<detail::PredictedProduct> kernels;
};

/// "copies 4240 GB/s, ... (built in)".
[[nodiscard]] std::string figures_text(const DeviceFigures& figures);

/// "built in", "calibrated on 2026-11-26T20:30:00Z".
[[nodiscard]] std::string source_text(const DeviceFigures& figures);

/// "patterns 0.289 ms (5.05 B per nonzero), merbit 0.482 ms (12.4 B), ...; figures built in".
[[nodiscard]] std::string predictions_text(const KernelPredictions& predictions);

[[nodiscard]] Json figures_json(const DeviceFigures& figures);
[[nodiscard]] Json predictions_json(const KernelPredictions& predictions);

}  // namespace tessera::cli
