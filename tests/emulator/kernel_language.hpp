/// \file
/// The language extensions of CUDA C++ that the kernels use, for g++, which compiles the .cu files against the
/// emulator.
#pragma once

#include "tests/emulator/grid.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

// One block runs at a time, so its variables may be static. The linker puts them in one place (shared_variables.ld).
#define __shared__ static

struct uint3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};
struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

/// Of the thread that runs.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;

namespace tessera::emulator {

template <class T>
[[nodiscard]] std::uint64_t to_bits(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
[[nodiscard]] T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// The value of another lane. \param lane below 32
template <class T>
[[nodiscard]] T shuffle_from(unsigned mask, const T& value, unsigned lane) {
  return from_bits<T>(gather_warp(mask, Meeting::shuffle, to_bits(value))[lane]);
}

/// First lane of the group of `width` lanes that contains this lane.
[[nodiscard]] inline unsigned group_begin(int width) { return lane_of_thread() & ~(static_cast<unsigned>(width) - 1); }

/// Loads and atomics of a GPU refuse other addresses.
template <class T>
void require_aligned(const T* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignof(T) != 0) fail("access to a misaligned address");
}

template <class T>
[[nodiscard]] T load(const T* address) {
  require_aligned(address);
  return *address;
}

/// Threads switch only at barriers, so this is atomic.
template <class T>
T add_to(T* address, T value) {
  require_aligned(address);
  const T before = *address;
  *address = before + value;
  return before;
}

template <class T>
T or_into(T* address, T value) {
  require_aligned(address);
  const T before = *address;
  *address = before | value;
  return before;
}

template <class T>
T raise_to(T* address, T value) {
  require_aligned(address);
  const T before = *address;
  if (before < value) *address = value;
  return before;
}

template <class T>
T lower_to(T* address, T value) {
  require_aligned(address);
  const T before = *address;
  if (value < before) *address = value;
  return before;
}

template <class T>
T exchange_if(T* address, T expected, T value) {
  require_aligned(address);
  const T before = *address;
  if (before == expected) *address = value;
  return before;
}

}  // namespace tessera::emulator

// Barriers and votes.

inline void __syncthreads() { tessera::emulator::meet_block(); }
inline int __syncthreads_count(int predicate) { return tessera::emulator::count_block(predicate != 0); }
inline void __syncwarp(unsigned mask = ~0U) { tessera::emulator::meet_warp(mask, tessera::emulator::Meeting::sync); }
inline void __threadfence() {}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  using namespace tessera::emulator;
  const std::uint64_t* const given = gather_warp(mask, Meeting::vote, predicate != 0 ? 1 : 0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) votes |= static_cast<unsigned>(given[lane]) << lane;
  return votes;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }

template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
  using namespace tessera::emulator;
  const std::uint64_t* const given = gather_warp(mask, Meeting::match, to_bits(value));
  unsigned same = 0;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if ((mask >> lane & 1U) != 0 && given[lane] == to_bits(value)) same |= 1U << lane;
  }
  return same;
}

/// All values of a warp's lanes that take part, combined one after the other.
template <class Combine>
unsigned reduce_lanes(unsigned mask, tessera::emulator::Meeting meeting, unsigned value, Combine combine) {
  using namespace tessera::emulator;
  const std::uint64_t* const given = gather_warp(mask, meeting, to_bits(value));
  unsigned result = 0;
  bool first = true;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const auto other = from_bits<unsigned>(given[lane]);
    result = first ? other : combine(result, other);
    first = false;
  }
  return result;
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return reduce_lanes(mask, tessera::emulator::Meeting::sum, value, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return reduce_lanes(mask, tessera::emulator::Meeting::maximum, value,
                      [](unsigned a, unsigned b) { return a < b ? b : a; });
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return reduce_lanes(mask, tessera::emulator::Meeting::minimum, value,
                      [](unsigned a, unsigned b) { return a < b ? a : b; });
}
inline int __reduce_max_sync(unsigned mask, int value) {
  using namespace tessera::emulator;
  const std::uint64_t* const given = gather_warp(mask, Meeting::maximum, to_bits(value));
  int largest = value;
  for (unsigned lane = 0; lane < warp_lanes; ++lane) {
    const int other = from_bits<int>(given[lane]);
    if (other > largest) largest = other;
  }
  return largest;
}

// Shuffles.

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const unsigned in_group = static_cast<unsigned>(source) & (static_cast<unsigned>(width) - 1);
  return tessera::emulator::shuffle_from(mask, value, tessera::emulator::group_begin(width) + in_group);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const unsigned lane = tessera::emulator::lane_of_thread();
  const bool inside = lane >= tessera::emulator::group_begin(width) + distance;
  return tessera::emulator::shuffle_from(mask, value, inside ? lane - distance : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
  const unsigned lane = tessera::emulator::lane_of_thread();
  const bool inside = lane + distance < tessera::emulator::group_begin(width) + static_cast<unsigned>(width);
  return tessera::emulator::shuffle_from(mask, value, inside ? lane + distance : lane);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  const unsigned lane = tessera::emulator::lane_of_thread();
  return tessera::emulator::shuffle_from(mask, value, (lane ^ static_cast<unsigned>(lanes)) % 32);
}

// Memory.

template <class T>
T __ldcs(const T* address) {
  return tessera::emulator::load(address);
}
template <class T>
T __ldg(const T* address) {
  return tessera::emulator::load(address);
}
template <class T>
T __ldcg(const T* address) {
  return tessera::emulator::load(address);
}

inline int atomicAdd(int* address, int value) { return tessera::emulator::add_to(address, value); }
inline unsigned atomicAdd(unsigned* address, unsigned value) { return tessera::emulator::add_to(address, value); }
inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return tessera::emulator::add_to(address, value);
}
inline float atomicAdd(float* address, float value) { return tessera::emulator::add_to(address, value); }
inline double atomicAdd(double* address, double value) { return tessera::emulator::add_to(address, value); }
inline unsigned atomicMax(unsigned* address, unsigned value) { return tessera::emulator::raise_to(address, value); }
inline int atomicMax(int* address, int value) { return tessera::emulator::raise_to(address, value); }
inline int atomicMin(int* address, int value) { return tessera::emulator::lower_to(address, value); }
inline int atomicCAS(int* address, int expected, int value) {
  return tessera::emulator::exchange_if(address, expected, value);
}
inline unsigned atomicCAS(unsigned* address, unsigned expected, unsigned value) {
  return tessera::emulator::exchange_if(address, expected, value);
}
inline unsigned long long atomicCAS(unsigned long long* address, unsigned long long expected,
                                    unsigned long long value) {
  return tessera::emulator::exchange_if(address, expected, value);
}
inline unsigned atomicOr(unsigned* address, unsigned value) { return tessera::emulator::or_into(address, value); }
inline unsigned long long atomicOr(unsigned long long* address, unsigned long long value) {
  return tessera::emulator::or_into(address, value);
}

// Arithmetic that is never contracted: built without fused multiply-add.

inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __fadd_rn(float a, float b) { return a + b; }

inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }

// Bits.

inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Product = unsigned __int128;
  return static_cast<unsigned long long>(Product{a} * b >> 64);
}
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
/// The larger one of every pair of bytes.
inline unsigned __vmaxu4(unsigned a, unsigned b) {
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const unsigned one = a >> shift & 255;
    const unsigned other = b >> shift & 255;
    result |= (one < other ? other : one) << shift;
  }
  return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t both = std::uint64_t{high} << 32 | low;
  return static_cast<unsigned>(both >> (shift % 32));
}
