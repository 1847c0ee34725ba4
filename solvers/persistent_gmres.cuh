/// \file
/// GMRES (solvers/gmres.cpp) by the blocks of one kernel, for a diagonal M. A block has its rows of the basis to
/// itself, in the caches.
///
/// A step, with the reductions of all blocks:
///   w = A z, or M A z;  v = v - V d         reduction: <w, w>, <z, z>, Vᵀ w
///   w = w - V h                             reduction: <w, w>, Vᵀ w, and w of the halos
///   a column of R;  v = w / ‖w - V h'‖,  z = M v, also in the halo, which so never is read from others
#pragma once

#include "solvers/fused/block_kernels.cuh"
#include "solvers/gmres.hpp"
#include "solvers/persistent/basis_sums.cuh"
#include "solvers/persistent/persistent_block.cuh"
#include "solvers/persistent_kernel.hpp"

namespace tessera::cuda {

/// Sums beside those of the columns.
inline constexpr int more_sums_of_gmres = 2;

template <class T>
struct GmresSpace : PersistentSpace<T, detail::GmresState> {
  T* z;
  T* w_of_halo;
  T* diagonal;  ///< of M, extended
  T* w;
  detail::GmresScalars scalars;
  double* of_warps;  ///< most_sums each
  double* own;
  double* total;
  int most_sums;

  TESSERA_HOST_DEVICE GmresSpace(unsigned char* base, const PartSize& most, int directions)
      : PersistentSpace<T, detail::GmresState>(base, most),
        z(this->multiplied()),
        w_of_halo(this->halo()),
        diagonal(this->extended()),
        w(this->own_rows()),
        scalars{doubles(detail::GmresScalars::size(directions)), directions},
        of_warps(doubles(std::int64_t{most_warps} * (directions + more_sums_of_gmres))),
        own(doubles(directions + more_sums_of_gmres)),
        total(doubles(directions + more_sums_of_gmres)),
        most_sums(directions + more_sums_of_gmres) {}

 private:
  [[nodiscard]] TESSERA_HOST_DEVICE double* doubles(std::int64_t count) {
    return this->space.template take<double>(static_cast<std::size_t>(count));
  }
};

template <class T, int Lanes>
class GmresBlock : PersistentBlock<T, detail::GmresState, GmresSpace<T>, Lanes> {
  using Base = PersistentBlock<T, detail::GmresState, GmresSpace<T>, Lanes>;
  using Base::part;
  using Base::reduction_;
  using Base::space_;
  using Base::state;

 public:
  using M = fused::FusedDiagonal<T>;

  __device__ GmresBlock(const PersistentTask<T>& task, const PersistentGmresVectors<T>& vectors,
                        detail::GmresState* state)
      : Base(task, state, vectors.directions), global_(vectors), sums_(vectors.words, space_.most_sums) {}

  __device__ void run() {
    load();
    bool norm_is_known = true;
    while (!state().halted()) {
      project(norm_is_known);
      if (state().halted()) break;
      orthogonalize();
      if (state().halted()) break;
      extend();
      norm_is_known = false;
      if (!this->run_is_over()) continue;
      find_norm();
      break;
    }
    store();
  }

 private:
  static constexpr int at_once = columns_at_once;

  [[nodiscard]] __device__ T* column(int k) const { return global_.v.column(k) + part().first; }
  [[nodiscard]] __device__ int warp() const { return static_cast<int>(threadIdx.x) / warp_size; }
  [[nodiscard]] __device__ int lane() const { return static_cast<int>(threadIdx.x) % warp_size; }

  __device__ void load() {
    this->load_part();
    for_each_index(0, part().extended(), [&](std::int32_t i) {
      const index_t row = part().row(i);
      space_.diagonal[i] = element_or(global_.diagonal, row, T{1});
      space_.z[i] = global_.z[row];
    });
    for_each_index(0, static_cast<std::int32_t>(detail::GmresScalars::size(global_.directions)),
                   [&](std::int32_t k) { space_.scalars.memory[k] = global_.scalars[k]; });
    __syncthreads();
    this->load_registers(space_.z);
    __syncthreads();
  }

