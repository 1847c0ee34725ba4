/// \file
/// A panel: some right-hand sides of one system that iterate together. Its vectors are blocks of `columns` columns, row
/// by row without gaps: element (i, j) at i * columns + j, so that a product brings all columns of a row of X at once.
/// The fused operations of a method (fused/ops.hpp) run on them as on vectors of n * columns elements; each column
/// has a state of its own.
#pragma once

#include "solvers/bicgstab.hpp"
#include "solvers/cg.hpp"
#include "solvers/fused/block.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "solvers/gmres.hpp"
#include "tessera/multiple_right_sides.hpp"

#include <cstdint>
#include <span>
#include <variant>

namespace tessera::fused {

/// Row of an element of a panel: its index divided by the number of columns, by a multiplication with ceil(2^64 /
/// columns). Exact below 2^59 for up to 32 columns.
class RowOfElement {
 public:
  explicit RowOfElement(int columns)
      : reciprocal_(columns == 1 ? 0 : ~std::uint64_t{0} / static_cast<std::uint64_t>(columns) + 1) {}
  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t operator()(std::int64_t element) const noexcept {
    if (reciprocal_ == 0) return element;
    const auto dividend = static_cast<std::uint64_t>(element);
#ifdef __CUDA_ARCH__
    return static_cast<std::int64_t>(__umul64hi(dividend, reciprocal_));
#else
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>((static_cast<Wide>(dividend) * reciprocal_) >> 64));
#endif
  }

 private:
  std::uint64_t reciprocal_;  ///< 0 for one column
};

/// FusedDiagonal for a panel.
template <class T>
struct PanelDiagonal {
  using Loaded = T;
  const T* diagonal;
  RowOfElement row;
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t element) const noexcept { return diagonal[row(element)]; }
  TESSERA_HOST_DEVICE T operator()(Loaded entry, T r) const noexcept { return rounded_product(entry, r); }
};

/// FusedPreconditioner for a panel.
template <class T>
struct PanelPreconditioner {
  std::variant<FusedIdentity<T>, PanelDiagonal<T>> entry;
  bool is_fused = false;
  bool is_identity = false;

  PanelPreconditioner(const FusedPreconditioner<T>& of_one, int columns)
      : is_fused(of_one.is_fused), is_identity(of_one.is_identity) {
    const auto* const diagonal = std::get_if<FusedDiagonal<T>>(&of_one.entry);
    if (diagonal != nullptr) entry = PanelDiagonal<T>{diagonal->diagonal, RowOfElement(columns)};
  }
  [[nodiscard]] bool counts() const noexcept { return is_fused && !is_identity; }
};

/// The states of a panel, between runs of its loop and on a GPU. `iteration` counts the iterations of the panel; it
/// halts at the end of an iteration in which a column has halted. A column that has ended is Halt::done.
template <class State>
struct PanelState : LoopControl {
  State of[most_panel_columns];
  std::int64_t noted[most_panel_columns] = {};  ///< iterations of the columns that the history has
};

/// In the place of the norm of an iteration that a column has not completed.
inline constexpr double no_iteration = -1.0;

/// Whether an operation is the last one of an iteration.
template <class Op>
inline constexpr bool ends_iteration = false;
template <class T, class M>
inline constexpr bool ends_iteration<detail::CgUpdateSolutionAndDirection<T, M>> = true;
template <class T>
inline constexpr bool ends_iteration<detail::BicgstabUpdateSolutionAndResidual<T>> = true;

/// Whether the host adds the terms of an operation one after the other, without partial sums.
template <class Op>
inline constexpr bool sums_in_order = requires {
  Op::sums_in_order;
};

/// The state's dots: <w, y> and <y, y> of every column. On the host, added in the order of FusedOperator's own.
template <class T, class StateOfMethod>
struct PanelDots {
  using State = StateOfMethod;
  using Sums = TwoSums;
  static constexpr bool sums_in_order = true;
  struct Scalars {};
  struct Loaded {
    T w, y;
  };
  const T* w;
  const T* y;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {w[i], y[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t /*i*/, const Loaded& old, Scalars /*scalar*/, TwoSums& sums) const {
    const auto value = static_cast<double>(old.y);
    sums.first += static_cast<double>(old.w) * value;
    sums.second += value * value;
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, const TwoSums& sums) const { s.dots = {sums.first, sums.second}; }
};

/// A panel to vectors, each without gaps and one after the other. The dots of the states are those of each vector with
/// itself; on the host, added in the order of FusedOperator's own.
template <class T>
struct PanelToVectors {
  using State = detail::GmresState;
  using Sums = double;
  static constexpr bool sums_in_order = true;
  struct Scalars {};
  struct Loaded {
    T value;
  };
  const T* panel;
  T* vectors;
  std::int64_t n;
  int columns;
  RowOfElement row;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t element) const { return {panel[element]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t element, const Loaded& old, Scalars /*scalar*/, double& squares) const {
    const std::int64_t i = row(element);
    vectors[(element - i * columns) * n + i] = old.value;
    const auto value = static_cast<double>(old.value);
    squares += value * value;
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, double squares) const { s.dots = {squares, squares}; }
};

/// The way back.
template <class T>
struct VectorsToPanel {
  using State = detail::GmresState;
  using Sums = NoSum;
  struct Scalars {};
  struct Loaded {
    T value;
  };
  const T* vectors;
  T* panel;
  std::int64_t n;
  int columns;
  RowOfElement row;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t element) const {
    const std::int64_t i = row(element);
    return {vectors[(element - i * columns) * n + i]};
  }
  TESSERA_HOST_DEVICE void apply(std::int64_t element, const Loaded& old, Scalars /*scalar*/, NoSum& /*sum*/) const {
    panel[element] = old.value;
  }
  TESSERA_HOST_DEVICE void scalars_after(State& /*s*/, const NoSum& /*sum*/) const {}
};
/// The last operation of an iteration of GMRES.
template <class T>
inline constexpr bool ends_iteration<VectorsToPanel<T>> = true;

