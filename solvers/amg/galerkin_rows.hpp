/// \file
/// Rows of a Galerkin product R (A P), for ranks that set up one hierarchy together: each forms the rows of A P that
/// its rows of R ask for, and with them its rows of the product, with the bits that the whole product has there.
#pragma once

#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <limits>

namespace tessera::detail {

/// Rows [first, last) of R (A P). R, A and P lie on the device of the options. A P has the rows between the first and
/// the last column of these rows of R: few more than the rank's share where aggregates are numbered along the rows.
/// \throws as spgemm()
template <class T>
[[nodiscard]] Csr<T> galerkin_rows(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, index_t first, index_t last,
                                   const SpgemmOptions& options);

/// Ranks that set up one hierarchy, each on its own device, with the same bits: every rank has all matrices.
template <class T>
class SetupRanks {
 public:
  SetupRanks() = default;
  SetupRanks(const SetupRanks&) = delete;
  SetupRanks& operator=(const SetupRanks&) = delete;
  virtual ~SetupRanks() = default;

  [[nodiscard]] virtual int number() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Levels with fewer rows are formed by every rank as a whole.
  [[nodiscard]] virtual index_t least_rows() const noexcept = 0;
  /// The rows of all ranks, one below the other, on the device of this one. Collective; waits.
  [[nodiscard]] virtual Csr<T> gather(Csr<T> own) = 0;
};

struct IndexRange {
  index_t least = std::numeric_limits<index_t>::max();
  index_t most = -1;
  TESSERA_HOST_DEVICE IndexRange& operator+=(const IndexRange& other) noexcept {
    if (other.least < least) least = other.least;
    if (other.most > most) most = other.most;
    return *this;
  }
};

struct ColumnBounds {
  using Sums = IndexRange;
  const index_t* columns;
  TESSERA_HOST_DEVICE void operator()(std::int64_t k, IndexRange& range) const {
    range += IndexRange{columns[k], columns[k]};
  }
};

struct ShiftColumns {
  using Sums = NoSum;
  const index_t* from;
  index_t* to;
  index_t by;
  TESSERA_HOST_DEVICE void operator()(std::int64_t k, NoSum& /*sum*/) const { to[k] = from[k] - by; }
};

/// Offsets of the rows of a rank become those of the whole.
struct ShiftOffsets {
  using Sums = NoSum;
  offset_t* offsets;
  offset_t by;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { offsets[i] += by; }
};

}  // namespace tessera::detail
