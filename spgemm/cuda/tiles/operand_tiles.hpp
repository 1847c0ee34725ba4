/// \file
/// Tiles as operands of the narrower tensor instructions: their values in half or single precision, 64 per tile, in the
/// order in which lanes load them, A row by row and B column by column. Lane l has the elements 2 l and 2 l + 1: a load
/// of a warp is one piece of memory, 128 bytes in half and 256 in single precision.
#pragma once

#include "core/narrow_floats.hpp"
#include "spgemm/cuda/tiles/tile_product.hpp"

namespace tessera::cuda {

using detail::Half;

/// Copies of a factor's tiles; null where not wanted.
template <class E>
struct OperandCopies {
  E* by_rows = nullptr;
  E* by_columns = nullptr;
};

/// Copies the values of every tile, rounded to E, zeros between them, and adds to `totals` what that lost.
/// \tparam E Half, or float for values of type float \param values null: ones
template <class E, class V>
void enqueue_operand_tiles(const Context& context, const detail::CsrStructurePointers& matrix, const V* values,
                           const TilePositions& tiles, const OperandCopies<E>& copies, OperandTotals* totals);

/// How operand tiles are multiplied.
enum class OperandArithmetic {
  half,    ///< two pairs per m16n8k16, of half precision; sums in single precision
  tf32x3,  ///< two m16n8k8 per pair: all products of big and small parts; sums of pairs in single precision
  fp64,    ///< two m8n8k4 per pair, in double precision: exact products of numbers in single precision
  scalar,  ///< entry by entry in the order of A's rows, products and sums rounded to single precision
};

/// C in CSR. \param a by rows \param b by columns
template <class E, class V>
void enqueue_operand_product(const Context& context, OperandArithmetic arithmetic, const TilePositions& a,
                             const E* a_values, const TilePositions& b, const E* b_values, const CTiles& c,
                             const offset_t* offsets, index_t* columns, V* values);

}  // namespace tessera::cuda
