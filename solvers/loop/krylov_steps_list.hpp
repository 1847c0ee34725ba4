/// \file
/// The steps of loops that run on a GPU. Included once, after the definition of cuda::LoopPass, as
/// solvers/passes/cuda_steps.hpp is after that of cuda::Pass.
#include "solvers/loop/bicgstab_steps.hpp"
#include "solvers/loop/cg_steps.hpp"

namespace tessera::cuda {

template struct LoopPass<bicgstab_steps::HatNorm>;

template struct LoopPass<cg_steps::Residual<float, passes::IdentityEntry<float>>>;
template struct LoopPass<cg_steps::Residual<float, passes::DiagonalEntry<float>>>;
template struct LoopPass<cg_steps::Direction<float, passes::IdentityEntry<float>>>;
template struct LoopPass<cg_steps::Direction<float, passes::DiagonalEntry<float>>>;
template struct LoopPass<bicgstab_steps::Direction<float, passes::IdentityEntry<float>>>;
template struct LoopPass<bicgstab_steps::Direction<float, passes::DiagonalEntry<float>>>;
template struct LoopPass<bicgstab_steps::HalfStep<float, passes::IdentityEntry<float>>>;
template struct LoopPass<bicgstab_steps::HalfStep<float, passes::DiagonalEntry<float>>>;
template struct LoopPass<bicgstab_steps::FullStep<float>>;

template struct LoopPass<cg_steps::Residual<double, passes::IdentityEntry<double>>>;
template struct LoopPass<cg_steps::Residual<double, passes::DiagonalEntry<double>>>;
template struct LoopPass<cg_steps::Direction<double, passes::IdentityEntry<double>>>;
template struct LoopPass<cg_steps::Direction<double, passes::DiagonalEntry<double>>>;
template struct LoopPass<bicgstab_steps::Direction<double, passes::IdentityEntry<double>>>;
template struct LoopPass<bicgstab_steps::Direction<double, passes::DiagonalEntry<double>>>;
template struct LoopPass<bicgstab_steps::HalfStep<double, passes::IdentityEntry<double>>>;
template struct LoopPass<bicgstab_steps::HalfStep<double, passes::DiagonalEntry<double>>>;
template struct LoopPass<bicgstab_steps::FullStep<double>>;

}  // namespace tessera::cuda
