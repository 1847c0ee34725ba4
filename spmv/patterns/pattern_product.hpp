/// \file
/// Launches of the kernel of row patterns. One source per type of the vectors, which are compiled in parallel.
#pragma once

#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/uniform_rows.hpp"
#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

class Context;

/// What a product reads besides the matrix in CSR. Pointers on the device; at most one of the values is there.
template <class T>
struct PatternOperand {
  index_t rows = 0;
  index_t cols = 0;
  int multiprocessors = 0;  ///< of the GPU
  int lists = 0;
  int width = 0;
  SliceShape shape;
  const index_t* table = nullptr;
  const std::uint8_t* codes = nullptr;  ///< by slices
  const index_t* exceptions = nullptr;  ///< null, with their number, for all rows
  std::int64_t exception_count = 0;
  const T* list_values = nullptr;             ///< of templates
  const T* values = nullptr;                  ///< by slices, or of the symmetric half
  const float* floats = nullptr;              ///< the same, in single precision
  const offset_t* begin = nullptr;            ///< of jagged slices
  const index_t* half_places = nullptr;       ///< of the symmetric half: SymmetricHalf::places
  const std::uint8_t* value_codes = nullptr;  ///< by slices, in a dictionary
  const T* dictionary = nullptr;
  int dictionary_size = 0;
  int dictionary_shift = 0;                ///< logarithm of its copies in shared memory
  const RowStencil<T>* uniform = nullptr;  ///< on the host; null where too few slices are on it
};

/// Terms that a lane takes at once from rows of lists of this width. Fewer rows per lane go with more of them.
[[nodiscard]] int pattern_chunk(int width) noexcept;

/// Blocks of a product.
template <class T>
[[nodiscard]] std::int64_t pattern_blocks(const PatternOperand<T>& operand) noexcept;

/// The most blocks that products take with any values of the same structure: a half may be in single precision first,
/// then in double.
template <class T>
[[nodiscard]] std::int64_t most_pattern_blocks(const PatternOperand<T>& operand) noexcept;

/// y = α A x + β y; with `of_block` also the parts of <w, y> and <y, y>, one per block. Neither waits nor allocates.
/// \throws CudaError
template <class T>
void enqueue_pattern_product(const Context& context, const PatternOperand<T>& operand, const CsrView<T>& a, T alpha,
                             std::span<const T> x, T beta, std::span<T> y, std::span<const T> w, ProductDots* of_block);

}  // namespace tessera::cuda
