/// \file
/// The distributions that a surfer jumps by, from what users give.
#pragma once

#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera {

/// \param weights one a vertex, >= 0; empty means uniform
/// \returns them scaled to sum 1, on the host; empty when uniform
/// \throws DimensionError for another number of weights; InvalidArgument when one is negative or not finite, or all are
/// 0
template <class T>
[[nodiscard]] Array<T> teleport_distribution(std::span<const double> weights, index_t vertices);

/// Distributions side by side: that of vertex i and vector k is element i * teleports.size() + k.
/// \param teleports on the host, as of teleport_distribution() \returns on the host; empty where all are uniform
template <class T>
[[nodiscard]] Array<T> interleave_teleports(std::span<const Array<T>> teleports, index_t vertices);

extern template Array<float> teleport_distribution(std::span<const double>, index_t);
extern template Array<double> teleport_distribution(std::span<const double>, index_t);
extern template Array<float> interleave_teleports(std::span<const Array<float>>, index_t);
extern template Array<double> interleave_teleports(std::span<const Array<double>>, index_t);

}  // namespace tessera
