/// \file
/// Kernel of both products of two-kernel CG by row templates. A thread has several rows; a gathered element is p, or
/// M r + β p where the direction is being formed. Uniform slices as in uniform_rows.cuh.
#pragma once

#include "core/cuda/prefetch.cuh"
#include "spmv/common/cg_product.hpp"
#include "spmv/patterns/uniform_rows.cuh"

namespace tessera::cuda {

/// a b, never contracted with a following addition: every row has to form the same bits for an element.
template <class T>
[[nodiscard]] __device__ T separate_product(T a, T b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == sizeof(double)) {
    return __dmul_rn(a, b);
  } else {
    return __fmul_rn(a, b);
  }
#else
  return a * b;
#endif
}

/// z = M r at a row. \tparam Diagonal whether M is a diagonal, else the identity
template <bool Diagonal, class T>
[[nodiscard]] __device__ T precondition(const T* diagonal, index_t row, T r) {
  if constexpr (Diagonal) {
    return separate_product(__ldg(diagonal + row), r);
  } else {
    return r;
  }
}

/// Elements of M r + β p. \tparam Diagonal as above
template <bool Diagonal, class T>
struct DirectionGather {
  const T* r;
  const T* p;
  const T* diagonal;
  T beta;

  __device__ T operator()(index_t column, int further) const {
    T z = __ldg(r + column + further);
    if constexpr (Diagonal) z = separate_product(__ldg(diagonal + column + further), z);
    return z + beta * __ldg(p + column + further);
  }
};

/// The first product, whose pointers are chosen without an index, which would take memory: see
/// CgProduct::enqueue_direction().
template <bool Diagonal, class T>
struct DirectionStep {
  const T* r;
  const T* p;
  const T* diagonal;
  T* next_p;
  T* x;
  T* kept;  ///< null where x is not to be kept
  T alpha;
  T beta;

  __device__ DirectionStep(const CgVectors<T>& v, const CgScalars& s)
      : r(v.r),
        p(s.current == 0 ? v.p[0] : v.p[1]),
        diagonal(v.diagonal),
        next_p(s.current == 0 ? v.p[1] : v.p[0]),
        x(v.x),
        kept(s.keep != 0 ? v.kept : nullptr),
        alpha(s.x_is_behind != 0 ? static_cast<T>(s.alpha) : T{0}),
        beta(static_cast<T>(s.beta)) {}

  [[nodiscard]] __device__ DirectionGather<Diagonal, T> gather(index_t row) const {
    return {base_at(r, row), base_at(p, row), Diagonal ? base_at(diagonal, row) : nullptr, beta};
  }
  /// What is read once, under way before the gathers.
  [[nodiscard]] __device__ T early(index_t row) const { return x[row]; }
  /// What is read again behind the gathers, from the first-level cache.
  struct Late {
    T p;
    T direction;
  };
  [[nodiscard]] __device__ Late late(index_t row) const { return {__ldg(p + row), gather(row)(0, 0)}; }
  /// What is read of rows for the first time, but for M.
  template <int Rows>
  __device__ void prefetch(index_t row) const {
    prefetch_by_warp<Rows>(base_at(r, row));
    prefetch_by_warp<Rows>(base_at(p, row));
    prefetch_by_warp<Rows>(base_at(x, row));
  }
  __device__ void store(index_t row, T old_x, const Late& own, T q, CgSums& sums) const {
    const T solution = old_x + alpha * own.p;
    const T direction = own.direction;
    x[row] = solution;
    if (kept != nullptr) kept[row] = solution;
    next_p[row] = direction;
    const auto wide_p = static_cast<double>(direction);
    const auto wide_q = static_cast<double>(q);
    sums.first += wide_p * wide_q;
    sums.second += wide_q * wide_q;
    sums.third += wide_p * wide_p;
  }
};

/// The second: see CgProduct::enqueue_residual().
template <bool Diagonal, class T>
struct ResidualStep {
  T* r;
  const T* p;
  const T* diagonal;
  T alpha;

  __device__ ResidualStep(const CgVectors<T>& v, const CgScalars& s)
      : r(v.r), p(s.current == 0 ? v.p[0] : v.p[1]), diagonal(v.diagonal), alpha(static_cast<T>(s.alpha)) {}

