#include "tessera/error.hpp"
#include "tessera/pagerank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

namespace {

/// Whether a comes before b. Ranks hold no NaN here, so this is a strict order.
bool ranks_higher(const RankedVertex& a, const RankedVertex& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.vertex < b.vertex;
}

}  // namespace

template <class T>
std::vector<RankedVertex> top_ranks(std::span<const T> ranks, std::int64_t k) {
  if (k < 0) throw InvalidArgument(fmt::format("number of top ranks must be >= 0, got {}", k));
  const std::size_t count = std::min(static_cast<std::size_t>(k), ranks.size());
  std::vector<RankedVertex> best;  // heap with the lowest of the best on top
  best.reserve(count);
  for (std::size_t i = 0; i < ranks.size() && count > 0; ++i) {
    const auto rank = static_cast<double>(ranks[i]);
    const RankedVertex candidate{static_cast<index_t>(i),
                                 std::isnan(rank) ? -std::numeric_limits<double>::infinity() : rank};
    if (best.size() == count) {
      if (!ranks_higher(candidate, best.front())) continue;
      std::ranges::pop_heap(best, ranks_higher);
      best.pop_back();
    }
    best.push_back(candidate);
    std::ranges::push_heap(best, ranks_higher);
  }
  std::ranges::sort_heap(best, ranks_higher);
  for (RankedVertex& entry : best) entry.rank = static_cast<double>(ranks[static_cast<std::size_t>(entry.vertex)]);
  return best;
}

template std::vector<RankedVertex> top_ranks<float>(std::span<const float>, std::int64_t);
template std::vector<RankedVertex> top_ranks<double>(std::span<const double>, std::int64_t);

}  // namespace tessera
