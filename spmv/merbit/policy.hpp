/// \file
/// Tuning of MERBIT.
#pragma once

#include "preprocess/lane_descriptor.hpp"

#include <ostream>
#include <type_traits>

namespace tessera {

/// Sizes of one device family and element type. An odd sigma keeps lane-strided walks free of bank conflicts on GPUs.
struct MerbitPolicy {
  int tiles_per_block = 0;
  int sigma_32 = 0;  ///< default steps a lane with 32-bit descriptors, which are the default
  int sigma_64 = 0;  ///< default steps a lane with 64-bit descriptors

  friend constexpr bool operator==(const MerbitPolicy&, const MerbitPolicy&) = default;
  friend std::ostream& operator<<(std::ostream& out, const MerbitPolicy& policy) {
    return out << "{tiles_per_block " << policy.tiles_per_block << ", sigma_32 " << policy.sigma_32 << ", sigma_64 "
               << policy.sigma_64 << '}';
  }
};

/// Host threads: long lanes, since a lane costs a branch that cannot be foreseen; blocks that are worth handing out.
/// There they have so many tiles or more.
template <class T>
inline constexpr MerbitPolicy host_merbit_policy{8, 21, 53};

static_assert(host_merbit_policy<float>.sigma_32 <= max_sigma(32));
static_assert(host_merbit_policy<double>.sigma_64 <= max_sigma(64));

}  // namespace tessera
