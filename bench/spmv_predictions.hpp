/// \file
/// Predicted times of products beside measured ones.
#pragma once

#include "bench/report.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "tessera/device_figures.hpp"
#include "tessera/spmv.hpp"

#include <map>

namespace tessera::bench {

/// The traits of a matrix, predicted times of its kernels, and the place of the fastest one by prediction, from 1 on.
/// \param timed milliseconds of kernels; those without a prediction are left out
[[nodiscard]] Json prediction_json(const detail::ProductTraits& traits, const DeviceFigures& figures,
                                   const std::map<SpmvAlgorithm, double>& timed);

}  // namespace tessera::bench
