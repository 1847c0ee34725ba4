/// \file
/// Degree-based grouping (P. Faldu, J. Diamond, B. Grot, IISWC 2019): the groups, which both backends share, so that
/// both give the same permutation.
#pragma once

#include "core/host_device.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Eight groups, hubs first: with the mean degree d, 32 d and more, 16 d to 32 d, ..., d to 2 d, d/2 to d, less.
class DegreeGroups {
 public:
  static constexpr int count = 8;
  static constexpr int bits = 3;  ///< of a group

  /// Of the columns of a square matrix.
  constexpr DegreeGroups(index_t columns, offset_t nnz) noexcept : columns_(columns), nnz_(nnz) {}

  /// In integers: degree >= 2^k d where degree * columns >= 2^k nnz. A degree is at most 2^31 - 1, and so is the number
  /// of columns.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int group_of(index_t degree) const noexcept {
    const std::int64_t scaled = std::int64_t{degree} * columns_;
    for (int group = 0; group < count - 2; ++group) {
      if (scaled >= nnz_ << (count - 3 - group)) return group;
    }
    return 2 * scaled >= nnz_ ? count - 2 : count - 1;
  }

 private:
  index_t columns_;
  offset_t nnz_;
};

}  // namespace tessera::detail

namespace tessera::host {
/// \param matrix square, on the host
template <class T>
[[nodiscard]] Array<index_t> degree_ordering(const CsrView<T>& matrix, const Device& device);
}  // namespace tessera::host

namespace tessera::cuda {
/// \param matrix square, on `device`. Returns before the work is done
template <class T>
[[nodiscard]] Array<index_t> degree_ordering(const CsrView<T>& matrix, const Device& device);
/// 0 ... n - 1.
[[nodiscard]] Array<index_t> natural_ordering(index_t n, const Device& device);
}  // namespace tessera::cuda
