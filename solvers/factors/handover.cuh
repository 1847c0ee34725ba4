/// \file
/// Values that rows hand to each other inside one kernel, each its own flag: its place holds a NaN that no result takes
/// until it comes (synchronization-free substitution: W. Liu, A. Li, J. Hogg, I. S. Duff, B. Vinter, Euro-Par 2016,
/// whose flags are counters). Rows are numbered so that each needs earlier ones alone, and warps that run take them in
/// that order: the first row that is not done always proceeds.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/relaxed.cuh"
#include "tessera/array.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tessera::cuda {

template <class T>
using ValueBits = std::conditional_t<sizeof(T) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;

/// The bits of a value that has not come. Every byte is 0xff, so that memory is filled with it by cudaMemsetAsync().
inline constexpr int absent_byte = 0xff;
template <class T>
inline constexpr ValueBits<T> absent = ~ValueBits<T>{0};

template <class T>
[[nodiscard]] __device__ T value_of(ValueBits<T> bits) {
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
[[nodiscard]] __device__ ValueBits<T> peek(const T* address) {
  return load_relaxed(reinterpret_cast<const ValueBits<T>*>(address));
}

/// Stores a value for those who wait for it. NaN becomes the quiet NaN without payload.
template <class T>
__device__ void hand_over(T* address, T value) {
  constexpr ValueBits<T> nan = sizeof(T) == sizeof(double) ? static_cast<ValueBits<T>>(0x7ff8000000000000)
                                                           : static_cast<ValueBits<T>>(0x7fc00000);
  ValueBits<T> bits = nan;
  if (value == value) memcpy(&bits, &value, sizeof(T));
  store_relaxed(reinterpret_cast<ValueBits<T>*>(address), bits);
}

/// Marks a value as not come.
template <class T>
__device__ void take_back(T* address) {
  *reinterpret_cast<ValueBits<T>*>(address) = absent<T>;
}

/// Marks all values of an array as not come, in the stream. \throws CudaError
template <class T>
void take_back_all(const Context& context, Array<T>& values) {
  if (values.empty()) return;
  check(cudaMemsetAsync(values.data(), absent_byte, values.bytes(), context.stream()), "marking values as not come");
}

/// The value at an address once it has come; 0 in lanes that do not ask. All lanes of the warp must call, and all wait.
template <class T>
[[nodiscard]] __device__ T wait_for(bool asks, const T* address) {
  ValueBits<T> bits = asks ? absent<T> : 0;
  for (;;) {
    if (bits == absent<T>) bits = peek(address);
    const bool is_missing = bits == absent<T>;
    if (!__any_sync(full_warp, is_missing)) return value_of<T>(bits);
    if (is_missing) let_others_run();
  }
}

/// Numbers 0, 1, 2, ... of a counter in device memory, each for one warp. The next one is on its way while the warp
/// works on one.
class WarpTickets {
 public:
  __device__ explicit WarpTickets(unsigned* counter) : counter_(counter) { ask(); }
  /// All lanes must call.
  [[nodiscard]] __device__ unsigned take() {
    const unsigned number = __shfl_sync(full_warp, asked_, 0);
    ask();
    return number;
  }

 private:
  __device__ void ask() {
    if (threadIdx.x % warp_size == 0) asked_ = atomicAdd(counter_, 1u);
  }

  unsigned* counter_;
  unsigned asked_ = 0;
};

}  // namespace tessera::cuda
