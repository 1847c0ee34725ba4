/// \file
/// BiCGSTAB (solvers/bicgstab.cpp) by the blocks of one kernel.
///
/// An iteration, with the reductions of all blocks:
///   p = r + β (p - ω v),  p̂ = M p,  v = A p̂   reduction: <r̂, v>, <v, v>, <p̂, p̂>, and v of the halos
///   s = r - α v,  ŝ = M s,  t = A ŝ           reduction: <s, t>, <t, t>, <s, s>, <ŝ, ŝ>, and t of the halos
///   x = x + α p̂ + ω ŝ,  r = s - ω t           reduction: <r, r>, <r̂, r>
/// p, s and r of the halo are formed as the blocks that own them do. t is formed before ‖s‖ is tested: one product in
/// vain where s is the residual of the solution.
#pragma once

#include "solvers/bicgstab.hpp"
#include "solvers/persistent/part_in_shared_memory.cuh"
#include "solvers/persistent_kernel.hpp"

namespace tessera::cuda {

/// Shared memory of a block. Vectors are extended where nothing else is said.
template <class T>
struct BicgstabSpace {
  SharedSpace space;
  GridReduction::TempStorage* temp_storage;
  detail::BicgstabState* state;
  SharedPart<T> part;
  T* diagonal;
  T* p;
  T* r;  ///< or s
  T* v;
  T* t;
  T* p_hat;
  T* s_hat;
  T* x;       ///< own rows alone
  T* shadow;  ///< own rows alone

  TESSERA_HOST_DEVICE BicgstabSpace(unsigned char* base, const PartSize& most)
      : space(base),
        temp_storage(space.take<GridReduction::TempStorage>(1)),
        state(space.take<detail::BicgstabState>(1)),
        part(space, most),
        diagonal(extended(most)),
        p(extended(most)),
        r(extended(most)),
        v(extended(most)),
        t(extended(most)),
        p_hat(extended(most)),
        s_hat(extended(most)),
        x(space.take<T>(static_cast<std::size_t>(most.rows))),
        shadow(space.take<T>(static_cast<std::size_t>(most.rows))) {}

 private:
  [[nodiscard]] TESSERA_HOST_DEVICE T* extended(const PartSize& most) {
    return space.take<T>(static_cast<std::size_t>(most.rows + most.halo));
  }
};

template <class T, int Lanes>
class BicgstabBlock {
 public:
  using M = fused::FusedDiagonal<T>;

  __device__ BicgstabBlock(const PersistentTask<T>& task, const PersistentBicgstabVectors<T>& vectors,
                           detail::BicgstabState* state)
      : task_(task),
        global_(vectors),
        global_state_(state),
        space_(dynamic_shared_memory(), task.most),
        reduction_(task.words, task.number, *space_.temp_storage) {}

  __device__ void run() {
    load();
    while (!state().halted()) {
      if (!begin_iteration()) break;
      multiply_p_hat();
      if (state().halted()) break;
      multiply_s_hat();
      if (state().halted()) break;
      update_solution();
      if (state().iteration >= task_.control->pause_at) break;
    }
    store();
  }

 private:
  [[nodiscard]] __device__ detail::BicgstabState& state() const { return *space_.state; }
  [[nodiscard]] __device__ SharedPart<T>& part() { return space_.part; }
  [[nodiscard]] __device__ detail::BicgstabUpdateDirection<T, M> direction_update() const {
    return {.is_fused = true,
            .counts = global_.counts,
            .m = {space_.diagonal},
            .r = space_.r,
            .v = space_.v,
            .p = space_.p,
            .p_hat = space_.p_hat};
  }
  [[nodiscard]] __device__ detail::BicgstabUpdateS<T, M> s_update() const {
    return {.is_fused = true,
            .counts = global_.counts,
            .m = {space_.diagonal},
            .v = space_.v,
            .s = space_.r,
            .s_hat = space_.s_hat};
  }
  [[nodiscard]] __device__ detail::BicgstabUpdateSolutionAndResidual<T> solution_update() const {
    return {.p_hat = space_.p_hat,
            .s_hat = space_.s_hat,
            .shadow = space_.shadow,
            .t = space_.t,
            .x = space_.x,
            .r = space_.r,
            .kept = global_.kept + space_.part.first};
  }

  __device__ void load() {
    part().load(task_);
    copy_state(space_.state, global_state_);
    for_each_index(0, part().rows, [&](std::int32_t i) {
      space_.x[i] = global_.x[part().row(i)];
      space_.shadow[i] = global_.shadow[part().row(i)];
    });
    for_each_index(0, part().extended(), [&](std::int32_t i) {
      const index_t row = part().row(i);
      space_.diagonal[i] = element_or(global_.diagonal, row, T{1});
      space_.p[i] = global_.p[row];
      space_.r[i] = global_.r[row];
      space_.v[i] = global_.v[row];
    });
    __syncthreads();
  }

