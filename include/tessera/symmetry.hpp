/// \file
/// Symmetry of a matrix and the signs of its diagonal, on the host or on a GPU: what conjugate gradients ask for.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera {

/// Whether A = Aᵀ: square, with an entry (j, i) of an equal value for every entry (i, j). NaN equals nothing.
/// O(nnz log(longest row)), without a transpose.
/// \param matrix on `device` \throws CudaError
template <class T>
[[nodiscard]] bool is_symmetric(const CsrView<T>& matrix, const Device& device = Device{});

/// The first row i, from 0, whose entry (i, i) is missing or not above 0; -1: there is none. O(rows log(longest row)).
/// \param matrix square, on `device`; the entries of a pattern are 1
/// \throws DimensionError for another shape; CudaError
template <class T>
[[nodiscard]] std::int64_t first_row_without_positive_diagonal(const CsrView<T>& matrix,
                                                               const Device& device = Device{});

extern template bool is_symmetric(const CsrView<float>&, const Device&);
extern template bool is_symmetric(const CsrView<double>&, const Device&);
extern template std::int64_t first_row_without_positive_diagonal(const CsrView<float>&, const Device&);
extern template std::int64_t first_row_without_positive_diagonal(const CsrView<double>&, const Device&);

}  // namespace tessera
