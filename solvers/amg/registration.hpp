/// \file
/// Registration of the operations of AMG's set-up that run on a GPU. Included once by registration_cuda.cu, which
/// compiles their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/amg/aggregation.hpp"
#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/amg/galerkin_size.hpp"
#include "solvers/amg/node_size.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/amg/prolongator.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/amg/spectral_radius.hpp"
#include "solvers/amg/strength.hpp"
#include "solvers/fused/ops.hpp"

namespace tessera::cuda {

template struct TransformReduce<MembersOf>;
template struct TransformReduce<Bandwidth>;
template struct TransformReduce<PlaceOffsets>;
template struct TransformReduce<ColumnBounds>;
template struct TransformReduce<CountNodes>;
template struct TransformReduce<SketchColumns>;
template struct TransformReduce<ShiftColumns>;
template struct TransformReduce<CopyOffsets>;
template struct TransformReduce<CopyElements<index_t>>;
template struct TransformReduce<CopyElements<offset_t>>;
template struct TransformReduce<FillOffsets>;
template struct TransformReduce<CopyElements<std::uint32_t>>;
template struct TransformReduce<MisStart>;
template struct TransformReduce<ShiftNumbers>;
template struct TransformReduce<MarkRoots>;
template struct TransformReduce<TentativeLengths>;
template struct TransformReduce<NodePattern>;
template struct TransformReduce<TentativeEntries<float>>;
template struct TransformReduce<TentativeEntries<double>>;
template struct TransformReduce<OrthonormaliseAggregate<float>>;
template struct TransformReduce<OrthonormaliseAggregate<double>>;
template struct TransformReduce<SquareValues<float>>;
template struct TransformReduce<SquareValues<double>>;
template struct TransformReduce<RootValues<float>>;
template struct TransformReduce<RigidBodyModes<float>>;
template struct TransformReduce<ConstantModes<float>>;
template struct TransformReduce<RootValues<double>>;
template struct TransformReduce<RigidBodyModes<double>>;
template struct TransformReduce<ConstantModes<double>>;
template struct TransformReduce<PowerStart<float>>;
template struct TransformReduce<PowerStart<double>>;
template struct TransformReduce<ProbeVector<float>>;
template struct TransformReduce<ProbeVector<double>>;

template struct TransformRows<UniteSketches>;
template struct TransformRows<MisNear>;
template struct TransformRows<MisDecide>;
template struct TransformRows<JoinRoots>;
template struct TransformRows<JoinStrongest<float>>;
template struct TransformRows<JoinStrongest<double>>;
template struct TransformRows<MeasureRows<float>>;
template struct TransformRows<MeasureRows<double>>;
template struct TransformRows<CountStrong<float>>;
template struct TransformRows<CountStrong<double>>;
template struct TransformRows<DiagonalRounding<float>>;
template struct TransformRows<DiagonalRounding<double>>;
template struct TransformRows<PowerStep<float>>;
template struct TransformRows<PowerStep<double>>;
template struct TransformRows<SmoothProlongator<float>>;
template struct TransformRows<AsymmetryProbe<float>>;
template struct TransformRows<SmoothProlongator<double>>;
template struct TransformRows<AsymmetryProbe<double>>;

}  // namespace tessera::cuda
