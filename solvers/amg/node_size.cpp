/// Unknowns per node, from the positions of a matrix.
#include "solvers/amg/node_size.hpp"

#include "solvers/fused/transform_reduce.hpp"

namespace tessera::detail {

namespace {

constexpr int largest_node = 6;
/// Clamped unknowns have other rows than their node.
constexpr double least_equal = 0.75;
/// Rows of a dense matrix are all equal and say nothing.
constexpr double most_twins = 0.5;

[[nodiscard]] std::int64_t nodes_before(index_t row, int size) { return (std::int64_t{row} + size - 1) / size; }

}  // namespace

/// A node belongs to the rank of its first row. Where its rows are equal, the others lie within a bandwidth.
template <class T>
int node_size(const Device& device, const CsrView<T>& a, const LevelRows& rows) {
  for (int size = largest_node; size > 1; --size) {
    if (rows.rows % size != 0) continue;
    const std::int64_t first = nodes_before(rows.own.first, size);
    const NodeCounts counts = rows.sum(fused::transform_reduce(
        device, nodes_before(rows.own.last, size) - first,
        CountNodes{.offsets = a.row_offsets.data(), .columns = a.columns.data(), .size = size, .first = first}));
    const auto equal = static_cast<double>(counts.equal);
    const bool fits = equal >= least_equal * static_cast<double>(counts.nodes);
    if (counts.equal > 0 && fits && static_cast<double>(counts.twins) <= most_twins * equal) return size;
  }
  return 1;
}

template int node_size(const Device&, const CsrView<float>&, const LevelRows&);
template int node_size(const Device&, const CsrView<double>&, const LevelRows&);

}  // namespace tessera::detail
