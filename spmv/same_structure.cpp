/// \file
/// Comparison of the structures of two matrices.
#include "spmv/same_structure.hpp"

#include "core/parallel.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace tessera::detail {

namespace {

/// Smallest index at which a and b, of equal length, differ; their length when they are the same.
template <class I>
std::int64_t first_difference(const Device& device, std::span<const I> a, std::span<const I> b) {
  const auto size = static_cast<std::int64_t>(a.size());
  std::atomic<std::int64_t> first{size};
  host::parallel_for(device, size, [&](host::Range range) {
    const auto differ = std::mismatch(a.begin() + range.begin, a.begin() + range.end, b.begin() + range.begin);
    const std::int64_t here = differ.first - a.begin();
    if (here == range.end) return;
    std::int64_t seen = first.load();
    while (here < seen && !first.compare_exchange_weak(seen, here)) {
    }
  });
  return first.load();
}

}  // namespace

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
  if (row <= planned.rows) {
    const auto i = static_cast<std::size_t>(row);
    throw InvalidMatrix(fmt::format("row offset {} is {} in the plan and {} in the matrix given", row,
                                    planned.row_offsets[i], given.row_offsets[i]));
  }
  const offset_t entry = first_difference(device, planned.columns, given.columns);
  if (entry < planned.nnz()) {
    const auto k = static_cast<std::size_t>(entry);
    const auto owner = std::upper_bound(planned.row_offsets.begin(), planned.row_offsets.end(), entry);
    throw InvalidMatrix(fmt::format("row {}, nonzero {}: column {} in the plan, {} in the matrix given",
                                    owner - planned.row_offsets.begin() - 1, entry, planned.columns[k],
                                    given.columns[k]));
  }
}

template void require_same_structure(const Device&, const CsrView<float>&, const CsrView<float>&);
template void require_same_structure(const Device&, const CsrView<double>&, const CsrView<double>&);

}  // namespace tessera::detail
