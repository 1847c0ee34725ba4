/// \file
/// Conjugate gradients (solvers/cg.cpp) by the blocks of one kernel.
///
/// An iteration, with the reductions of all blocks:
///   q = A p                                 reduction: <p, q>, <q, q>, <p, p>
///   α = ρ / <p, q>,  r = r - α q,  z = M r  reduction: <r, r>, <r, z>, and z of the halos
///   β = ρ' / ρ,  x = x + α p,  p = z + β p  also in the halo, which so never is read from others
#pragma once

#include "solvers/cg.hpp"
#include "solvers/persistent/part_in_shared_memory.cuh"
#include "solvers/persistent_kernel.hpp"

namespace tessera::cuda {

/// Shared memory of a block.
template <class T>
struct CgSpace {
  SharedSpace space;
  GridReduction::TempStorage* temp_storage;
  detail::CgState* state;
  SharedPart<T> part;
  T* p;  ///< extended
  T* z_of_halo;
  T* diagonal;
  T* x;
  T* r;
  T* q;

  TESSERA_HOST_DEVICE CgSpace(unsigned char* base, const PartSize& most)
      : space(base),
        temp_storage(space.take<GridReduction::TempStorage>(1)),
        state(space.take<detail::CgState>(1)),
        part(space, most),
        p(space.take<T>(static_cast<std::size_t>(most.rows + most.halo))),
        z_of_halo(space.take<T>(static_cast<std::size_t>(most.halo))),
        diagonal(space.take<T>(static_cast<std::size_t>(most.rows))),
        x(space.take<T>(static_cast<std::size_t>(most.rows))),
        r(space.take<T>(static_cast<std::size_t>(most.rows))),
        q(space.take<T>(static_cast<std::size_t>(most.rows))) {}
};

template <class T, int Lanes>
class CgBlock {
 public:
  using M = fused::FusedDiagonal<T>;

  __device__ CgBlock(const PersistentTask<T>& task, const PersistentCgVectors<T>& vectors, detail::CgState* state)
      : task_(task),
        global_(vectors),
        global_state_(state),
        space_(dynamic_shared_memory(), task.most),
        reduction_(task.words, task.number, *space_.temp_storage) {}

  __device__ void run() {
    load();
    bool norm_is_known = true;
    while (!state().halted()) {
      multiply(norm_is_known);
      if (state().halted()) break;
      update_residual();
      if (state().halted()) break;
      update_direction();
      norm_is_known = false;
      if (state().iteration < task_.control->pause_at) continue;
      find_norm();
      break;
    }
    store();
  }

 private:
  [[nodiscard]] __device__ detail::CgState& state() const { return *space_.state; }
  [[nodiscard]] __device__ SharedPart<T>& part() { return space_.part; }
  [[nodiscard]] __device__ detail::CgUpdateResidual<T, M> residual_update() const {
    return {.counts = global_.counts, .m = {space_.diagonal}, .q = space_.q, .r = space_.r};
  }
  [[nodiscard]] __device__ detail::CgUpdateSolutionAndDirection<T, M> direction_update() const {
    return {.is_fused = true,
            .m = {space_.diagonal},
            .z = space_.r,
            .x = space_.x,
            .p = space_.p,
            .kept = global_.kept + space_.part.first};
  }

  __device__ void load() {
    part().load(task_);
    copy_state(space_.state, global_state_);
    for_each_index(0, part().rows, [&](std::int32_t i) {
      const index_t row = part().row(i);
      space_.diagonal[i] = element_or(global_.diagonal, row, T{1});
      space_.x[i] = global_.x[row];
      space_.r[i] = global_.r[row];
    });
    for_each_index(0, part().extended(), [&](std::int32_t i) { space_.p[i] = global_.p[part().row(i)]; });
    __syncthreads();
  }

  /// q = A p,  α
  __device__ void multiply(bool norm_is_known) {
    double sums[3] = {};
    part().template multiply<Lanes>(space_.p, [&](std::int32_t i, T q) {
      const auto of_q = static_cast<double>(q);
      const auto of_p = static_cast<double>(space_.p[i]);
      space_.q[i] = q;
      sums[0] += of_p * of_q;
      sums[1] += of_q * of_q;
      sums[2] += of_p * of_p;
    });
    reduction_.all_reduce(
        sums, [](std::uint64_t) {},
        [&](const double(&sum)[3]) {
          if (!norm_is_known) direction_update().scalars_after(state(), sum[2]);
          if (state().halted()) return;
          state().dots = {sum[0], sum[1]};
          residual_update().scalars_before(state());
        });
  }

  /// r = r - α q,  z = M r, handed over,  ρ',  β
  __device__ void update_residual() {
    const auto update = residual_update();
    const auto scalars = update.scalars(state());
    const std::uint64_t number = reduction_.next_number();
    detail::TwoSums sums;
    for_each_index(0, part().rows, [&](std::int32_t i) {
      update.apply(i, update.load(i), scalars, sums);
      const index_t row = part().first + i;
      if (task_.is_shared[row] == 0) return;
      const T z = update.m(space_.diagonal[i], space_.r[i]);
      hand_over(&task_.elements[row], static_cast<double>(z), number);
    });
    reduction_.all_reduce(
        {sums.first, sums.second}, [&](std::uint64_t now) { take_over_halo(now); },
        [&](const double(&sum)[2]) {
          end_iteration({sum[0], sum[1]});
        });
  }

  __device__ void take_over_halo(std::uint64_t number) {
    for_each_index(0, part().halo, [&](std::int32_t i) {
      space_.z_of_halo[i] = static_cast<T>(take_over(&task_.elements[part().halo_columns[i]], number));
    });
  }

  /// Thread 0.
  __device__ void end_iteration(const detail::TwoSums& sums) {
    const std::int64_t before = state().iteration;
    residual_update().scalars_after(state(), sums);
    if (blockIdx.x == 0) close_operation(state(), before, *task_.control);
    if (!state().halted()) direction_update().scalars_before(state());
  }

  /// x = x + α p,  p = z + β p
  __device__ void update_direction() {
    const auto update = direction_update();
    const auto scalars = update.scalars(state());
    double unused = 0.0;
    for_each_index(0, part().rows, [&](std::int32_t i) { update.apply(i, update.load(i), scalars, unused); });
    for_each_index(0, part().halo, [&](std::int32_t i) {
      T& p = space_.p[part().rows + i];
      p = space_.z_of_halo[i] + scalars.beta * p;
    });
    __syncthreads();
  }

  /// ‖p‖ at the end of a run, which the next product would find.
  __device__ void find_norm() {
    double sums[1] = {};
    for_each_index(0, part().rows, [&](std::int32_t i) {
      const auto of_p = static_cast<double>(space_.p[i]);
      sums[0] += of_p * of_p;
    });
    reduction_.all_reduce(
        sums, [](std::uint64_t) {}, [&](const double(&sum)[1]) { direction_update().scalars_after(state(), sum[0]); });
  }

  __device__ void store() {
    for_each_index(0, part().rows, [&](std::int32_t i) {
      const index_t row = part().row(i);
      global_.x[row] = space_.x[i];
      global_.r[row] = space_.r[i];
      global_.p[row] = space_.p[i];
    });
    if (blockIdx.x == 0) copy_state(global_state_, space_.state);
  }

  const PersistentTask<T>& task_;
  const PersistentCgVectors<T>& global_;
  detail::CgState* global_state_;
  CgSpace<T> space_;
  GridReduction reduction_;
};

}  // namespace tessera::cuda
