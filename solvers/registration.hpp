/// \file
/// Registration of the operations that run on a GPU: all that are in the OpList of their method. Included once by
/// registration_cuda.cu, which compiles their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/accuracy.hpp"
#include "solvers/bicgstab.hpp"
#include "solvers/cg.hpp"
#include "solvers/enqueued_cg.hpp"
#include "solvers/explicit_polynomial.hpp"
#include "solvers/fused/block.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/gmres.hpp"
#include "solvers/idr.hpp"
#include "solvers/jacobi.hpp"
#include "solvers/pagerank.hpp"
#include "solvers/polynomial.hpp"
#include "solvers/richardson.hpp"

#include <tuple>
#include <type_traits>

namespace tessera::cuda {

/// An operation on the state of a solve alone.
template <class Op>
concept StateOperation = requires(const Op& op, typename Op::State& state) {
  op(state);
};

/// The functions that Loop, EnqueuedSolve, transform_reduce() and block_pass() call for an operation.
template <class Op>
[[nodiscard]] constexpr auto functions_of() {
  if constexpr (StateOperation<Op>) {
    return std::tuple{&StateOp<Op>::enqueue};
  } else if constexpr (std::is_base_of_v<fused::ScalarOp, Op>) {
    return std::tuple{&LoopOp<Op>::record};
  } else if constexpr (requires {
                         typename Op::State;
                         Op::combines;
                       }) {
    return std::tuple{&LoopBlock<Op>::record, &BlockPass<Op>::run};
  } else if constexpr (requires { Op::combines; }) {
    return std::tuple{&BlockPass<Op>::run};
  } else if constexpr (requires { typename Op::State; }) {
    return std::tuple{&LoopOp<Op>::record, &TransformReduce<fused::BoundOp<Op>>::run};
  } else {
    return std::tuple{&TransformReduce<Op>::run};
  }
}

/// Compiles the functions of all operations of a list: explicit instantiation stores their addresses.
template <class List>
struct Kernels;
template <class... Op>
struct Kernels<fused::OpList<Op...>> {
  static const decltype(std::tuple_cat(functions_of<Op>()...)) functions;
};
template <class... Op>
const decltype(std::tuple_cat(functions_of<Op>()...)) Kernels<fused::OpList<Op...>>::functions =
    std::tuple_cat(functions_of<Op>()...);

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
