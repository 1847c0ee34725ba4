/// \file
/// Block operations: fused operations (fused/ops.hpp) that also pass over the columns of a block of vectors, once. They
/// form a combination of the columns, or the inner products of a vector with them, or both: then an element of the
/// combination is used while the columns are in the cache.
///
/// A block operation is a small value, as a fused operation is, with
///   using State, Sums, Element;
///   struct Scalars, Loaded;
///   static constexpr bool combines;    whether apply() gets a combination of the columns
///   static constexpr bool projects;    whether the inner products of apply()'s results are wanted
///   BlockView<Element> block;
///   const double* coefficients;        of the combination; where the state lies
///   double* projections;               the inner products; where the state lies
///   void    scalars_before(State&) const;
///   int     columns(const State&) const;
///   Scalars scalars(const State&) const;
///   Loaded  load(i) const;
///   Element apply(i, Loaded, combination, Scalars, Sums&) const;   updates element i and adds its terms to the sums
///   Element value(i) const;                                        what apply() returned, for many columns
///   void    scalars_after(State&, const Sums&) const;              the inner products are stored by then
/// An operation whose results do not depend on the combination, but completes the last column by it, reads every column
/// once. It has, in the place of apply(),
///   static constexpr bool completes_last_column = true;
///   Element projected(i, Loaded, Sums&) const;             whose inner products are wanted; adds its terms to the sums
///   Element complete(i, combination, Scalars) const;       the last column; the combination is that of all others
/// Loop::apply_block() runs it, in a loop; block_pass() (fused/block_pass.hpp) runs it alone, without a State.
///
/// Sums have an order that depends on n alone: equal bits for every number of threads, and on every GPU.
#pragma once

#include "solvers/fused/graph_loop.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>

namespace tessera::fused {

/// Whether it completes the last column of its block.
template <class Op>
inline constexpr bool completes_last_column = requires {
  Op::completes_last_column;
};

/// Most columns of a block.
inline constexpr int most_columns = 1000;

/// n x columns elements, column by column.
template <class T>
struct BlockView {
  T* data = nullptr;
  std::int64_t stride = 0;  ///< from column to column
  [[nodiscard]] TESSERA_HOST_DEVICE T* column(std::int64_t k) const noexcept { return data + k * stride; }
};

/// Vectors of one length. Every column begins on a cache line.
template <class T>
class VectorBlock {
 public:
  VectorBlock(std::int64_t n, std::int64_t columns, const Device& device)
      : stride_((n + per_line - 1) / per_line * per_line), elements_(stride_ * columns, Init::none, device) {}
  [[nodiscard]] BlockView<T> view() noexcept { return {elements_.data(), stride_}; }
  void clear() { tessera::detail::zero_bytes(elements_.device(), elements_.data(), elements_.bytes()); }

 private:
  static constexpr std::int64_t per_line = 128 / sizeof(T);
  std::int64_t stride_;
  Array<T> elements_;
};

/// Scratch memory of block operations.
class BlockSpace {
 public:
  /// Parts that a sum over a vector is cut into, on the host and on a GPU, at the most.
  static constexpr std::int64_t parts = 256;

  BlockSpace(std::int64_t columns, const Device& device)
      : columns_(columns), memory_((parts + 2) * columns, Init::none, device) {}
  /// Inner products of every part.
  [[nodiscard]] double* partial() noexcept { return memory_.data(); }
  /// For operations that the host drives on a GPU.
  [[nodiscard]] double* coefficients() noexcept { return partial() + parts * columns_; }
  [[nodiscard]] double* projections() noexcept { return coefficients() + columns_; }

 private:
  std::int64_t columns_;
  Array<double> memory_;
};

}  // namespace tessera::fused

namespace tessera::cuda {

/// The kernel of a block operation.
template <class Op>
struct BlockPass {
  /// Coefficients and inner products of `op` lie on the host. \returns its sums; waits for them and for the inner
  /// products, if there are any \throws CudaError; DeviceUnavailable in a build without CUDA
  static typename Op::Sums run(const Device& device, std::int64_t n, const Op& op, const typename Op::Scalars& scalars,
                               int columns, fused::BlockSpace& space);
};

/// The kernel of a block operation inside a GraphLoop.
template <class Op>
struct LoopBlock {
  /// As LoopOp<Op>::record(). Coefficients and inner products of `op` lie on the device.
  static void record(const Device& device, const LoopFrame& frame, std::int64_t n, const Op& op,
                     fused::BlockSpace& space, std::span<const ProductDots> dot_parts);
};

}  // namespace tessera::cuda
