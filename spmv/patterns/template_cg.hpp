/// \file
/// Two-kernel CG by row templates: what PatternsCudaKernel hands out.
#pragma once

#include "spmv/common/cg_product.hpp"
#include "spmv/patterns/pattern_product.hpp"

#include <memory>

namespace tessera::cuda {

/// Whether these templates suit: all rows on lists, most of them on one, few terms, and enough rows.
template <class T>
[[nodiscard]] bool suits_cg_product(const PatternOperand<T>& operand, bool of_rank) noexcept;

/// \param operand of templates that suit; what it points to outlives the result \throws OutOfMemory
template <class T>
[[nodiscard]] std::unique_ptr<detail::CgProduct<T>> make_template_cg_product(const Device& device,
                                                                             const PatternOperand<T>& operand);

}  // namespace tessera::cuda
