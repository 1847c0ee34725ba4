/// \file
/// Two-kernel CG: conjugate gradients in two products per iteration (spmv/common/cg_product.hpp), for a matrix whose
/// kernel offers them and an M that is fused. The scalars are those of solvers/cg.hpp, in its order; sums over vectors
/// are added in the order of the kernel, so that results differ from the loop of cg.cpp by rounding.
#pragma once

#include "solvers/cg.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/krylov_problem.hpp"
#include "spmv/common/cg_product.hpp"

#include <memory>
#include <span>

namespace tessera::detail {

struct TwoKernelCgState : CgState {
  CgScalars scalars;

  /// What the products read. After every change of the scalars.
  TESSERA_HOST_DEVICE void publish() noexcept {
    scalars.alpha = alpha;
    scalars.beta = beta;
    scalars.x_is_behind = x_is_behind ? 1 : 0;
    scalars.keep = keep ? 1 : 0;
  }
};

[[nodiscard]] inline const TwoKernelCgState& state_in(const cuda::LoopFrame& frame) noexcept {
  return *static_cast<const TwoKernelCgState*>(frame.state);
}
/// What products look at; on the device, as the state.
[[nodiscard]] inline const std::int32_t* halt_of(const TwoKernelCgState& state) noexcept {
  return reinterpret_cast<const std::int32_t*>(&state.halt);
}

/// After the direction: its norm, the curvature, α.
struct CgScalarsAfterDirection {
  using State = TwoKernelCgState;
  using Sums = CgSums;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  TESSERA_HOST_DEVICE void scalars_after(State& s, const CgSums& sums) const {
    using M = fused::FusedIdentity<double>;
    s.dots = {sums.first, sums.second};
    s.scalars.current = 1 - s.scalars.current;
    CgUpdateSolutionAndDirection<double, M>{}.scalars_after(s, sums.third);
    if (!s.halted()) CgUpdateResidual<double, M>{}.scalars_before(s);
    s.publish();
  }
};

/// After the residual: the end of an iteration, β.
struct CgScalarsAfterResidual {
  using State = TwoKernelCgState;
  using Sums = CgSums;

  bool counts;  ///< as an application of M

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  TESSERA_HOST_DEVICE void scalars_after(State& s, const CgSums& sums) const {
    using M = fused::FusedIdentity<double>;
    CgUpdateResidual<double, M> residual{};
    residual.counts = counts;
    residual.scalars_after(s, {sums.first, sums.second});
    CgUpdateSolutionAndDirection<double, M> direction{};
    direction.is_fused = true;
    if (!s.halted()) direction.scalars_before(s);
    s.publish();
  }
};

/// Both products of an iteration, each with the scalars that follow. They neither wait nor allocate, and do nothing
/// while the state of the loop, a TwoKernelCgState, is halted. Not concurrent with themselves.
template <class T>
class TwoKernelCgSteps {
 public:
  TwoKernelCgSteps() = default;
  TwoKernelCgSteps(const TwoKernelCgSteps&) = delete;
  TwoKernelCgSteps& operator=(const TwoKernelCgSteps&) = delete;
  virtual ~TwoKernelCgSteps() = default;

  /// p' = M r + β p,  x = x + α p,  α = ρ / <p', A p'>  (CgScalarsAfterDirection). \throws CudaError
  virtual void record_direction(const CgVectors<T>& vectors, const cuda::LoopFrame& frame) = 0;
  /// r = r - α A p',  ρ' = <r, M r>,  β = ρ' / ρ. \throws CudaError
  virtual void record_residual(const CgVectors<T>& vectors, const cuda::LoopFrame& frame,
                               const CgScalarsAfterResidual& scalars) = 0;
};

/// An operator other than a plan that has them.
template <class T>
class HasTwoKernelCg {
 public:
  HasTwoKernelCg() = default;
  HasTwoKernelCg(const HasTwoKernelCg&) = delete;
  HasTwoKernelCg& operator=(const HasTwoKernelCg&) = delete;
  virtual ~HasTwoKernelCg() = default;

  /// \returns null where the matrix does not suit; the operator outlives the result
  [[nodiscard]] virtual std::unique_ptr<TwoKernelCgSteps<T>> make_two_kernel_cg_steps() const = 0;
};

/// Where the matrix of the problem and its preconditioner suit; else null.
template <class T>
[[nodiscard]] std::unique_ptr<TwoKernelCgSteps<T>> two_kernel_cg_steps_of(const KrylovProblem<T>& problem);

/// CG by these products, on a GPU.
template <class T>
[[nodiscard]] std::unique_ptr<KrylovMethod<T>> make_two_kernel_cg(const KrylovProblem<T>& problem,
                                                                  std::unique_ptr<TwoKernelCgSteps<T>> steps);

}  // namespace tessera::detail

namespace tessera::cuda {

/// Records op.scalars_after(state, the sum of the parts) into a loop. Does nothing while the state is halted.
template <class Op>
void record_cg_scalars(const Device& device, const LoopFrame& frame, std::span<const detail::CgSums> parts,
                       const Op& op);

}  // namespace tessera::cuda
