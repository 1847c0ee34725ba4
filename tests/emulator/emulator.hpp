#pragma once
#include <cstdint>
#include <cstring>
#include <cstdlib>
#include <cstdio>
#include <cmath>
#include <functional>
#include <string>
#define __CUDACC_EMU__ 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
struct Dim3 { unsigned x=1,y=1,z=1; };
namespace emu {
extern Dim3 thread_idx, block_idx, block_dim, grid_dim;
void warp_barrier();
void block_barrier(); void pause();
extern std::uint64_t slots[4096];   // per thread exchange slot
extern unsigned char* dynamic_shared;
unsigned lane(); unsigned warp_base();
void run_grid(unsigned blocks, int threads, std::size_t shared, const std::function<void()>& body, const char* name);
template <class T> T exchange(T v, unsigned src_lane_in_warp) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t raw = 0; std::memcpy(&raw, &v, sizeof(T));
  slots[thread_idx.x] = raw; warp_barrier();
  std::uint64_t got = slots[warp_base() + src_lane_in_warp]; warp_barrier();
  T r; std::memcpy(&r, &got, sizeof(T)); return r;
}
template <class F> unsigned fold(unsigned v, F f, unsigned init) {
  slots[thread_idx.x] = v; warp_barrier(); unsigned r = init;
  for (unsigned i = 0; i < 32; ++i) r = f(r, static_cast<unsigned>(slots[warp_base()+i]), i);
  warp_barrier(); return r;
}
}
#define threadIdx ::emu::thread_idx
#define blockIdx ::emu::block_idx
#define blockDim ::emu::block_dim
#define gridDim ::emu::grid_dim
inline void __syncwarp(unsigned = ~0u) { emu::warp_barrier(); }
inline void __syncthreads() { emu::block_barrier(); }
int __syncthreads_count(int p);
template <class T> T __shfl_sync(unsigned, T v, int src) { return emu::exchange(v, static_cast<unsigned>(src) & 31u); }
template <class T> T __shfl_up_sync(unsigned, T v, unsigned d) { unsigned l = emu::lane(); return emu::exchange(v, l >= d ? l - d : l); }
template <class T> T __shfl_down_sync(unsigned, T v, unsigned d) { unsigned l = emu::lane(); return emu::exchange(v, l + d < 32 ? l + d : l); }
template <class T> T __shfl_xor_sync(unsigned, T v, int m) { return emu::exchange(v, emu::lane() ^ static_cast<unsigned>(m)); }
inline unsigned __ballot_sync(unsigned, int p) { return emu::fold(p != 0, [](unsigned r, unsigned v, unsigned i) { return r | (v ? 1u << i : 0u); }, 0); }
inline int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
inline int __reduce_max_sync(unsigned, int v) { return static_cast<int>(emu::fold(static_cast<unsigned>(v), [](unsigned r, unsigned x, unsigned) { return static_cast<int>(x) > static_cast<int>(r) ? x : r; }, 0x80000000u)); }
template <class T> T __ldcs(const T* p) { if (reinterpret_cast<std::uintptr_t>(p) % alignof(T)) { std::puts("MISALIGNED ldcs"); std::abort(); } return *p; }
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) { s &= 31; return static_cast<unsigned>(((static_cast<std::uint64_t>(hi) << 32) | lo) >> s); }
template <class T, class U> T atomicAdd(T* p, U v) { T old = *p; *p = static_cast<T>(old + v); return old; }
inline unsigned atomicOr(unsigned* p, unsigned v) { unsigned o = *p; *p |= v; return o; }
inline void __threadfence() {}
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
inline float4 make_float4(float a, float b, float c, float d) { return {a, b, c, d}; }
inline double2 make_double2(double a, double b) { return {a, b}; }
