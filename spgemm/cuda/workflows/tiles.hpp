/// \file
/// The workflow `tiles` on a GPU: both factors in 8 x 8 bitmap tiles, products of tiles on tensor cores.
#pragma once

#include "spgemm/cuda/job.hpp"
#include "spgemm/cuda/workflows/automatic_tiles.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <optional>

namespace tessera::cuda {

/// C, where the options name tiles or `automatic` takes them; notes all but the times before in the report. Else
/// nothing; report.fallback then says why tiles were given up, and is empty where they were not wanted.
/// \param a, b on the device of the options \throws CudaError
template <class V, class T>
[[nodiscard]] std::optional<CsrArrays<V>> tile_product(const CsrView<T>& a, const CsrView<T>& b,
                                                       const SpgemmOptions& options, SpgemmReport& report);

/// The same by a choice other than `none`. \returns nothing where tiles were given up
template <class V, class T>
[[nodiscard]] std::optional<CsrArrays<V>> form_in_tiles(const CsrView<T>& a, const CsrView<T>& b,
                                                        const SpgemmOptions& options, const TileChoice& choice,
                                                        SpgemmReport& report);

}  // namespace tessera::cuda
