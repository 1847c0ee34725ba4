/// Hierarchies on several devices: set-up on one, then the partition of every level.
#include "solvers/distributed/amg_hierarchy.hpp"

#include "solvers/amg/cycle_steps.hpp"
#include "solvers/amg/setup.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// Twice the middle row of every aggregate: the sum of its first and last row. -1 where it has none.
std::vector<std::int64_t> middles(std::span<const index_t> aggregate_of_node, index_t block, index_t aggregates) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(aggregates), -1);
  const auto nodes = static_cast<std::int64_t>(aggregate_of_node.size());
  std::vector<std::int64_t> first(result.size(), -1);
  for (std::int64_t node = 0; node < nodes; ++node) {
    const index_t aggregate = aggregate_of_node[static_cast<std::size_t>(node)];
    if (aggregate < 0) continue;
    const auto at = static_cast<std::size_t>(aggregate);
    if (first[at] < 0) first[at] = node * block;
    result[at] = first[at] + node * block;
  }
  return result;
}

/// As cuda::aggregates_before_parts().
std::vector<std::int64_t> aggregates_before_parts(const Partition& fine, std::span<const index_t> aggregate_of_node,
                                                  index_t block, index_t aggregates) {
  const std::vector<std::int64_t> middle = middles(aggregate_of_node, block, aggregates);
  std::vector<std::int64_t> result;
  for (int part = 1; part < fine.parts(); ++part) {
    const std::int64_t begin = 2 * std::int64_t{fine.first_row(part)};
    result.push_back(std::count_if(middle.begin(), middle.end(), [&](std::int64_t each) { return each < begin; }));
  }
  return result;
}

/// Whether a level is shared out: large enough, not solved by its inverse, and every rank has a row of the next.
template <class T>
bool is_shared(const AmgHierarchy<T>& whole, std::size_t level, index_t least_rows, int parts) {
  if (is_dense_level(whole, level) || whole.levels[level].a->rows() < std::max<index_t>(least_rows, parts))
    return false;
  return level + 1 == whole.levels.size() || whole.levels[level + 1].a->rows() >= parts;
}

}  // namespace

Partition partition_of_coarse(const Partition& fine, const Array<index_t>& aggregate_of_node, index_t block,
                              index_t aggregates, index_t coarse_rows) {
  const std::vector<std::int64_t> before =
      aggregate_of_node.device().is_host() ? aggregates_before_parts(fine, aggregate_of_node.span(), block, aggregates)
                                           : cuda::aggregates_before_parts(fine, aggregate_of_node, block, aggregates);
  const index_t vectors = coarse_rows / std::max<index_t>(aggregates, 1);
  std::vector<index_t> first_rows{0};
  for (int part = 1; part < fine.parts(); ++part) {
    const index_t most = coarse_rows - (fine.parts() - part);
    const auto rows = static_cast<index_t>(before[static_cast<std::size_t>(part) - 1]) * vectors;
    first_rows.push_back(std::clamp(rows, first_rows.back() + 1, most));
  }
  first_rows.push_back(coarse_rows);
  return Partition(std::move(first_rows));
}

namespace {

/// \param next partition of the level after one that is shared out; called level by level, from the finest on
template <class T, class Next>
SharedHierarchy<T> shared_out(AmgSetup<T>& setup, const Partition& finest, index_t least_rows, const Next& next) {
  SharedHierarchy<T> result{setup.take_hierarchy(), {finest}, 0, setup.info(), setup.is_symmetric()};
  std::size_t& shared = result.shared_levels;
  while (shared < result.whole.levels.size() && is_shared(result.whole, shared, least_rows, finest.parts())) {
    if (++shared == result.whole.levels.size()) break;
    result.partitions.push_back(next(result, shared));
  }
  return result;
}

}  // namespace

template <class T>
SharedHierarchy<T> set_up_shared(const CsrView<T>& matrix, const AmgOptions& options, const Device& device,
                                 const Partition& finest, index_t least_rows) {
  AmgSetup<T> setup(matrix, options, device);
  return shared_out(setup, finest, least_rows, [&](const SharedHierarchy<T>& hierarchy, std::size_t level) {
    const std::vector<AmgLevel<T>>& levels = hierarchy.whole.levels;
    const Aggregates& aggregates = setup.structures()[level - 1].aggregates;
    const auto nodes = static_cast<index_t>(std::max<std::int64_t>(aggregates.of_row.size(), 1));
    const index_t block = levels[level - 1].a->rows() / nodes;
    return partition_of_coarse(hierarchy.partitions.back(), aggregates.of_row, block, aggregates.count,
                               levels[level].a->rows());
  });
}

template <class T>
SharedHierarchy<T> set_up_shared(SetupRanks<T>& ranks, const AmgOptions& options, const Device& device) {
  AmgSetup<T> setup(ranks, ranks.partition(0).rows(), options, device);
  return shared_out(setup, ranks.partition(0), ranks.least_rows(),
                    [&](const SharedHierarchy<T>& /*hierarchy*/, std::size_t level) { return ranks.partition(level); });
}

template struct SharedHierarchy<float>;
template struct SharedHierarchy<double>;
template SharedHierarchy<float> set_up_shared(const CsrView<float>&, const AmgOptions&, const Device&, const Partition&,
                                              index_t);
template SharedHierarchy<double> set_up_shared(const CsrView<double>&, const AmgOptions&, const Device&,
                                               const Partition&, index_t);
template SharedHierarchy<float> set_up_shared(SetupRanks<float>&, const AmgOptions&, const Device&);
template SharedHierarchy<double> set_up_shared(SetupRanks<double>&, const AmgOptions&, const Device&);

}  // namespace tessera::detail
