/// \file
/// Registration of the operations on panels that run on a GPU. Included once by registration_cuda.cu, which compiles
/// their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/panel/panel.hpp"

#include <tuple>

namespace tessera::cuda {

/// Compiles the functions of all operations of a list: explicit instantiation stores their addresses.
template <class List>
struct PanelKernels;
template <class List>
struct PanelBlockKernels;
template <class... Op>
struct PanelKernels<fused::OpList<Op...>> {
  static const decltype(std::tuple{&PanelOp<Op>::record...}) functions;
};
template <class... Op>
const decltype(std::tuple{&PanelOp<Op>::record...}) PanelKernels<fused::OpList<Op...>>::functions = std::tuple{
    &PanelOp<Op>::record...};
template <class... Op>
struct PanelBlockKernels<fused::OpList<Op...>> {
  static const decltype(std::tuple{&PanelBlock<Op>::record...}) functions;
};
template <class... Op>
const decltype(std::tuple{&PanelBlock<Op>::record...}) PanelBlockKernels<fused::OpList<Op...>>::functions = std::tuple{
    &PanelBlock<Op>::record...};

template struct PanelKernels<fused::PanelOps<float>>;
template struct PanelKernels<fused::PanelOps<double>>;
template struct PanelKernels<fused::OpList<detail::BicgstabPreconditionedNorm, detail::GmresPreconditionedNorm>>;
template struct PanelBlockKernels<fused::PanelBlockOps<float>>;
template struct PanelBlockKernels<fused::PanelBlockOps<double>>;

template struct TransformReduce<fused::CopyStrided<float>>;
template struct TransformReduce<fused::CopyStrided<double>>;
template struct TransformReduce<fused::NarrowPanel<float>>;
template struct TransformReduce<fused::NarrowPanel<double>>;

}  // namespace tessera::cuda