  [[nodiscard]] __device__ VectorGather<T> gather(index_t row) const { return {p, row}; }
  [[nodiscard]] __device__ T early(index_t row) const { return r[row]; }
  struct Late {};
  [[nodiscard]] __device__ Late late(index_t /*row*/) const { return {}; }
  template <int Rows>
  __device__ void prefetch(index_t row) const {
    prefetch_by_warp<Rows>(base_at(r, row));
    prefetch_by_warp<Rows>(base_at(p, row));
  }
  __device__ void store(index_t row, T old_r, const Late& /*own*/, T q, CgSums& sums) const {
    const T residual = old_r - alpha * q;
    r[row] = residual;
    const auto wide = static_cast<double>(residual);
    sums.first += wide * wide;
    sums.second += wide * static_cast<double>(precondition<Diagonal>(diagonal, row, residual));
  }
};

/// Whether a warp prefetches the vectors of one that follows: measured with 5 terms, whose kernel shorter lists share
/// (H200: an iteration of CG takes .498 ms instead of .532).
template <class Chunk>
inline constexpr bool prefetches_vectors = Chunk::terms <= 5;

/// Rows on the list of uniform rows and its sub-lists. \returns whether the slice has no others
template <class Chunk, class Step, class T>
[[nodiscard]] __device__ bool step_uniform_slice(const PatternRows& p, const RowStencil<T>& list, const Step& step,
                                                 unsigned slice, CgSums& sums) {
  constexpr int R = Chunk::rows;
  if constexpr (prefetches_vectors<Chunk>) {
    const unsigned ahead = slice + p.slices_ahead;
    if (ahead < p.whole_slices) {
      step.template prefetch<warp_size * R>(static_cast<index_t>(ahead * (warp_size * R)));
    }
  }
  if (!list.interior.has(slice)) return false;
  const auto first = static_cast<index_t>(slice * (warp_size * R) + threadIdx.x % warp_size);
  T early[R];
#pragma unroll
  for (int r = 0; r < R; ++r) early[r] = step.early(first + r * warp_size);
  int code[R];
  T q[R] = {};
  if (!add_uniform_rows<Chunk>(p, list, slice, ListWeights{}, step.gather(first), code, q)) return false;
  typename Step::Late late[R];
#pragma unroll
  for (int r = 0; r < R; ++r) late[r] = step.late(first + r * warp_size);
#pragma unroll
  for (int r = 0; r < R; ++r) step.store(first + r * warp_size, early[r], late[r], q[r], sums);
  return true;
}

/// Rows of any lists. \param values of them
template <class Chunk, class Step, class T>
__device__ void step_slice(const PatternRows& p, const T* values, const Step& step, unsigned slice, CgSums& sums) {
  constexpr int R = Chunk::rows;
  RowsOfLane<R> own;
  load_codes(p, slice, own.code);
  look_up<R>(p, p.table, slice, own);
  const auto gather = step.gather(0);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    if (own.code[r] == p.lists) continue;
    const index_t row = own.first + r * warp_size;
    const T early = step.early(row);
    T q{0};
    for (int k = 0; k < own.length[r]; ++k) {
      q += values[own.code[r] * p.width + k] * gather(row + p.table[own.start[r] + 1 + k], 0);
    }
    step.store(row, early, step.late(row), q, sums);
  }
}

template <class Chunk, class Step, class T>
__global__ void __launch_bounds__(pattern_threads, uniform_min_blocks(sizeof(T) * Chunk::terms * Chunk::rows, false))
    template_cg_kernel(PatternRows p, const T* list_values, RowStencil<T> list, CgVectors<T> vectors,
                       const CgScalars* scalars, const std::int32_t* halted, CgSums* of_block) {
  const unsigned slice = list.order.slice(blockIdx.x, threadIdx.x / warp_size);
  const CgScalars now = *scalars;
  if (*halted != 0) return;
  const Step step(vectors, now);
  CgSums sums;
  if (slice < p.slices && !step_uniform_slice<Chunk>(p, list, step, slice, sums)) {
    step_slice<Chunk>(p, list_values, step, slice, sums);
  }
  sums = add_up_block<pattern_threads>(sums);
  if (threadIdx.x == 0) of_block[blockIdx.x] = sums;
}

}  // namespace tessera::cuda
