/// \file
/// Dispatch of the kernel of sliced ELL by length of rows, by layout of slices and values, and by type.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/sell/sell_kernel.cuh"
#include "spmv/sell/sell_product.hpp"

#include <type_traits>

namespace tessera::cuda {

inline constexpr int sell_warps = sell_threads / warp_size;

template <class T>
[[nodiscard]] SellRows sell_rows(const SellOperand<T>& operand) noexcept {
  SellRows rows;
  rows.slices = operand.reads_csr() ? 0 : static_cast<unsigned>(operand.shape.slices(operand.rows));
  rows.width = operand.shape.width;
  rows.begin = operand.begin;
  rows.order = operand.order;
  rows.long_bits = operand.long_bits;
  rows.rows = operand.rows;
  rows.long_rows = operand.long_rows;
  rows.long_count = static_cast<unsigned>(operand.long_count);
  rows.long_blocks = operand.long_count > 0 ? blocks_for(operand.long_count, sell_warps) : 0;
  int per_warp = 1;
  if (operand.codes != nullptr) {
    per_warp = sell_slices_per_warp((operand.dictionary_count + 1) * dictionary_copies<T>,
                                    operand.mean * operand.shape.rows_per_lane);
  }
  rows.window_slices_per_warp = operand.shape.window_rows / (sell_threads * operand.shape.rows_per_lane);
  const int unit = sell_warps * (operand.shape.sorted() ? rows.window_slices_per_warp : 1);
  rows.slices_per_block = blocks_for(sell_warps * per_warp, unit) * static_cast<unsigned>(unit);
  return rows;
}

template <class T>
std::int64_t sell_blocks(const SellOperand<T>& operand) noexcept {
  const SellRows rows = sell_rows(operand);
  return std::int64_t{rows.long_blocks} + (rows.slices + rows.slices_per_block - 1) / rows.slices_per_block;
}

/// function(SellChunk)
template <class T, class Function>
void with_sell_chunk(const SellOperand<T>& operand, Function&& function) {
  const bool is_short = operand.shape.rows_per_lane == sell_rows_per_lane(sell_short_chunk);
  if (operand.shape.sorted()) {
    if (is_short) return function(SellChunk<sell_sorted_chunk, true>{});
    return function(SellChunk<sell_long_chunk, true>{});
  }
  if (is_short) return function(SellChunk<sell_short_chunk, false>{});
  function(SellChunk<sell_long_chunk, false>{});
}

/// function(values) with the type that the operand asks for.
template <class T, class Function>
void with_sell_values(const SellOperand<T>& operand, bool is_pattern, Function&& function) {
  if (is_pattern) return function(UnitValues{});
  if (operand.codes != nullptr) {
    return function(CodedValues<T>{operand.codes, operand.dictionary, operand.dictionary_count});
  }
  if constexpr (std::is_same_v<T, double>) {
    if (operand.floats != nullptr) return function(PlainValues<float>{operand.floats});
  }
  function(PlainValues<T>{operand.values});
}

/// A window of double and a large dictionary are more than a block gets without asking.
template <class... Parameters>
void allow_sell_shared(const Context& context, void (*kernel)(Parameters...), std::size_t bytes) {
  constexpr std::size_t of_sums = sell_warps * sizeof(PlainSums<2>);
  if (static_cast<std::int64_t>(bytes + of_sums) <= context.limits().shared_per_block) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of a product by sliced ELL");
}

template <class T, class Columns>
void enqueue_sell_product_by(const Context& context, const SellOperand<T>& operand, const Columns& columns,
                             const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y,
                             std::span<const T> w, ProductDots* of_block) {
  static_assert(sizeof(ProductDots) == sizeof(PlainSums<2>));
  const SellRows rows = sell_rows(operand);
  const RowSink<T> out{{y.data(), alpha, beta}, w.data(), reinterpret_cast<PlainSums<2>*>(of_block)};
  std::size_t shared = sizeof(T) * static_cast<std::size_t>(operand.shape.window_rows);
  if (operand.codes != nullptr) {
    shared += sizeof(T) * static_cast<std::size_t>(operand.dictionary_count + 1) * dictionary_copies<T>;
  }
  const Grid grid{static_cast<unsigned>(sell_blocks(operand)), sell_threads, shared};
  const auto with_csr = [&](const auto& terms) {
    using Terms = std::remove_cvref_t<decltype(terms)>;
    with_sell_values(operand, a.is_pattern(), [&](const auto& values) {
      using Values = std::remove_cvref_t<decltype(values)>;
      // Pattern matrices alone have no values; the other pairs would be compiled in vain.
      if constexpr (Values::weighted == !std::is_same_v<Terms, DevicePatternTerms<T>>) {
        with_sell_chunk(operand, [&](auto chunk) {
          const auto kernel = sell_kernel<decltype(chunk), Columns, Values, Terms, T>;
          allow_sell_shared(context, kernel, shared);
          launch("product by sliced ELL", context, grid, kernel, rows, columns, values, terms, a.row_offsets.data(),
                 out);
        });
      }
    });
  };
  if (a.is_pattern()) return with_csr(DevicePatternTerms<T>{a.columns.data(), x.data()});
  with_csr(DeviceWeightedTerms<T, T>{a.values.data(), a.columns.data(), x.data()});
}

}  // namespace tessera::cuda
