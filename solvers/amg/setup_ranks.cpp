/// Rows of prolongators and restrictions for a rank: bounds by members of aggregates and the bandwidth of A.
#include "solvers/amg/setup_ranks.hpp"

#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <utility>

namespace tessera::detail {

/// The rank's rows of R have entries in rows of P within a bandwidth of the members of its aggregates; A in these rows
/// has columns within another one.
RowRange rows_of_prolongator(const Device& device, const Aggregates& aggregates, index_t rows, index_t bandwidth,
                             RowRange fine, RowRange coarse, index_t vectors) {
  const std::int64_t nodes = aggregates.of_row.size();
  const IndexRange members = fused::transform_reduce(device, nodes,
                                                     MembersOf{.aggregates = aggregates.of_row.data(),
                                                               .first = coarse.first / vectors,
                                                               .last = (coarse.last + vectors - 1) / vectors});
  if (members.most < 0) return fine;
  const std::int64_t block = rows / nodes;
  const std::int64_t first = members.least * block - 2 * std::int64_t{bandwidth};
  const std::int64_t last = (members.most + 1) * block + 2 * std::int64_t{bandwidth};
  return {static_cast<index_t>(std::clamp<std::int64_t>(first, 0, fine.first)),
          static_cast<index_t>(std::clamp<std::int64_t>(last, fine.last, rows))};
}

template <class T>
Csr<T> place_rows(const Device& device, const std::shared_ptr<const Csr<T>>& part, index_t first, RowRange range,
                  index_t rows) {
  const CsrView<T> a = part->view();
  const RowRange taken{first, first + range.size()};
  Array<offset_t> offsets(std::int64_t{rows} + 1, Init::none, device);
  fused::transform_reduce(device, std::int64_t{rows} + 1,
                          PlaceOffsets{.from = a.row_offsets.data() + first, .to = offsets.data(), .rows = range});
  const auto begin = static_cast<std::size_t>(entries_of(device, a.row_offsets, {0, taken.first}));
  const auto nnz = static_cast<std::size_t>(entries_of(device, a.row_offsets, taken));
  const auto in_place = [&]<class E>(std::span<const E> elements) {
    return Array<E>::adopt({const_cast<E*>(elements.data()) + begin, nnz}, part, device);
  };
  return Csr<T>(rows, a.cols, std::move(offsets), in_place(a.columns), in_place(a.values), Check::trusted);
}

template Csr<float> place_rows(const Device&, const std::shared_ptr<const Csr<float>>&, index_t, RowRange, index_t);
template Csr<double> place_rows(const Device&, const std::shared_ptr<const Csr<double>>&, index_t, RowRange, index_t);

}  // namespace tessera::detail
