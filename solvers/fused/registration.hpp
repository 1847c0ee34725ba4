/// \file
/// The functions of an operation that a backend defines, so that the lists of operations can be instantiated: for a GPU
/// by the registration sources, for a build without CUDA by stubs.cpp.
#pragma once

#include "solvers/fused/block.hpp"
#include "solvers/fused/enqueued_loops.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/fused/ops.hpp"

#include <tuple>
#include <type_traits>

namespace tessera::cuda {

/// An operation on the state of a solve alone.
template <class Op>
concept StateOperation = requires(const Op& op, typename Op::State& state) {
  op(state);
};

/// The functions that Loop, EnqueuedSolve, transform_reduce() and block_pass() call for an operation.
template <class Op>
[[nodiscard]] constexpr auto functions_of() {
  if constexpr (StateOperation<Op>) {
    return std::tuple{&StateOp<Op>::enqueue};
  } else if constexpr (std::is_base_of_v<fused::ScalarOp, Op>) {
    return std::tuple{&LoopOp<Op>::record};
  } else if constexpr (requires {
                         typename Op::State;
                         Op::combines;
                       }) {
    return std::tuple{&LoopBlock<Op>::record, &BlockPass<Op>::run};
  } else if constexpr (requires { Op::combines; }) {
    return std::tuple{&BlockPass<Op>::run};
  } else if constexpr (requires { typename Op::State; }) {
    return std::tuple{&LoopOp<Op>::record, &TransformReduce<fused::BoundOp<Op>>::run};
  } else {
    return std::tuple{&TransformReduce<Op>::run};
  }
}

/// Compiles the functions of all operations of a list: explicit instantiation stores their addresses.
template <class List>
struct Kernels;
template <class... Op>
struct Kernels<fused::OpList<Op...>> {
  static const decltype(std::tuple_cat(functions_of<Op>()...)) functions;
};
template <class... Op>
const decltype(std::tuple_cat(functions_of<Op>()...)) Kernels<fused::OpList<Op...>>::functions =
    std::tuple_cat(functions_of<Op>()...);

}  // namespace tessera::cuda