  /// w = A z, or M A z,  v = v - V d,  ‖w‖,  h = Vᵀ w
  __device__ void project(bool norm_is_known) {
    const int columns = state().columns;
    clear_sums(columns + more_sums_of_gmres);
    double squares = 0.0;
    Base::multiply(space_.z, [&](std::int32_t i, T q) {
      const T w = global_.is_left ? M{space_.diagonal}(space_.diagonal[i], q) : q;
      space_.w[i] = w;
      squares += static_cast<double>(w) * static_cast<double>(w);
    });
    __syncthreads();
    for_each_row([&](std::int32_t i, bool is_row) { complete_and_project(i, is_row, columns); });
    add_sum(columns, squares);
    add_sum(columns + 1, z_squares_);
    reduce(columns + more_sums_of_gmres, [](std::uint64_t /*number*/, const Share& /*share*/) {});
    for_each_index(0, columns, [&](std::int32_t k) { space_.scalars.first()[k] = space_.total[k]; });
    if (threadIdx.x == 0) {
      if (!norm_is_known) note_norm(space_.total[columns + 1]);
      if (!state().halted()) begin_step(space_.total[columns]);
    }
    __syncthreads();
  }

  /// The scalars before a projection.
  __device__ void begin_step(double squares) const {
    if (global_.is_left) {
      const detail::GmresPreconditionAndProject<T> op{};
      op.scalars_before(state());
      op.scalars_after(state(), squares);
    } else {
      state().dots = {0.0, squares};
      const detail::GmresProject<T> op{.counts = global_.counts};
      op.scalars_before(state());
    }
  }

  /// The last column at a row, and inner products of w with all.
  __device__ void complete_and_project(std::int32_t i, bool is_row, int columns) {
    const int others = columns - 1;
    const T w = is_row ? space_.w[i] : T{0};
    T combination{0};
    for (int k = 0; k < others; k += at_once) {
      T entry[at_once];
      load_row(i, k, others, entry);
#pragma unroll
      for (int c = 0; c < at_once; ++c) {
        if (k + c < others) combination += static_cast<T>(space_.scalars.second()[k + c]) * entry[c];
      }
      add_products(k, others, entry, w);
    }
    const detail::GmresSecondPass<T> pass{{column(0), global_.v.stride}};
    const T last = is_row ? pass.complete(i, combination, pass.scalars(state())) : T{0};
    add_sum(others, static_cast<double>(last) * static_cast<double>(w));
  }

  /// w = w - V h,  h' = Vᵀ w,  handed over,  a column of R
  __device__ void orthogonalize() {
    const int columns = state().columns;
    const std::int64_t before = state().iteration;
    clear_sums(columns + 1);
    double squares = 0.0;
    for_each_row([&](std::int32_t i, bool is_row) {
      T combination{0};
      for (int k = 0; k < columns; k += at_once) {
        T entry[at_once];
        load_row(i, k, columns, entry);
#pragma unroll
        for (int c = 0; c < at_once; ++c) {
          if (k + c < columns) combination += static_cast<T>(space_.scalars.first()[k + c]) * entry[c];
        }
      }
      const T rest = is_row ? space_.w[i] - combination : T{0};
      if (is_row) {
        space_.w[i] = rest;
        this->give(i, rest, 0);
      }
      squares += static_cast<double>(rest) * static_cast<double>(rest);
      for (int k = 0; k < columns; k += at_once) {
        T entry[at_once];
        load_row(i, k, columns, entry);
        add_products(k, columns, entry, rest);
      }
    });
    add_sum(columns, squares);
    reduce(columns + 1,
           [&](std::uint64_t number, const Share& share) { this->take_over_halo(space_.w_of_halo, 0, number, share); });
    for_each_index(0, columns, [&](std::int32_t k) { space_.scalars.second()[k] = space_.total[k]; });
    __syncthreads();
    if (threadIdx.x == 0) space_.scalars.append_column(state(), space_.total[columns]);
    __syncthreads();
    this->record_iteration(before);
  }

