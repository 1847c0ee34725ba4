/// \file
/// Dispatch of the kernel of row patterns by width, by where values are kept, and by type.
#pragma once

#include "core/cuda/launch.cuh"
#include "spmv/patterns/dictionary_codes.cuh"
#include "spmv/patterns/pattern_product.hpp"
#include "spmv/patterns/patterns_kernel.cuh"
#include "spmv/patterns/symmetric_half.cuh"
#include "spmv/patterns/uniform_rows.cuh"

#include <algorithm>
#include <type_traits>

namespace tessera::cuda {

inline constexpr int pattern_warps = pattern_threads / warp_size;

/// function(PatternChunk) for values in padded slices, or a half: one kernel per short width, so that nothing is loaded
/// in vain, and all loads of a row are issued without a branch between them.
template <class Function>
void with_exact_chunk(int width, const SliceShape& shape, Function&& function) {
  if (shape.rows_per_lane == 1) return function(SingleRowChunk{});
  switch (width) {
    case 1:
      return function(PatternChunk<1, true, false>{});
    case 2:
      return function(PatternChunk<2, true, false>{});
    case 3:
      return function(PatternChunk<3, true, false>{});
    case 4:
      return function(PatternChunk<4, true, false>{});
    case 5:
      return function(PatternChunk<5, true, false>{});
    case 6:
      return function(PatternChunk<6, true, false>{});
    case 7:
      return function(PatternChunk<7, true, false>{});
    case 8:
      return function(PatternChunk<8, true, false>{});
    case 9:
      return function(PatternChunk<9, true, false>{});
    default:
      return function(PatternChunk<most_terms_at_once, false, true>{});
  }
}

/// The same where no values, or values without padding, are loaded.
template <class Function>
void with_chunk(int width, Function&& function) {
  if (width > most_terms_at_once) return function(PatternChunk<most_terms_at_once, false, true>{});
  if (width > 7) return function(PatternChunk<9, false, false>{});
  if (width > 5) return function(PatternChunk<7, false, false>{});
  if (width == 5) return function(PatternChunk<5, false, false>{});
  function(PatternChunk<4, false, false>{});
}

/// The same for values of slices, whose lanes may have one row.
template <class Function>
void with_sliced_chunk(int width, const SliceShape& shape, Function&& function) {
  if (shape.rows_per_lane == 1) return function(SingleRowChunk{});
  with_chunk(width, function);
}

/// The same for uniform rows: three chunks of long lists, as those of 27 points are, have a kernel of their own,
/// without a branch between them.
template <class T, class Values, int Terms, bool Exact, bool Loop, class Function>
void with_uniform_chunk(PatternChunk<Terms, Exact, Loop> /*chunk*/, int length, Function&& function) {
  constexpr int warps = std::is_same_v<Values, HalfValues<T>> ? warps_per_slice_of_half(Terms, sizeof(T)) : 1;
  if constexpr (Loop) {
    if (length > 2 * Terms && length <= 3 * Terms) return function(PatternChunk<Terms, Exact, Loop, 3, warps>{});
  }
  function(PatternChunk<Terms, Exact, Loop, 0, warps>{});
}

/// Warps that share a slice in the kernel of uniform rows.
template <class T>
[[nodiscard]] unsigned warps_per_slice(const PatternOperand<T>& operand) noexcept {
  const bool is_half = operand.uniform != nullptr && operand.half_places != nullptr && operand.values != nullptr;
  return is_half ? warps_per_slice_of_half(pattern_chunk(operand.width), sizeof(T)) : 1;
}

/// Slices are prefetched a block per multiprocessor ahead: four were slower, two no faster (H200, CG on 5 points).
template <class T>
[[nodiscard]] PatternRows pattern_rows(const PatternOperand<T>& operand) {
  const SliceOrder order = operand.uniform != nullptr ? operand.uniform->order : SliceOrder{};
  return {operand.rows,
          operand.lists,
          operand.width,
          operand.table,
          operand.codes,
          static_cast<unsigned>(operand.shape.slices(operand.rows)),
          operand.exceptions,
          static_cast<unsigned>(operand.exception_count),
          operand.exception_count > 0 ? blocks_for(operand.exception_count, pattern_warps) : 0,
          order.ahead(static_cast<unsigned>(operand.multiprocessors)),
          static_cast<unsigned>(std::min(operand.rows, operand.cols) / (warp_size * operand.shape.rows_per_lane))};
}

/// \param warps that share a slice
template <class T>
[[nodiscard]] std::int64_t blocks_of_slices(const PatternOperand<T>& operand, unsigned warps) noexcept {
  const PatternRows rows = pattern_rows(operand);
  const SliceOrder order = operand.uniform != nullptr ? operand.uniform->order.shared_by(warps) : SliceOrder{};
  return std::int64_t{rows.exception_blocks} + order.blocks(rows.slices * warps);
}

template <class T>
std::int64_t pattern_blocks(const PatternOperand<T>& operand) noexcept {
  return blocks_of_slices(operand, warps_per_slice(operand));
}

template <class T>
std::int64_t most_pattern_blocks(const PatternOperand<T>& operand) noexcept {
  const bool may_be_shared = operand.uniform != nullptr && operand.half_places != nullptr;
  return blocks_of_slices(operand,
                          may_be_shared ? warps_per_slice_of_half(pattern_chunk(operand.width), sizeof(T)) : 1);
}

/// function(chunk, values) with the types that the operand asks for.
template <class T, class Function>
void with_pattern_values(const PatternOperand<T>& operand, bool is_pattern, Function&& function) {
  if (operand.value_codes != nullptr) {
    const SharedDictionary<T> dictionary{operand.dictionary, operand.dictionary_size, operand.dictionary_shift};
    if (operand.shape.jagged) {
      return with_sliced_chunk(operand.width, operand.shape, [&](auto chunk) {
        function(chunk, JaggedCodes<T>{dictionary, {operand.value_codes, operand.begin}});
      });
    }
    return with_exact_chunk(operand.width, operand.shape, [&](auto chunk) {
      function(chunk, PaddedCodes<T>{dictionary, operand.value_codes});
    });
  }
  const auto by_slices = [&](const auto* values) {
    using V = std::remove_cvref_t<decltype(*values)>;
    if (operand.half_places != nullptr) {
      const auto by_half = [&](auto chunk) { function(chunk, HalfValues<V>{values, operand.half_places}); };
      // In single precision the fewer kernels are faster (H200, grids of 5 points: .171 and .181 ms).
      if constexpr (std::is_same_v<T, double>) {
        return with_exact_chunk(operand.width, operand.shape, by_half);
      } else {
        return with_sliced_chunk(operand.width, operand.shape, by_half);
      }
    }
    if (operand.shape.jagged) {
      return with_sliced_chunk(operand.width, operand.shape, [&](auto chunk) {
        function(chunk, JaggedValues<V>{values, operand.begin});
      });
    }
    with_exact_chunk(operand.width, operand.shape, [&](auto chunk) { function(chunk, PaddedValues<V>{values}); });
  };
  if (is_pattern) return with_chunk(operand.width, [&](auto chunk) { function(chunk, NoValues{}); });
  // A matrix without nonzeros has no values either.
  if (operand.list_values != nullptr || operand.width == 0) {
    return with_chunk(operand.width, [&](auto chunk) { function(chunk, TableValues<T>{operand.list_values}); });
  }
  if constexpr (std::is_same_v<T, double>) {
    if (operand.floats != nullptr) return by_slices(operand.floats);
  }
  by_slices(operand.values);
}

template <class T>
void enqueue_pattern_product(const Context& context, const PatternOperand<T>& operand, const CsrView<T>& a, T alpha,
                             std::span<const T> x, T beta, std::span<T> y, std::span<const T> w,
                             ProductDots* of_block) {
  static_assert(sizeof(ProductDots) == sizeof(PlainSums<2>));
  const PatternRows rows = pattern_rows(operand);
  const RowSink<T> out{{y.data(), alpha, beta}, w.data(), reinterpret_cast<PlainSums<2>*>(of_block)};
  const auto with_csr = [&](const auto& terms) {
    using Terms = std::remove_cvref_t<decltype(terms)>;
    with_pattern_values(operand, a.is_pattern(), [&](auto chunk, const auto& values) {
      using Values = std::remove_cvref_t<decltype(values)>;
      // Pattern matrices alone have no values; the other pairs would be compiled in vain.
      if constexpr (Values::weighted == !std::is_same_v<Terms, DevicePatternTerms<T>>) {
        Grid grid{static_cast<unsigned>(pattern_blocks(operand)), pattern_threads};
        if constexpr (suits_uniform_rows<Values> && decltype(chunk)::rows > 1) {
          if (operand.uniform != nullptr) {
            return with_uniform_chunk<T, Values>(chunk, operand.uniform->length, [&](auto uniform_chunk) {
              constexpr unsigned warps = decltype(uniform_chunk)::warps_per_slice;
              PatternRows shared = rows;
              shared.slices *= warps;  // prefetches count whole slices, and shared ones have none
              RowStencil<T> list = *operand.uniform;
              list.order = list.order.shared_by(warps);
              launch("product by row patterns", context, grid,
                     uniform_rows_kernel<decltype(uniform_chunk), Values, Terms, T>, shared, values, list, terms,
                     a.row_offsets.data(), out);
            });
          }
        }
        grid.shared_bytes = shared_columns_bytes(rows.places());
        if constexpr (Values::shares) grid.shared_bytes += values.shared_bytes(rows);
        launch("product by row patterns", context, grid, patterns_kernel<decltype(chunk), Values, Terms, T>, rows,
               values, terms, a.row_offsets.data(), out);
      }
    });
  };
  if (a.is_pattern()) return with_csr(DevicePatternTerms<T>{a.columns.data(), x.data()});
  with_csr(DeviceWeightedTerms<T, T>{a.values.data(), a.columns.data(), x.data()});
}

}  // namespace tessera::cuda
