/// \file
/// The steps that run on a GPU. Included once, after the definition of cuda::Pass: the CUDA backend instantiates it for
/// these, and the file that stands in for it where it is not built does too.
#include "solvers/passes/diagonal_steps.hpp"
#include "solvers/passes/krylov_steps.hpp"
#include "solvers/passes/rank_steps.hpp"
#include "solvers/passes/scaled_rank_steps.hpp"
#include "solvers/passes/vector_steps.hpp"

namespace tessera::cuda {

template struct Pass<detail::NoBody>;

template struct Pass<passes::LargestMagnitude<float>>;
template struct Pass<passes::Dot<float>>;
template struct Pass<passes::AddMultiple<float>>;
template struct Pass<passes::Swap<float>>;
template struct Pass<passes::ScaleByPower<float>>;
template struct Pass<passes::ScaledSquares<float>>;
template struct Pass<passes::PreconditionedDot<float, passes::IdentityEntry<float>>>;
template struct Pass<passes::PreconditionedDot<float, passes::DiagonalEntry<float>>>;
template struct Pass<passes::ConjugateResidual<float, passes::IdentityEntry<float>>>;
template struct Pass<passes::ConjugateDirections<float, passes::IdentityEntry<float>>>;
template struct Pass<passes::ConjugateResidual<float, passes::DiagonalEntry<float>>>;
template struct Pass<passes::ConjugateDirections<float, passes::DiagonalEntry<float>>>;
template struct Pass<passes::ConjugateDirection<float, passes::IdentityEntry<float>>>;
template struct Pass<passes::ConjugateDirection<float, passes::DiagonalEntry<float>>>;
template struct Pass<passes::ShadowVector<float>>;
template struct Pass<passes::StabilisedDirection<float, passes::IdentityEntry<float>>>;
template struct Pass<passes::StabilisedDirection<float, passes::DiagonalEntry<float>>>;
template struct Pass<passes::HalfResidual<float, passes::IdentityEntry<float>>>;
template struct Pass<passes::HalfResidual<float, passes::DiagonalEntry<float>>>;
template struct Pass<passes::StabilisedStep<float>>;
template struct Pass<passes::PagerankStart<float>>;
template struct Pass<passes::PagerankUpdate<float>>;
template struct Pass<passes::PagerankScale<float>>;
template struct Pass<passes::PagerankStartScaled<float>>;
template struct Pass<passes::PagerankUnscale<float>>;
template struct Pass<passes::FirstUnfitDiagonal<float>>;
template struct Pass<passes::InverseDiagonal<float>>;
template struct Pass<passes::DiagonalProduct<float>>;

template struct Pass<passes::LargestMagnitude<double>>;
template struct Pass<passes::Dot<double>>;
template struct Pass<passes::AddMultiple<double>>;
template struct Pass<passes::Swap<double>>;
template struct Pass<passes::ScaleByPower<double>>;
template struct Pass<passes::ScaledSquares<double>>;
template struct Pass<passes::PreconditionedDot<double, passes::IdentityEntry<double>>>;
template struct Pass<passes::PreconditionedDot<double, passes::DiagonalEntry<double>>>;
template struct Pass<passes::ConjugateResidual<double, passes::IdentityEntry<double>>>;
template struct Pass<passes::ConjugateDirections<double, passes::IdentityEntry<double>>>;
template struct Pass<passes::ConjugateResidual<double, passes::DiagonalEntry<double>>>;
template struct Pass<passes::ConjugateDirections<double, passes::DiagonalEntry<double>>>;
template struct Pass<passes::ConjugateDirection<double, passes::IdentityEntry<double>>>;
template struct Pass<passes::ConjugateDirection<double, passes::DiagonalEntry<double>>>;
template struct Pass<passes::ShadowVector<double>>;
template struct Pass<passes::StabilisedDirection<double, passes::IdentityEntry<double>>>;
template struct Pass<passes::StabilisedDirection<double, passes::DiagonalEntry<double>>>;
template struct Pass<passes::HalfResidual<double, passes::IdentityEntry<double>>>;
template struct Pass<passes::HalfResidual<double, passes::DiagonalEntry<double>>>;
template struct Pass<passes::StabilisedStep<double>>;
template struct Pass<passes::PagerankStart<double>>;
template struct Pass<passes::PagerankUpdate<double>>;
template struct Pass<passes::PagerankScale<double>>;
template struct Pass<passes::PagerankStartScaled<double>>;
template struct Pass<passes::PagerankUnscale<double>>;
template struct Pass<passes::FirstUnfitDiagonal<double>>;
template struct Pass<passes::InverseDiagonal<double>>;
template struct Pass<passes::DiagonalProduct<double>>;

}  // namespace tessera::cuda
