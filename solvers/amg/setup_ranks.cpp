/// Rows of prolongators and restrictions for a rank: bounds by members of aggregates and the bandwidth of A.
#include "solvers/amg/setup_ranks.hpp"

#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <utility>

namespace tessera::detail {

/// The rank's rows of R have entries in rows of P within a reach of the members of its aggregates; A in these rows has
/// columns within another one.
RowRange rows_of_prolongator(const Device& device, const Aggregates& aggregates, index_t rows, index_t reach,
                             RowRange fine, RowRange coarse, index_t vectors) {
  const std::int64_t nodes = aggregates.of_row.size();
  const IndexRange members = fused::transform_reduce(device, nodes,
                                                     MembersOf{.aggregates = aggregates.of_row.data(),
                                                               .first = coarse.first / vectors,
                                                               .last = (coarse.last + vectors - 1) / vectors});
  if (members.most < 0) return fine;
  const std::int64_t block = rows / nodes;
  const std::int64_t first = members.least * block - 2 * std::int64_t{reach};
  const std::int64_t last = (members.most + 1) * block + 2 * std::int64_t{reach};
  return {static_cast<index_t>(std::clamp<std::int64_t>(first, 0, fine.first)),
          static_cast<index_t>(std::clamp<std::int64_t>(last, fine.last, rows))};
}

template <class T>
Csr<T> place_rows(const Device& device, const CsrView<T>& part, RowRange range, index_t rows) {
  Array<offset_t> offsets(std::int64_t{rows} + 1, Init::none, device);
  fused::transform_reduce(device, std::int64_t{rows} + 1,
                          PlaceOffsets{.from = part.row_offsets.data(), .to = offsets.data(), .rows = range});
  Array<index_t> columns(part.nnz(), Init::none, device);
  copy_bytes(device, columns.data(), device, part.columns.data(), columns.bytes());
  Array<T> values(part.nnz(), Init::none, device);
  copy_bytes(device, values.data(), device, part.values.data(), values.bytes());
  return Csr<T>(rows, part.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> place_rows(const Device&, const CsrView<float>&, RowRange, index_t);
template Csr<double> place_rows(const Device&, const CsrView<double>&, RowRange, index_t);

}  // namespace tessera::detail