/// A block operation on the vectors of one column of a panel.
template <class Op>
struct BlockOfColumn {
  Op op;
  BlockSpace* space;
};

/// A column of a panel to a vector, or back.
template <class T>
struct CopyStrided {
  using Sums = NoSum;
  const T* from;
  T* to;
  std::int64_t from_stride;
  std::int64_t to_stride;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    to[i * to_stride] = from[i * from_stride];
  }
};

/// A narrower panel from another one, for its n * columns elements.
template <class T>
struct NarrowPanel {
  using Sums = NoSum;
  const T* from;
  T* to;
  int from_columns;
  int columns;
  RowOfElement row;  ///< of the narrower panel
  std::int8_t source[most_panel_columns];
  TESSERA_HOST_DEVICE void operator()(std::int64_t element, NoSum& /*sum*/) const {
    const std::int64_t i = row(element);
    to[element] = from[i * from_columns + source[element - i * columns]];
  }
};

/// Operations that run on panels.
template <class T>
using PanelOps =
    OpList<PanelDots<T, detail::CgState>, detail::CgUpdateResidual<T, FusedIdentity<T>>,
           detail::CgUpdateResidual<T, PanelDiagonal<T>>, detail::CgUpdateSolutionAndDirection<T, FusedIdentity<T>>,
           detail::CgUpdateSolutionAndDirection<T, PanelDiagonal<T>>, PanelDots<T, detail::BicgstabState>,
           detail::BicgstabUpdateDirection<T, FusedIdentity<T>>, detail::BicgstabUpdateDirection<T, PanelDiagonal<T>>,
           detail::BicgstabUpdateS<T, FusedIdentity<T>>, detail::BicgstabUpdateS<T, PanelDiagonal<T>>,
           detail::BicgstabUpdateSolutionAndResidual<T>, PanelToVectors<T>, VectorsToPanel<T>>;
/// Block operations of the columns of panels.
template <class T>
using PanelBlockOps =
    OpList<detail::GmresProject<T>, detail::GmresPreconditionAndProject<T>, detail::GmresOrthogonalize<T>,
           detail::GmresExtend<T, FusedIdentity<T>>, detail::GmresExtend<T, FusedDiagonal<T>>>;

}  // namespace tessera::fused

namespace tessera::cuda {

/// Scratch memory of a panel on a GPU.
struct PanelSpace {
  double* partial = nullptr;  ///< sums of blocks: panel_partial_doubles() of them
  double* norms = nullptr;    ///< of the iterations of a run: panel_history_rows() x most_panel_columns
  /// Blocks of threads that are done with the block operation of a column; 0 between operations. One per column.
  unsigned* finished = nullptr;
};
[[nodiscard]] std::int64_t panel_partial_doubles(int columns);
[[nodiscard]] std::int64_t panel_history_rows();

/// The kernel of a fused operation on a panel inside a GraphLoop, whose state is a PanelState.
template <class Op>
struct PanelOp {
  /// As LoopOp<Op>::record(), for every column that has not halted. \param n elements of the panel; not used by an
  /// operation on scalars
  static void record(const Device& device, const LoopFrame& frame, std::int64_t n, int columns, const Op& op,
                     const PanelSpace& space);
};

/// The kernel of a block operation on the columns of a panel inside a GraphLoop, whose state is a PanelState.
template <class Op>
struct PanelBlock {
  /// As LoopBlock<Op>::record(), for every column that has not halted: one launch for all. \param n elements of a
  /// vector
  static void record(const Device& device, const LoopFrame& frame, std::int64_t n,
                     std::span<const fused::BlockOfColumn<Op>> columns, const PanelSpace& space);
};

}  // namespace tessera::cuda
