/// \file
/// Any operator as a FusedOperator: what a solver does with one that offers its product alone.
#pragma once

#include "tessera/fused_operator.hpp"

#include <memory>

namespace tessera::detail {

/// The operator itself where it is a FusedOperator, not owned; else an adapter around it, whose inner products and
/// residuals take a pass of their own after the product, and whose products can be enqueued if the operator
/// can_enqueue() and lies on a GPU. \param a outlives the result
template <class T>
[[nodiscard]] std::shared_ptr<const FusedOperator<T>> fused_operator(const LinearOperator<T>& a);

extern template std::shared_ptr<const FusedOperator<float>> fused_operator(const LinearOperator<float>&);
extern template std::shared_ptr<const FusedOperator<double>> fused_operator(const LinearOperator<double>&);

}  // namespace tessera::detail
