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

  /// Path steps of a block at most; its row buffer has so many elements.
  [[nodiscard]] constexpr int max_block_steps() const noexcept {
    return tiles_per_block * lanes_per_tile * max_sigma(64);
  }

  friend constexpr bool operator==(const MerbitPolicy&, const MerbitPolicy&) = default;
  friend std::ostream& operator<<(std::ostream& out, const MerbitPolicy& policy) {
    return out << "{tiles_per_block " << policy.tiles_per_block << ", sigma_32 " << policy.sigma_32 << ", sigma_64 "
               << policy.sigma_64 << '}';
  }
};

/// Host threads: long lanes, since the work per lane is what the host pays for; blocks whose row buffer stays in the
/// first-level or second-level cache.
template <class T>
inline constexpr MerbitPolicy host_merbit_policy{8, 21, 53};

static_assert(host_merbit_policy<float>.sigma_32 <= max_sigma(32));
static_assert(host_merbit_policy<double>.sigma_64 <= max_sigma(64));

}  // namespace tessera
