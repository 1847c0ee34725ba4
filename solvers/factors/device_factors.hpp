/// \file
/// ILU(0) and IC(0) that are computed on a GPU, where nothing has to be ordered or scaled.
#pragma once

#include "solvers/factors/prepared_factors.hpp"
#include "tessera/incomplete_factors.hpp"

namespace tessera::detail {

/// ILU(0) and IC(0) of a scaled matrix are the scaled factors, so that `automatic` scaling is none on a GPU.
[[nodiscard]] bool factorizes_on_device(const IncompleteFactorOptions& options, const Device& device);

/// \param info receives sizes, shift, zero pivots, the estimate and times
/// \throws InvalidMatrix for a matrix that is not symmetric to rounding or needs too large a shift, with `cholesky`;
/// for a matrix with NaN or infinity, where they reached the factors; BudgetExceeded
template <class T>
[[nodiscard]] std::unique_ptr<FactorSolve<T>> factor_and_analyse_on_device(const CsrView<T>& matrix,
                                                                           const IncompleteFactorOptions& options,
                                                                           const Device& device,
                                                                           IncompleteFactorInfo& info);

}  // namespace tessera::detail
