/// \file
/// Rows of a Galerkin product R (A P), for ranks that set up one hierarchy together: each forms the rows of A P that
/// its rows of R ask for, and with them its rows of the product, with the bits that the whole product has there.
#pragma once

#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Rows [first, last) of R (A P). R, A and P lie on the device of the options. A P has the rows between the first and
/// the last column of these rows of R: few more than the rank's share where aggregates are numbered along the rows.
/// \throws as spgemm()
template <class T>
[[nodiscard]] Csr<T> galerkin_rows(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, index_t first, index_t last,
                                   const SpgemmOptions& options);

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

}  // namespace tessera::detail
