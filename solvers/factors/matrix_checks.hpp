/// \file
/// Checks of a matrix before it is factorized. All take a matrix on the host. \param who begins the message
#pragma once

#include "tessera/csr.hpp"

#include <string_view>

namespace tessera::detail {

/// \throws InvalidMatrix naming the first row with NaN or infinity. O(nnz)
template <class T>
void require_finite_values(const CsrView<T>& matrix, const Device& device,
                           std::string_view who = "incomplete factors need");

/// a_ij == a_ji for all entries. \throws InvalidMatrix naming an entry that has no equal. O(nnz)
template <class T>
void require_symmetric(const CsrView<T>& matrix, std::string_view who = "incomplete Cholesky needs");

/// a_ii > 0. \throws InvalidMatrix naming the first row whose diagonal entry is missing or not positive. O(n log row)
template <class T>
void require_positive_diagonal(const CsrView<T>& matrix, std::string_view who = "incomplete Cholesky needs");

}  // namespace tessera::detail
