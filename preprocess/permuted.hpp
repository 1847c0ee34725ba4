/// \file
/// Symmetric permutation P A Pᵀ: its parts, where they are written.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::detail {

/// Null: a part that is not wanted.
template <class T>
struct PermutedOutput {
  offset_t* row_offsets = nullptr;  ///< rows + 1
  index_t* columns = nullptr;
  T* values = nullptr;
  index_t* positions = nullptr;  ///< in A, per entry; only below 2^31 entries
};

/// permuted() where the inverse is known.
/// \param matrix square, \param order a permutation, and \param position its inverse, on `device`
template <class T>
[[nodiscard]] Csr<T> permuted_by(const CsrView<T>& matrix, std::span<const index_t> order,
                                 std::span<const index_t> position, const Device& device);

/// Where each entry of P A Pᵀ lies in A: new values by gather_values() in core/value_passes.hpp.
/// Parameters as above. \throws NotSupported for 2^31 entries or more; OutOfMemory, CudaError
template <class T>
[[nodiscard]] Array<index_t> permuted_positions(const CsrView<T>& matrix, std::span<const index_t> order,
                                                std::span<const index_t> position, const Device& device);

/// position[order[k]] = k. \throws InvalidArgument naming the first number that is out of range or occurs twice
[[nodiscard]] Array<index_t> inverse_permutation(std::span<const index_t> order, const Device& device);

}  // namespace tessera::detail

namespace tessera::host {
/// \param position the inverse of `order`
template <class T>
void permute_into(const CsrView<T>& matrix, std::span<const index_t> order, std::span<const index_t> position,
                  const Device& device, const detail::PermutedOutput<T>& out);
/// \throws InvalidArgument
[[nodiscard]] Array<index_t> inverse_permutation(std::span<const index_t> order);
}  // namespace tessera::host

namespace tessera::cuda {
/// \throws OutOfMemory, CudaError
template <class T>
void permute_into(const CsrView<T>& matrix, std::span<const index_t> order, std::span<const index_t> position,
                  const Device& device, const detail::PermutedOutput<T>& out);
/// \returns an empty array for what is no permutation. Waits
[[nodiscard]] Array<index_t> inverse_permutation(std::span<const index_t> order, const Device& device);
}  // namespace tessera::cuda
