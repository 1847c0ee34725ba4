/// \file
/// The operations between two precisions, instantiated for a GPU, or for a build without CUDA.
#pragma once

#include "solvers/mixed_precision.hpp"

namespace tessera::cuda {

template struct TransformReduce<detail::CorrectedSolution>;
template struct TransformReduce<detail::TakeCorrection>;
template struct TransformReduce<detail::RoundToSingle>;
template struct TransformReduce<detail::AxpbyWidened>;
template struct TransformRows<detail::WidenedProductRow>;

}  // namespace tessera::cuda
