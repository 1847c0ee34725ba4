/// \file
/// The row operations of approximate inverses, instantiated for a GPU, or for a build without CUDA.
#pragma once

#include "solvers/inverse/adaptive_rows.hpp"
#include "solvers/inverse/fsai_rows.hpp"
#include "solvers/inverse/kept_rows.hpp"
#include "solvers/inverse/spai_rows.hpp"

namespace tessera::cuda {

using namespace detail;

template struct ForRows<CountKept<AtLeast>>;
template struct ForRows<FillKept<AtLeast>>;
template struct ForRows<CountKept<AtLeastOfDiagonal>>;
template struct ForRows<FillKept<AtLeastOfDiagonal>>;
template struct ForRows<CountKept<LargestOfRow>>;
template struct ForRows<FillKept<LargestOfRow>>;
template struct ForRows<AdaptivePattern>;
template struct ForRows<CountKept<PresentColumns>>;
template struct ForRows<FillKept<PresentColumns>>;
template struct ForRows<FsaiCheck<float>>;
template struct ForRows<FsaiCheck<double>>;
template struct ForRows<FsaiScale<float>>;
template struct ForRows<FsaiScale<double>>;
template struct ForRows<FsaiSolve>;
template struct ForRows<FsaiUnscale<float>>;
template struct ForRows<FsaiUnscale<double>>;
template struct ForRows<SpaiUnitRows<float>>;
template struct ForRows<SpaiUnitRows<double>>;
template struct ForRows<SpaiDiagonal<float>>;
template struct ForRows<SpaiDiagonal<double>>;
template struct ForRows<SpaiSolve<float>>;
template struct ForRows<SpaiSolve<double>>;

}  // namespace tessera::cuda
