/// \file
/// Degree-based grouping on the host: columns counted in parallel parts, then a counting sort by group.
#include "core/parallel.hpp"
#include "preprocess/degree_groups.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tessera::host {

using namespace detail;

namespace {

/// Entries per column. Every part has counters of its own, which must not outgrow the entries.
template <class T>
Array<index_t> column_degrees(const CsrView<T>& a, const Device& device) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(a.nnz() / (std::int64_t{a.cols} + serial_threshold()), 1, std::max(1, device.threads()));
  std::vector<Array<index_t>> counts;
  counts.reserve(static_cast<std::size_t>(parts));
  for (std::int64_t p = 0; p < parts; ++p) counts.emplace_back(a.cols);
  parallel_tasks(device, parts, [&](std::int64_t p) {
    index_t* const own = counts[static_cast<std::size_t>(p)].data();
    const Range entries = part_of(a.nnz(), parts, p);
    for (offset_t k = entries.begin; k < entries.end; ++k) ++own[a.columns[static_cast<std::size_t>(k)]];
  });
  Array<index_t> total = std::move(counts.front());
  parallel_for(device, a.cols, [&](Range columns) {
    for (std::size_t p = 1; p < counts.size(); ++p) {
      for (std::int64_t j = columns.begin; j < columns.end; ++j) total[j] += counts[p][j];
    }
  });
  return total;
}

using GroupCounts = std::array<std::int64_t, DegreeGroups::count>;

}  // namespace

template <class T>
Array<index_t> degree_ordering(const CsrView<T>& matrix, const Device& device) {
  const Array<index_t> degrees = column_degrees(matrix, device);
  const DegreeGroups groups(matrix.cols, matrix.nnz());
  const std::int64_t parts = threads_for(device, matrix.cols);
  std::vector<GroupCounts> next(static_cast<std::size_t>(parts), GroupCounts{});
  const auto visit = [&](std::int64_t p, const auto& action) {
    const Range columns = part_of(matrix.cols, parts, p);
    GroupCounts& own = next[static_cast<std::size_t>(p)];
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      action(j, own[static_cast<std::size_t>(groups.group_of(degrees[j]))]);
    }
  };
  parallel_tasks(device, parts, [&](std::int64_t p) { visit(p, [](std::int64_t, std::int64_t& count) { ++count; }); });
  std::int64_t position = 0;
  for (std::size_t group = 0; group < DegreeGroups::count; ++group) {
    for (GroupCounts& of_part : next) position += std::exchange(of_part[group], position);
  }
  Array<index_t> order(matrix.cols, Init::none);
  parallel_tasks(device, parts, [&](std::int64_t p) {
    visit(p, [&](std::int64_t j, std::int64_t& target) { order[target++] = static_cast<index_t>(j); });
  });
  return order;
}

template Array<index_t> degree_ordering(const CsrView<float>&, const Device&);
template Array<index_t> degree_ordering(const CsrView<double>&, const Device&);

}  // namespace tessera::host
