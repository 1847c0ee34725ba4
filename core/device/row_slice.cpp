/// Consecutive rows of a matrix on the host or a GPU.
#include "core/row_slice.hpp"

#include "core/parallel.hpp"
#include "core/structure_passes.hpp"

#include <cstddef>

namespace tessera::detail {

template <class T>
RowSlice<T> slice_rows(const CsrView<T>& a, const Device& device, index_t begin, index_t rows) {
  const auto count = static_cast<std::size_t>(rows);
  const std::span<const offset_t> from = a.row_offsets.subspan(static_cast<std::size_t>(begin), count + 1);
  RowSlice<T> slice{Array<offset_t>(std::int64_t{rows} + 1, Init::none, device), element(device, from, 0), a};
  const std::span<offset_t> to = slice.offsets.span();
  if (device.is_host()) {
    host::parallel_for(device, std::int64_t{rows} + 1, [&](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i)] - slice.first;
      }
    });
  } else {
    cuda::rebase_offsets(device, from, to);
  }
  const auto nnz = static_cast<std::size_t>(element(device, from, rows) - slice.first);
  const auto part = [&](auto entries) { return entries.subspan(static_cast<std::size_t>(slice.first), nnz); };
  slice.view.rows = rows;
  slice.view.row_offsets = to;
  slice.view.columns = part(a.columns);
  if (!a.is_pattern()) slice.view.values = part(a.values);
  return slice;
}

template RowSlice<float> slice_rows(const CsrView<float>&, const Device&, index_t, index_t);
template RowSlice<double> slice_rows(const CsrView<double>&, const Device&, index_t, index_t);

}  // namespace tessera::detail
