/// \file
/// Memory of a product's plan, bounded before it is built.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>

namespace tessera::support {

/// Bytes that the plan of a kernel on the host takes at most beside the matrix: the copies and descriptors of csr5
/// and tiles, the descriptors of merbit.
[[nodiscard]] std::uint64_t most_plan_bytes(SpmvAlgorithm algorithm, std::int64_t rows, offset_t nnz,
                                            std::size_t value_bytes);

/// Refuses a plan for which the user's limit leaves no space. Nothing without a limit and on a
/// GPU. \param held_bytes matrix and vectors \throws OutOfMemory
template <class T>
void require_memory_of_plan(std::uint64_t limit_bytes, std::uint64_t held_bytes, const CsrView<T>& matrix,
                            const SpmvOptions& options);

extern template void require_memory_of_plan(std::uint64_t, std::uint64_t, const CsrView<float>&, const SpmvOptions&);
extern template void require_memory_of_plan(std::uint64_t, std::uint64_t, const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::support
