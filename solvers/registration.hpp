/// \file
/// Registration of the operations that run on a GPU: all that are in the OpList of their method. Included once by
/// registration_cuda.cu, which compiles their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/accuracy.hpp"
#include "solvers/bicgstab.hpp"
#include "solvers/cg.hpp"
#include "solvers/enqueued_cg.hpp"
#include "solvers/explicit_polynomial.hpp"
#include "solvers/fused/registration.hpp"
#include "solvers/gmres.hpp"
#include "solvers/idr.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/pagerank.hpp"
#include "solvers/polynomial.hpp"
#include "solvers/richardson.hpp"

namespace tessera::cuda {

using detail::BicgstabOps;
using detail::CgOps;
using detail::EnqueuedCgOps;
using detail::EnqueuedCgRestartOps;
using detail::EnqueuedCgStateOps;
using detail::ExplicitPolynomialOps;
using detail::GmresOps;
using detail::IdrOps;
using detail::JacobiOps;
using detail::PagerankOps;
using detail::PolynomialOps;
using detail::RichardsonOps;
using fused::FusedDiagonal;
using fused::FusedIdentity;
using fused::VectorOps;

template struct Kernels<VectorOps<float>>;
template struct Kernels<VectorOps<double>>;
template struct Kernels<CgOps<float, FusedIdentity<float>>>;
template struct Kernels<CgOps<float, FusedDiagonal<float>>>;
template struct Kernels<CgOps<double, FusedIdentity<double>>>;
template struct Kernels<CgOps<double, FusedDiagonal<double>>>;
template struct Kernels<EnqueuedCgStateOps>;
template struct Kernels<EnqueuedCgOps<float>>;
template struct Kernels<EnqueuedCgOps<double>>;
template struct Kernels<EnqueuedCgRestartOps<float, FusedIdentity<float>>>;
template struct Kernels<EnqueuedCgRestartOps<float, FusedDiagonal<float>>>;
template struct Kernels<EnqueuedCgRestartOps<double, FusedIdentity<double>>>;
template struct Kernels<EnqueuedCgRestartOps<double, FusedDiagonal<double>>>;
template struct Kernels<BicgstabOps<float, FusedIdentity<float>>>;
template struct Kernels<BicgstabOps<float, FusedDiagonal<float>>>;
template struct Kernels<BicgstabOps<double, FusedIdentity<double>>>;
template struct Kernels<BicgstabOps<double, FusedDiagonal<double>>>;
template struct Kernels<GmresOps<float, FusedIdentity<float>>>;
template struct Kernels<GmresOps<float, FusedDiagonal<float>>>;
template struct Kernels<GmresOps<double, FusedIdentity<double>>>;
template struct Kernels<GmresOps<double, FusedDiagonal<double>>>;
template struct Kernels<IdrOps<float, FusedIdentity<float>>>;
template struct Kernels<IdrOps<float, FusedDiagonal<float>>>;
template struct Kernels<IdrOps<double, FusedIdentity<double>>>;
template struct Kernels<IdrOps<double, FusedDiagonal<double>>>;
template struct Kernels<RichardsonOps<float, FusedIdentity<float>>>;
template struct Kernels<RichardsonOps<float, FusedDiagonal<float>>>;
template struct Kernels<RichardsonOps<double, FusedIdentity<double>>>;
template struct Kernels<RichardsonOps<double, FusedDiagonal<double>>>;
template struct Kernels<JacobiOps<float>>;
template struct Kernels<JacobiOps<double>>;
template struct Kernels<PagerankOps<float>>;
template struct Kernels<PagerankOps<double>>;
template struct Kernels<PolynomialOps<float>>;
template struct Kernels<PolynomialOps<double>>;
template struct Kernels<ExplicitPolynomialOps<float>>;
template struct Kernels<ExplicitPolynomialOps<double>>;

template struct TransformRows<detail::BackwardErrorRow<float>>;
template struct TransformRows<detail::BackwardErrorRow<double>>;
template struct TransformRows<detail::MeasureDiagonal<float>>;
template struct TransformRows<detail::MeasureDiagonal<double>>;
template struct TransformRows<detail::ExplicitFactor<float>>;
template struct TransformRows<detail::ExplicitFactor<double>>;
template struct TransformRows<detail::ExplicitStep<float>>;
template struct TransformRows<detail::ExplicitStep<double>>;
template struct TransformRows<detail::CountExplicit<float>>;
template struct TransformRows<detail::CountExplicit<double>>;

}  // namespace tessera::cuda