  /// p = r + β (p - ω v),  p̂ = M p \returns false after a breakdown
  __device__ bool begin_iteration() {
    const auto update = direction_update();
    if (threadIdx.x == 0) update.scalars_before(state());
    __syncthreads();
    if (state().halted()) return false;
    const auto scalars = update.scalars(state());
    double unused = 0.0;
    for_each_index(0, part().extended(), [&](std::int32_t i) { update.apply(i, update.load(i), scalars, unused); });
    __syncthreads();
    return true;
  }

  /// v = A p̂, handed over,  α
  __device__ void multiply_p_hat() {
    double sums[3] = {};
    part().template multiply<Lanes>(space_.p_hat, [&](std::int32_t i, T v) {
      const auto of_v = static_cast<double>(v);
      const auto of_p = static_cast<double>(space_.p_hat[i]);
      give(space_.v, i, v, 0);
      sums[0] += static_cast<double>(space_.shadow[i]) * of_v;
      sums[1] += of_v * of_v;
      sums[2] += of_p * of_p;
    });
    reduction_.all_reduce(
        sums, [&](std::uint64_t now) { take_over_halo(space_.v, 0, now); },
        [&](const double(&sum)[3]) {
          direction_update().scalars_after(state(), sum[2]);
          if (state().halted()) return;
          state().dots = {sum[0], sum[1]};
          s_update().scalars_before(state());
        });
  }

  /// s = r - α v,  ŝ = M s,  t = A ŝ, handed over,  ω
  __device__ void multiply_s_hat() {
    const auto update = s_update();
    const auto scalars = update.scalars(state());
    detail::TwoSums unused;
    for_each_index(0, part().extended(), [&](std::int32_t i) { update.apply(i, update.load(i), scalars, unused); });
    __syncthreads();
    double sums[4] = {};
    part().template multiply<Lanes>(space_.s_hat, [&](std::int32_t i, T t) {
      const auto of_t = static_cast<double>(t);
      const auto of_s = static_cast<double>(space_.r[i]);
      const auto of_s_hat = static_cast<double>(space_.s_hat[i]);
      give(space_.t, i, t, 1);
      sums[0] += of_s * of_t;
      sums[1] += of_t * of_t;
      sums[2] += of_s * of_s;
      sums[3] += of_s_hat * of_s_hat;
    });
    reduction_.all_reduce(
        sums, [&](std::uint64_t now) { take_over_halo(space_.t, 1, now); },
        [&](const double(&sum)[4]) {
          s_update().scalars_after(state(), {sum[2], sum[3]});
          if (state().halted()) return;
          state().dots = {sum[0], sum[1]};
          solution_update().scalars_before(state());
        });
  }

  /// x = x + α p̂ + ω ŝ,  r = s - ω t,  ρ',  β
  __device__ void update_solution() {
    const auto update = solution_update();
    const auto scalars = update.scalars(state());
    detail::TwoSums sums;
    for_each_index(0, part().rows, [&](std::int32_t i) { update.apply(i, update.load(i), scalars, sums); });
    for_each_index(part().rows, part().extended(),
                   [&](std::int32_t i) { space_.r[i] = space_.r[i] - scalars.omega * space_.t[i]; });
    reduction_.all_reduce(
        {sums.first, sums.second}, [](std::uint64_t) {},
        [&](const double(&sum)[2]) {
          const std::int64_t before = state().iteration;
          solution_update().scalars_after(state(), {sum[0], sum[1]});
          if (blockIdx.x == 0) close_operation(state(), before, *task_.control);
        });
  }

  /// Element i of a product. \param vector 0: v, 1: t
  __device__ void give(T* to, std::int32_t i, T value, int vector) {
    to[i] = value;
    const index_t row = part().first + i;
    if (task_.is_shared[row] != 0) {
      hand_over(handed(row, vector), static_cast<double>(value), reduction_.next_number());
    }
  }
  __device__ void take_over_halo(T* to, int vector, std::uint64_t number) {
    for_each_index(0, part().halo, [&](std::int32_t i) {
      to[part().rows + i] = static_cast<T>(take_over(handed(part().halo_columns[i], vector), number));
    });
  }
  [[nodiscard]] __device__ NumberedWord* handed(index_t row, int vector) const {
    return task_.elements + static_cast<std::int64_t>(vector) * task_.rows + row;
  }

  __device__ void store() {
    for_each_index(0, part().rows, [&](std::int32_t i) {
      const index_t row = part().row(i);
      global_.x[row] = space_.x[i];
      global_.r[row] = space_.r[i];
      global_.p[row] = space_.p[i];
      if (global_.p_hat != global_.p) global_.p_hat[row] = space_.p_hat[i];
      global_.v[row] = space_.v[i];
    });
    if (blockIdx.x == 0) copy_state(global_state_, space_.state);
  }

  const PersistentTask<T>& task_;
  const PersistentBicgstabVectors<T>& global_;
  detail::BicgstabState* global_state_;
  BicgstabSpace<T> space_;
  GridReduction reduction_;
};

}  // namespace tessera::cuda
