/// \file
/// Block-diagonal matrices: many small matrices as one, so that one launch serves them all.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <span>

namespace tessera {

/// diag(A_0, A_1, ...): row i of part p is row i + rows of the parts before it, and its columns move on by their
/// columns. Parts may be rectangular or empty in either direction; no parts make the 0 x 0 matrix. Patterns stay a
/// pattern; beside parts with values, the entries of a pattern get the value 1. Values are copied bit by bit.
///
/// On a GPU by one kernel and one copy of 40 bytes per part, whatever the number of parts: it reads and writes 8 bytes
/// per row and 4 + sizeof(T) per entry, each, and returns before the work is done. O(rows + nnz) and a search of
/// log(parts) steps per entry; on the host with all threads, and a search per part.
/// \param parts on `device`, where the result will lie
/// \throws DimensionError, with the sums, where rows or columns exceed 2^31 - 1; OutOfMemory, CudaError
template <class T>
[[nodiscard]] Csr<T> block_diagonal(std::span<const CsrView<T>> parts, const Device& device = Device{});

/// The same of matrices that know where they lie, and the result lies there; without parts, on the host.
/// \throws InvalidArgument, with the numbers of the parts from 0, where they lie on several devices; otherwise as above
template <class T>
[[nodiscard]] Csr<T> block_diagonal(std::span<const Csr<T>> parts);

extern template Csr<float> block_diagonal(std::span<const CsrView<float>>, const Device&);
extern template Csr<double> block_diagonal(std::span<const CsrView<double>>, const Device&);
extern template Csr<float> block_diagonal(std::span<const Csr<float>>);
extern template Csr<double> block_diagonal(std::span<const Csr<double>>);

}  // namespace tessera
