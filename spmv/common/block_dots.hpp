/// \file
/// Inner products that a product on a GPU leaves in parts, one per block, and their sums, in one order.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/array.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

class Context;

/// Room for the parts of a product of so many blocks, and for their sums.
class BlockDots {
 public:
  BlockDots() = default;
  /// \throws OutOfMemory
  BlockDots(std::int64_t blocks, const Device& device);

  /// One per block, for the product to write.
  [[nodiscard]] ProductDots* of_blocks() noexcept { return parts_.data(); }
  [[nodiscard]] ProductDots* total() noexcept { return parts_.data() + parts_.size() - 1; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return parts_.bytes(); }

  /// The parts of `blocks` blocks, or their sums 256 by 256: few enough to be added up by each of many blocks. The
  /// device is current, here and below. \throws CudaError
  [[nodiscard]] std::span<const ProductDots> enqueue_parts(const Context& context, std::int64_t blocks);

 private:
  Array<ProductDots> parts_;  ///< of the blocks, of 256 blocks each, of all
};

/// *total = the sum of the parts.
void enqueue_total(const Context& context, std::span<const ProductDots> parts, ProductDots* total);

}  // namespace tessera::cuda
