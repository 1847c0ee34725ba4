/// \file
/// Random symmetric renumbering of a matrix.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>

namespace tessera::io {

/// B with b(π(i), π(j)) = a(i, j) for a seeded permutation π; columns ascending. \param a square, weighted, on the host
/// O(nnz log(longest row)) work.
template <class T>
[[nodiscard]] Csr<T> renumbered(const Csr<T>& a, std::uint64_t seed);

extern template Csr<float> renumbered(const Csr<float>&, std::uint64_t);
extern template Csr<double> renumbered(const Csr<double>&, std::uint64_t);

}  // namespace tessera::io
