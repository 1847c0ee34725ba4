/// \file
/// Bitmap tiles: products with 8 x 8 tiles of a bitmap each and packed values (Zhang & Gruenwald, bmSPARSE,
/// GRADES-NDA 2018). Where tiles are well filled, a product reads hardly more than the values: no column per nonzero.
/// Positions without an entry are skipped, so that NaN and infinity in x reach exactly the rows that hold their column.
/// The kernels keep a copy of the values in the order of tiles: the caller's matrix stays as it is.
#pragma once

#include "spmv/common/kernel.hpp"
#include "spmv/tiles/tiles_tuning.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace tessera {

namespace detail {

/// "; 12 tiles of 8 x 8, 0.5 filled", for the reason of a plan.
[[nodiscard]] std::string describe_tiles(std::int64_t tiles, offset_t nnz);

}  // namespace detail

namespace host {

/// Threads take ranges of tile rows. A row is summed by one thread, from tile to tile: the sums do not depend on the
/// number of threads. \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_tiles_kernel(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace host

namespace cuda {

/// A warp per tile row, or part of a warp where tile rows are short. Long tile rows are cut into parts, one warp each,
/// whose sums are added in the order of the parts. \param on_device the matrix on options.device
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_tiles_kernel(const CsrView<T>& on_device, const SpmvOptions& options);

/// The same with tile rows handed out as told, for tests and measurements.
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_shaped_tiles_kernel(const CsrView<T>& on_device,
                                                                      const SpmvOptions& options,
                                                                      const TilesShape& shape);

}  // namespace cuda
}  // namespace tessera
