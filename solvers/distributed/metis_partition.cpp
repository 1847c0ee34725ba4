/// Partition of rows by METIS: the graph in its numbers, then rows grouped by their parts.
#include "tessera/metis_partition.hpp"

#include "core/parallel.hpp"
#include "solvers/distributed/metis.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

namespace tessera {

namespace detail {

namespace {

constexpr int metis_ok = 1;
constexpr int metis_no_memory = -3;

/// A graph in METIS's numbers.
template <class Index>
class MetisGraph {
 public:
  MetisGraph(const SymmetricPattern& graph, std::span<const std::int64_t> weights)
      : vertices_(static_cast<Index>(graph.vertices())), weights_(weights.begin(), weights.end()) {
    offsets_.reserve(weights.size() + 1);
    offsets_.push_back(0);
    // An address for graphs without edges too.
    neighbours_.reserve(static_cast<std::size_t>(graph.nnz()) + 1);
    for (index_t v = 0; v < graph.vertices(); ++v) {
      const auto of_v = graph.neighbours(v);
      neighbours_.insert(neighbours_.end(), of_v.begin(), of_v.end());
      offsets_.push_back(static_cast<Index>(neighbours_.size()));
    }
  }

  /// With the options that METIS has by default, a constant seed among them: numbers of options differ between its
  /// versions.
  [[nodiscard]] std::vector<index_t> parts(const Metis& metis, int count) {
    Index constraints = 1;
    auto parts = static_cast<Index>(count);
    Index cut = 0;
    std::vector<Index> part_of(weights_.size());
    const int status =
        metis.part_graph_kway(&vertices_, &constraints, offsets_.data(), neighbours_.data(), weights_.data(), nullptr,
                              nullptr, &parts, nullptr, nullptr, nullptr, &cut, part_of.data());
    if (status == metis_no_memory) {
      throw OutOfMemory((offsets_.size() + neighbours_.size()) * sizeof(Index), available_host_memory_bytes(),
                        "a partition by METIS");
    }
    if (status != metis_ok) {
      throw Error(
          fmt::format("METIS_PartGraphKway of {} ended with {} (an error, or a signal) for {} vertices in {} parts",
                      metis.library, status, weights_.size(), count));
    }
    return {part_of.begin(), part_of.end()};
  }

 private:
  Index vertices_;
  std::vector<Index> offsets_;
  std::vector<Index> neighbours_;
  std::vector<Index> weights_;
};

}  // namespace

std::vector<index_t> metis_parts(const Metis& metis, const SymmetricPattern& graph,
                                 std::span<const std::int64_t> weights, int parts) {
  // Its random numbers are those of rand().
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  if (metis.index_bits == 64) return MetisGraph<std::int64_t>(graph, weights).parts(metis, parts);
  const std::int64_t weight = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (graph.nnz() > most || weight > most) {
    throw NotSupported(
        fmt::format("{} has numbers of 32 bits: it takes at most {} entries of A + A^T, not {}, and as "
                    "many nonzeros and rows, not {}",
                    metis.library, most, graph.nnz(), weight));
  }
  return MetisGraph<std::int32_t>(graph, weights).parts(metis, parts);
}

void fill_empty_parts(std::span<index_t> part_of, int parts) {
  std::vector<index_t> sizes(static_cast<std::size_t>(parts));
  for (const index_t part : part_of) ++sizes[static_cast<std::size_t>(part)];
  for (auto empty = std::find(sizes.begin(), sizes.end(), 0); empty != sizes.end();
       empty = std::find(sizes.begin(), sizes.end(), 0)) {
    const auto largest = std::max_element(sizes.begin(), sizes.end());
    const auto from = static_cast<index_t>(largest - sizes.begin());
    *std::find(part_of.rbegin(), part_of.rend(), from) = static_cast<index_t>(empty - sizes.begin());
    --*largest;
    ++*empty;
  }
}

GroupedRows grouped_rows(std::span<const index_t> part_of, int parts, std::span<const index_t> base) {
  std::vector<index_t> first_rows(static_cast<std::size_t>(parts) + 1);
  for (const index_t part : part_of) ++first_rows[static_cast<std::size_t>(part) + 1];
  std::partial_sum(first_rows.begin(), first_rows.end(), first_rows.begin());
  std::vector<index_t> next(first_rows.begin(), first_rows.end() - 1);
  std::vector<index_t> order(part_of.size());
  for (const index_t row : base) {
    index_t& place = next[static_cast<std::size_t>(part_of[static_cast<std::size_t>(row)])];
    order[static_cast<std::size_t>(place++)] = row;
  }
  return {std::move(order), Partition(std::move(first_rows))};
}

}  // namespace detail

template <class T>
GroupedRows metis_partition(const CsrView<T>& matrix, int parts, Ordering inside) {
  const std::vector<index_t> base = ordering(matrix, inside);
  if (parts < 1 || parts > matrix.rows) {
    throw InvalidArgument(fmt::format("each of {} devices needs a row, A has {}", parts, matrix.rows));
  }
  std::vector<index_t> part_of(base.size());
  const detail::Metis& metis = detail::metis();
  if (parts > 1) {
    std::vector<std::int64_t> weights(base.size());
    for (std::size_t row = 0; row < weights.size(); ++row) {
      weights[row] = matrix.row_offsets[row + 1] - matrix.row_offsets[row] + 1;
    }
    part_of = detail::metis_parts(metis, detail::SymmetricPattern(matrix), weights, parts);
    detail::fill_empty_parts(part_of, parts);
  }
  return detail::grouped_rows(part_of, parts, base);
}

template GroupedRows metis_partition(const CsrView<float>&, int, Ordering);
template GroupedRows metis_partition(const CsrView<double>&, int, Ordering);

}  // namespace tessera
