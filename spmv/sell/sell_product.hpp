/// \file
/// Launches of the kernel of sliced ELL. One source per type of the vectors and per kind of columns, which are compiled
/// in parallel.
#pragma once

#include "spmv/sell/sell_slices.hpp"
#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

class Context;

/// What a product reads besides the matrix in CSR. Pointers on the device; one kind of columns, and at most one of
/// values.
template <class T>
struct SellOperand {
  index_t rows = 0;
  SellShape shape;
  const offset_t* begin = nullptr;
  const std::uint16_t* order = nullptr;      ///< of sorted rows
  const std::uint32_t* long_bits = nullptr;  ///< where there are long rows
  const index_t* long_rows = nullptr;        ///< null, with their number, for all rows
  std::int64_t long_count = 0;
  double mean = 0.0;  ///< nonzeros per row
  const index_t* columns = nullptr;
  const std::uint16_t* relative_columns = nullptr;
  const T* values = nullptr;
  const float* floats = nullptr;
  const std::uint8_t* codes = nullptr;
  const T* dictionary = nullptr;
  int dictionary_count = 0;

  /// No slices: all rows are read from CSR.
  [[nodiscard]] bool reads_csr() const noexcept { return long_rows == nullptr && long_count > 0; }
};

/// Blocks of a product.
template <class T>
[[nodiscard]] std::int64_t sell_blocks(const SellOperand<T>& operand) noexcept;

/// y = α A x + β y; with `of_block` also the parts of <w, y> and <y, y>, one per block. Neither waits nor allocates.
/// \throws CudaError
template <class T>
void enqueue_sell_product(const Context& context, const SellOperand<T>& operand, const CsrView<T>& a, T alpha,
                          std::span<const T> x, T beta, std::span<T> y, std::span<const T> w, ProductDots* of_block);

/// The same with columns of one kind, whose type has its own source.
template <class T, class Columns>
void enqueue_sell_product_by(const Context& context, const SellOperand<T>& operand, const Columns& columns,
                             const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y,
                             std::span<const T> w, ProductDots* of_block);

}  // namespace tessera::cuda
