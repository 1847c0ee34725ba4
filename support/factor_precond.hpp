/// \file
/// Incomplete factors and the factors of a direct solver as preconditioners: their names, their limits on memory, and
/// messages that say what to do.
#pragma once

#include "support/precond.hpp"

#include "tessera/direct.hpp"
#include "tessera/incomplete_factors.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tessera::support {

/// Memory of set-up beside the factors, at most: a scaled and permuted copy of A, permutations, levels, work rows.
[[nodiscard]] std::uint64_t factor_workspace_bytes(const MatrixStatistics& matrix);

/// Largest fill for which factors fit into `available_bytes`, their work space left out. \param element bytes of a
/// value
[[nodiscard]] double affordable_fill(std::uint64_t available_bytes, const MatrixStatistics& matrix,
                                     std::size_t element);

/// With a limit on memory the limit on fill is lowered to what fits.
/// \throws InvalidMatrix naming the subject, with a hint; BudgetExceeded likewise; OutOfMemory where the work space
///         exceeds the limit; what else the constructor throws
template <class T>
[[nodiscard]] std::unique_ptr<IncompleteFactors<T>> make_factors(const PrecondRequest& wanted,
                                                                 const PrecondSubject<T>& subject);

/// \param subject on the host \throws as make_factors()
template <class T>
[[nodiscard]] std::unique_ptr<DirectFactors<T>> make_direct(const PrecondRequest& wanted,
                                                            const PrecondSubject<T>& subject);

}  // namespace tessera::support
