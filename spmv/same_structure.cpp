/// \file
/// Comparison of the structures of two matrices.
#include "spmv/same_structure.hpp"

#include "core/structure_passes.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera::detail {

template <class T>
void require_same_structure(const Device& device, const CsrView<T>& planned, const CsrView<T>& given) {
  if (planned.rows != given.rows || planned.cols != given.cols || planned.nnz() != given.nnz()) {
    throw InvalidMatrix(fmt::format("the plan is for a {} x {} matrix with {} nonzeros, got {} x {} with {}",
                                    planned.rows, planned.cols, planned.nnz(), given.rows, given.cols, given.nnz()));
  }
  if (planned.storage != given.storage) {
    throw InvalidMatrix(fmt::format("the plan is for a {} matrix, got a {} one",
                                    planned.is_pattern() ? "pattern" : "weighted",
                                    given.is_pattern() ? "pattern" : "weighted"));
  }
  const std::int64_t row = first_difference(device, planned.row_offsets, given.row_offsets);
  if (row >= 0) {
    throw InvalidMatrix(fmt::format("row offset {} is {} in the plan and {} in the matrix given", row,
                                    element(device, planned.row_offsets, row),
                                    element(device, given.row_offsets, row)));
  }
  const offset_t entry = first_difference(device, planned.columns, given.columns);
  if (entry >= 0) {
    throw InvalidMatrix(fmt::format("row {}, nonzero {}: column {} in the plan, {} in the matrix given",
                                    row_of_entry(device, planned.row_offsets, entry), entry,
                                    element(device, planned.columns, entry), element(device, given.columns, entry)));
  }
}

template void require_same_structure(const Device&, const CsrView<float>&, const CsrView<float>&);
template void require_same_structure(const Device&, const CsrView<double>&, const CsrView<double>&);

}  // namespace tessera::detail