  /// v = w / ‖w - V h'‖,  z = M v
  __device__ void extend() {
    const double inverse = 1.0 / state().remainder;
    T* const next = column(state().columns);
    const auto image = [&](std::int32_t i, T v) {
      return global_.is_left ? v : M{space_.diagonal}(space_.diagonal[i], v);
    };
    z_squares_ = 0.0;
    for_each_index(0, part().rows(), [&](std::int32_t i) {
      const T v = static_cast<T>(static_cast<double>(space_.w[i]) * inverse);
      const T z = image(i, v);
      next[i] = v;
      space_.z[i] = z;
      z_squares_ += static_cast<double>(z) * static_cast<double>(z);
    });
    for_each_index(0, part().halo(), [&](std::int32_t i) {
      const T v = static_cast<T>(static_cast<double>(space_.w_of_halo[i]) * inverse);
      space_.z[part().rows() + i] = image(part().rows() + i, v);
    });
    __syncthreads();
    if (threadIdx.x == 0) ++state().columns;
    __syncthreads();
  }

  __device__ void note_norm(double squares) const {
    state().z_norm = std::sqrt(squares);
    if (!state().fits(state().z_norm)) state().break_down(Breakdown::not_finite, state().z_norm);
  }

  /// ‖z‖ at the end of a run, which the next projection would find.
  __device__ void find_norm() {
    reduction_.all_reduce(
        {z_squares_}, [](std::uint64_t /*number*/, const Share& /*share*/) {},
        [&](const double(&sum)[1]) { note_norm(sum[0]); });
  }

  __device__ void store() const {
    this->store_vector(global_.z, space_.z);
    if (blockIdx.x == 0) {
      for_each_index(0, static_cast<std::int32_t>(detail::GmresScalars::size(global_.directions)),
                     [&](std::int32_t k) { global_.scalars[k] = space_.scalars.memory[k]; });
    }
    this->store_state();
  }

  // Sums of the block: every warp has its own.

  /// Calls body(i, whether row i is that of the thread), by whole warps; beyond the last row i is that one.
  template <class Body>
  __device__ void for_each_row(const Body& body) const {
    for (std::int32_t base = 0; base < part().rows(); base += static_cast<std::int32_t>(blockDim.x)) {
      const std::int32_t i = base + static_cast<std::int32_t>(threadIdx.x);
      body(i < part().rows() ? i : part().rows() - 1, i < part().rows());
    }
  }

  /// Row i of columns `first` on, before `end`; beyond, of the last one.
  __device__ void load_row(std::int32_t i, int first, int end, T (&entry)[at_once]) const {
#pragma unroll
    for (int c = 0; c < at_once; ++c) entry[c] = column(first + c < end ? first + c : end - 1)[i];
  }

  __device__ void clear_sums(int count) const {
    for (int k = lane(); k < count; k += warp_size) space_.of_warps[warp() * space_.most_sums + k] = 0.0;
    __syncwarp();
  }

  /// By whole warps.
  __device__ void add_sum(int k, double own) const {
    const double sum = add_up_warp(own);
    if (lane() == 0) space_.of_warps[warp() * space_.most_sums + k] += sum;
    __syncwarp();
  }

  /// Of w with columns `first` on, before `end`.
  __device__ void add_products(int first, int end, const T (&entry)[at_once], T w) const {
    double term[at_once];
#pragma unroll
    for (int c = 0; c < at_once; ++c) term[c] = static_cast<double>(entry[c]) * static_cast<double>(w);
    const double sum = add_up_eight(term);
    const int own = first + lane() / (warp_size / at_once);
    if (lane() % (warp_size / at_once) == 0 && own < end) space_.of_warps[warp() * space_.most_sums + own] += sum;
    __syncwarp();
  }

  /// Over the warps, then over the blocks, into `total`.
  template <class Meanwhile>
  __device__ void reduce(int count, const Meanwhile& meanwhile) {
    __syncthreads();
    for_each_index(0, count, [&](std::int32_t k) {
      double sum = 0.0;
      for (int other = 0; other < static_cast<int>(blockDim.x) / warp_size; ++other) {
        sum += space_.of_warps[other * space_.most_sums + k];
      }
      space_.own[k] = sum;
    });
    __syncthreads();
    sums_.all_reduce(space_.own, space_.total, count, reduction_.advance(), meanwhile);
  }

  const PersistentGmresVectors<T>& global_;
  BasisSums sums_;
  double z_squares_ = 0.0;  ///< of the thread
};

}  // namespace tessera::cuda
