/// \file
/// Products over equal tiles of nonzeros with bit-flag descriptors (Liu & Vinter, CSR5, ICS 2015; merbit-spmv.txt,
/// §3.2).
#pragma once

#include "preprocess/csr5_tiles.hpp"
#include "spmv/kernel.hpp"

#include <memory>

namespace tessera {

/// The kernel owns permuted copies of columns and values: the caller's matrix stays as it is.
/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& a, const SpmvOptions& options);

namespace host {

/// y = α A x + β y. Threads take runs of tiles. The paper's calibrator, which takes the sum of the row in which a tile
/// begins, has one entry a run here: the tiles of a run follow each other and hand their open row on. The entries are
/// added in a pass at the end, in the order of the runs, which depend on the matrix alone.
/// \param permuted columns and values in the order of the tiles, row offsets of the matrix
template <class T>
void csr5_apply(const Device& device, const CsrView<T>& permuted, const Csr5Tiles& tiles, T alpha, std::span<const T> x,
                T beta, std::span<T> y);

/// y = A x with <w, y> and <y, y>.
template <class T>
[[nodiscard]] ProductDots csr5_apply_and_dot(const Device& device, const CsrView<T>& permuted, const Csr5Tiles& tiles,
                                             std::span<const T> x, std::span<T> y, std::span<const T> w);

}  // namespace host
}  // namespace tessera
