/// \file
/// Products along precomputed merge-path tiles (merbit-spmv.txt, §4). Row offsets are not read: the views passed here
/// may come without them.
#pragma once

#include "preprocess/long_row_slices.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "spmv/common/gather_access.hpp"
#include "spmv/kernel.hpp"

#include <memory>

namespace tessera {

/// How sums of a row that several blocks share come together.
enum class MerbitCommit {
  atomic,   ///< added in whatever order blocks finish; the shared rows must be zero beforehand
  carries,  ///< kept apart and added in the order of the blocks: bitwise the same for any number of threads
};

/// Descriptor width and steps a lane.
struct MerbitShape {
  int sigma = 0;
  int descriptor_bits = 0;
};

/// What the caller fixed, and for the rest the defaults for descriptors of 32 and of 64 bits.
/// \throws NotSupported when the asked-for sigma does not fit the asked-for descriptors
[[nodiscard]] MerbitShape choose_merbit_shape(const SpmvOptions& options, int sigma_32, int sigma_64);

/// \throws as SpmvPlan's constructor
template <class T>
[[nodiscard]] std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options);

/// What the plan prepares.
struct MerbitSetup {
  MerbitTiles tiles;
  LongRowSlices long_rows;
  GatherAccess access = GatherAccess::streamed;
  MerbitCommit commit = MerbitCommit::carries;
};

namespace host {

/// y = α A x + β y. With the atomic commit a pass over the shared rows goes first, which clears or scales them.
template <class T>
void merbit_apply(const Device& device, const CsrView<T>& a, const MerbitSetup& setup, T alpha, std::span<const T> x,
                  T beta, std::span<T> y);

/// y = A x with <w, y> and <y, y>.
template <class T>
[[nodiscard]] ProductDots merbit_apply_and_dot(const Device& device, const CsrView<T>& a, const MerbitSetup& setup,
                                               std::span<const T> x, std::span<T> y, std::span<const T> w);

/// Sets the rows of y that several blocks share to zero: the rows in which a block starts.
template <class T>
void merbit_clear_shared(const Device& device, const MerbitSetup& setup, std::span<T> y);

/// y = A x with the atomic commit, where the shared rows of y are zero already; clears those of `other`.
template <class T>
void merbit_apply_dual(const Device& device, const CsrView<T>& a, const MerbitSetup& setup, std::span<const T> x,
                       std::span<T> y, std::span<T> other);

/// The same with <w, y> and <y, y>.
template <class T>
[[nodiscard]] ProductDots merbit_apply_dual_and_dot(const Device& device, const CsrView<T>& a, const MerbitSetup& setup,
                                                    std::span<const T> x, std::span<T> y, std::span<T> other,
                                                    std::span<const T> w);

}  // namespace host
}  // namespace tessera
