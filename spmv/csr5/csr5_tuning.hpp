/// \file
/// Tuning of CSR5.
#pragma once

#include "preprocess/csr5_descriptor.hpp"
#include "tessera/spmv.hpp"

#include <algorithm>
#include <ostream>

namespace tessera::detail {

/// How long lanes are, by the mean row length: lanes about as long as rows give each lane about one row start.
struct Csr5Policy {
  int min_sigma = 0;   ///< for means up to this; beyond, sigma is the mean itself
  int max_sigma = 0;   ///< for means from this on
  int long_mean = 0;   ///< up to this mean
  int long_sigma = 0;  ///< for means beyond long_mean

  /// \param rows 1 or more
  [[nodiscard]] constexpr int sigma(index_t rows, offset_t nnz) const noexcept {
    const offset_t mean = nnz / rows;
    if (mean > long_mean) return long_sigma;
    return static_cast<int>(std::clamp<offset_t>(mean, min_sigma, max_sigma));
  }

  friend constexpr bool operator==(const Csr5Policy&, const Csr5Policy&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Csr5Policy& policy) {
    return out << "{min_sigma " << policy.min_sigma << ", max_sigma " << policy.max_sigma << ", long_mean "
               << policy.long_mean << ", long_sigma " << policy.long_sigma << '}';
  }
};

/// The table of Liu & Vinter, ICS 2015, for the host and GPUs.
template <class T>
inline constexpr Csr5Policy csr5_policy{4, 32, 256, 6};

static_assert(csr5_policy<float>.max_sigma <= csr5_max_sigma(64));
static_assert(csr5_policy<double>.max_sigma <= csr5_max_sigma(64));

/// Nonzeros a lane and width of its descriptor.
struct Csr5Shape {
  int sigma = 0;
  int descriptor_bits = 0;
};

/// What the caller fixed, and for the rest the policy and the narrowest descriptors.
/// \throws NotSupported when sigma does not fit the descriptors
[[nodiscard]] Csr5Shape choose_csr5_shape(const SpmvOptions& options, const Csr5Policy& policy, index_t rows,
                                          offset_t nnz);

}  // namespace tessera::detail
