/// \file
/// Comparison of the structures of two matrices.
#include "spmv/same_structure.hpp"

#include "core/parallel.hpp"
#include "core/sums.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::detail {

namespace {

/// Smallest index at which a and b, of equal length, differ; -1 when they are the same.
template <class I>
std::int64_t first_difference(const Device& device, std::span<const I> a, std::span<const I> b) {
  if (!device.is_host()) return cuda::first_difference(device, a, b);
  return host::parallel_sum<FirstIndex>(
             device, static_cast<std::int64_t>(a.size()),
             [&](host::Range range) {
               const auto end = a.begin() + range.end;
               const auto differ = std::mismatch(a.begin() + range.begin, end, b.begin() + range.begin);
               return differ.first == end ? FirstIndex{} : FirstIndex{differ.first - a.begin()};
             })
      .index;
}

/// Element i of an array on a device.
template <class I>
I element(const Device& device, std::span<const I> array, std::int64_t i) {
  I value{};
  detail::copy_bytes(Device{}, &value, device, array.data() + i, sizeof(value));
  return value;
}

/// The row that holds a nonzero. \param offsets on `device`
index_t row_of_entry(const Device& device, std::span<const offset_t> offsets, offset_t entry) {
  Array<offset_t> here(static_cast<std::int64_t>(offsets.size()), Init::none);
  detail::copy_bytes(Device{}, here.data(), device, offsets.data(), here.bytes());
  return static_cast<index_t>(std::upper_bound(here.begin(), here.end(), entry) - here.begin() - 1);
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
