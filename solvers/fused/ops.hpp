/// \file
/// Operations: what happens to element i of some vectors, written once for the host and a GPU. This file has the
/// concepts, and the operations on plain vectors. Those of a method are in its own header.
///
/// An element operation is a small value: pointers to vectors on one device, scalars, and
///   using Sums;                              one of core/sums.hpp, double, ...
///   void operator()(i, Sums& sums) const;    updates element i, and element i only; adds its terms to the sums
/// transform_reduce() runs it.
///
/// A fused operation is an element operation of a loop. Its scalars come from the state of the loop:
///   using State, Sums;
///   struct Scalars, Loaded;
///   void    scalars_before(State&) const;              scalars that follow from the state so far; may halt the loop
///   Scalars scalars(const State&) const;               those that apply() needs, in the element type
///   Loaded  load(i) const;                             element i of the vectors, without any scalar: a GPU issues the
///                                                      first loads before the scalars are known
///   void    apply(i, Loaded, Scalars, Sums&) const;    updates element i and adds its terms to the sums
///   void    scalars_after(State&, const Sums&) const;  scalars that follow from the sums; may halt the loop
/// Loop::apply() runs it. scalars_before() and scalars_after() run on the host or on a GPU.
///
/// Every operation that is to run on a GPU is in the OpList at the end of its header. solvers/registration.hpp
/// registers the lists.
#pragma once

#include "core/power_of_two.hpp"
#include "core/sums.hpp"
#include "tessera/device.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::cuda {

/// The kernel of an element operation.
template <class Op>
struct TransformReduce {
  /// Waits for the sums, unless the operation only writes.
  /// \throws CudaError, OutOfMemory; DeviceUnavailable in a build without CUDA
  static typename Op::Sums run(const Device& device, std::int64_t n, const Op& op);
};

}  // namespace tessera::cuda

namespace tessera::fused {

using detail::FirstIndex;
using detail::Largest;
using detail::NoSum;
using detail::TwoSums;

/// Operations whose kernels are to be compiled.
template <class... Op>
struct OpList {};

/// A fused operation with its scalars, as an element operation.
template <class Op>
struct BoundOp {
  using Sums = typename Op::Sums;
  Op op;
  typename Op::Scalars scalars;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, Sums& sums) const { op.apply(i, op.load(i), scalars, sums); }
};

/// Base of an operation on scalars alone: scalars_before() is all that it does.
struct ScalarOp {
  using Sums = NoSum;
};

/// max |x_i|
template <class T>
struct LargestMagnitude {
  using Sums = Largest;
  const T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, Largest& largest) const {
    largest += Largest{std::abs(static_cast<double>(x[i]))};
  }
};

/// <x, y>
template <class T>
struct Dot {
  using Sums = double;
  const T* x;
  const T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
};

/// y = a x + y
template <class T>
struct Axpy {
  using Sums = NoSum;
  T a;
  const T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { y[i] += a * x[i]; }
};

/// x <-> y
template <class T>
struct Swap {
  using Sums = NoSum;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const T value = x[i];
    x[i] = y[i];
    y[i] = value;
  }
};

/// x = 2^e x; counts the elements that scaling back would not restore.
template <class T>
struct ScaleByPower {
  using Sums = std::int64_t;
  T* x;
  host::PowerOfTwo<T> scaled;
  host::PowerOfTwo<T> back;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, std::int64_t& changed) const {
    const T value = x[i];
    x[i] = scaled(value);
    changed += back(x[i]) == value ? 0 : 1;
  }
};

/// ‖2^e x‖₂²
template <class T>
struct ScaledSquares {
  using Sums = double;
  const T* x;
  host::PowerOfTwo<double> scaled;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    const double value = scaled(static_cast<double>(x[i]));
    sum += value * value;
  }
};

template <class T>
using VectorOps = OpList<LargestMagnitude<T>, Dot<T>, Axpy<T>, Swap<T>, ScaleByPower<T>, ScaledSquares<T>>;

}  // namespace tessera::fused
