/// Vectors of PageRank: teleport distributions, and the highest ranks.
#include "solvers/pagerank.hpp"

#include "core/sums.hpp"
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

template <class T>
Array<T> teleport_distribution(std::span<const double> weights, index_t vertices) {
  if (weights.empty()) return {};
  if (static_cast<std::int64_t>(weights.size()) != vertices) {
    throw DimensionError(
        fmt::format("personalization must have one weight per vertex: {}, got {}", vertices, weights.size()));
  }
  double largest = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0.0) || std::isinf(weights[i])) {
      throw InvalidArgument(
          fmt::format("personalization must be finite and not negative, but vertex {} has {}", i + 1, weights[i]));
    }
    largest = std::max(largest, weights[i]);
  }
  if (largest == 0.0) throw InvalidArgument("personalization sums to 0");
  // Divided by the largest first, so that neither the sum nor its inverse leaves the range of the type.
  CompensatedSum sum;
  for (const double weight : weights) sum.add(weight / largest);
  Array<T> result(vertices, Init::none);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    result.data()[i] = static_cast<T>(weights[i] / largest / sum.value());
  }
  return result;
}

template <class T>
Array<T> interleave_teleports(std::span<const Array<T>> teleports, index_t vertices) {
  const auto count = static_cast<std::int64_t>(teleports.size());
  if (std::all_of(teleports.begin(), teleports.end(), [](const Array<T>& v) { return v.empty(); })) return {};
  Array<T> result(vertices * count, Init::none);
  const T uniform = static_cast<T>(1.0 / static_cast<double>(vertices));
  for (std::int64_t k = 0; k < count; ++k) {
    const Array<T>& v = teleports[static_cast<std::size_t>(k)];
    for (std::int64_t i = 0; i < vertices; ++i) result[i * count + k] = v.empty() ? uniform : v[i];
  }
  return result;
}

template Array<float> teleport_distribution(std::span<const double>, index_t);
template Array<double> teleport_distribution(std::span<const double>, index_t);
template Array<float> interleave_teleports(std::span<const Array<float>>, index_t);
template Array<double> interleave_teleports(std::span<const Array<double>>, index_t);

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
