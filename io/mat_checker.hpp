/// \file
/// Checks of the elements of a MATLAB file, before matio reads them.
#pragma once

#include "core/memory_budget.hpp"
#include "io/matrix_readers.hpp"
#include "io/memory_file.hpp"

namespace tessera::io {

/// Copies the variables of a file of versions 5 to 7.2, inflated, each element within the one that holds it and with as
/// many values as its dimensions say. \throws ParseError for what is not; OutOfMemory
void copy_checked_mat(const FileBytes& file, MemoryBudget& budget, const MemoryFile& target);

}  // namespace tessera::io
