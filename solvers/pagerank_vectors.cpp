/// Vectors of PageRank: teleport distributions, and the highest ranks.
#include "solvers/pagerank.hpp"

#include "solvers/fused/transform_reduce.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

namespace detail {

TeleportWeights look_at_teleport(std::span<const double> weights, index_t vertices, const Device& device) {
  if (weights.empty()) return {};
  if (static_cast<std::int64_t>(weights.size()) != vertices) {
    throw DimensionError(
        fmt::format("personalization must have one weight per vertex: {}, got {}", vertices, weights.size()));
  }
  const auto survey = fused::transform_reduce(device, vertices, TeleportSurvey{weights.data()});
  if (const std::int64_t i = survey.invalid.index; i >= 0) {
    double weight = 0.0;
    copy_bytes(Device{}, &weight, device, weights.data() + i, sizeof(double));
    throw InvalidArgument(
        fmt::format("personalization must be finite and not negative, but vertex {} has {}", i + 1, weight));
  }
  if (survey.largest == 0.0) throw InvalidArgument("personalization sums to 0");
  const auto total = fused::transform_reduce(device, vertices, TeleportTotal{weights.data(), survey.largest});
  return {weights, survey.largest, total.value()};
}

template <class T>
void fill_teleports(std::span<const TeleportWeights> teleports, index_t vertices, const Device& device,
                    std::span<T> v) {
  const auto count = static_cast<std::int64_t>(teleports.size());
  for (std::int64_t k = 0; k < count; ++k) {
    const TeleportWeights& teleport = teleports[static_cast<std::size_t>(k)];
    fused::transform_reduce(device, vertices,
                            TeleportFill<T>{.weights = teleport.weights.empty() ? nullptr : teleport.weights.data(),
                                            .largest = teleport.largest,
                                            .total = teleport.total,
                                            .uniform = 1.0 / static_cast<double>(vertices),
                                            .v = v.data() + k,
                                            .stride = count});
  }
}

template void fill_teleports(std::span<const TeleportWeights>, index_t, const Device&, std::span<float>);
template void fill_teleports(std::span<const TeleportWeights>, index_t, const Device&, std::span<double>);

}  // namespace detail

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
