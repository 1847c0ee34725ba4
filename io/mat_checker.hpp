/// \file
/// Checks of the elements of a MATLAB file, before matio reads them.
#pragma once

#include "core/memory_budget.hpp"
#include "io/matrix_readers.hpp"
#include "io/memory_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::io {

/// Variables of a file, and the memory that those copied will take.
struct MatVariables {
  std::vector<std::string> names;  ///< of all variables
  std::uint64_t bytes = 0;         ///< at most in memory, once matio has read what was copied
};

/// Copies the variable that the file's name tells, or else all that may be wanted, of versions 5 to 7.2: inflated, each
/// element within the one that holds it and with as many values as its dimensions say.
/// \param wants_sparse of the variables without a name sparse ones are wanted, or else dense ones; structures always
/// \throws ParseError for what is not; OutOfMemory
[[nodiscard]] MatVariables copy_checked_mat(const FileBytes& file, bool wants_sparse, MemoryBudget& budget,
                                            MemoryFile& target);

}  // namespace tessera::io
