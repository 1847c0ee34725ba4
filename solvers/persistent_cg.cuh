/// \file
/// Conjugate gradients (solvers/cg.cpp) by the blocks of one kernel.
///
/// An iteration, with the reductions of all blocks:
///   q = A p                                 reduction: <p, q>, <q, q>, <p, p>
///   α = ρ / <p, q>,  r = r - α q,  z = M r  reduction: <r, r>, <r, z>, and z of the halos
///   β = ρ' / ρ,  x = x + α p,  p = z + β p  also in the halo, which so never is read from others
#pragma once

#include "solvers/cg.hpp"
#include "solvers/persistent/persistent_block.cuh"
#include "solvers/persistent_kernel.hpp"

namespace tessera::cuda {

template <class T>
struct CgSpace : PersistentSpace<T, detail::CgState> {
  T* p;
  T* z_of_halo;
  T* diagonal;
  T* x;
  T* r;
  T* q;

  TESSERA_HOST_DEVICE CgSpace(unsigned char* base, const PartSize& most)
      : PersistentSpace<T, detail::CgState>(base, most),
        p(this->multiplied()),
        z_of_halo(this->halo()),
        diagonal(this->own_rows()),
        x(this->own_rows()),
        r(this->own_rows()),
        q(this->own_rows()) {}
};

template <class T, int Lanes>
class CgBlock : PersistentBlock<T, detail::CgState, CgSpace<T>, Lanes> {
  using Base = PersistentBlock<T, detail::CgState, CgSpace<T>, Lanes>;
  using Base::part;
  using Base::reduction_;
  using Base::space_;
  using Base::state;

 public:
  using M = fused::FusedDiagonal<T>;

  __device__ CgBlock(const PersistentTask<T>& task, const PersistentCgVectors<T>& vectors, detail::CgState* state)
      : Base(task, state), global_(vectors) {}

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
      if (!this->run_is_over()) continue;
      find_norm();
      break;
    }
    store();
  }

 private:
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
    this->load_part();
    for_each_index(0, part().rows(), [&](std::int32_t i) {
      const index_t row = part().row(i);
      space_.diagonal[i] = element_or(global_.diagonal, row, T{1});
      space_.x[i] = global_.x[row];
      space_.r[i] = global_.r[row];
    });
    for_each_index(0, part().extended(), [&](std::int32_t i) { space_.p[i] = global_.p[part().row(i)]; });
    __syncthreads();
    this->load_registers(space_.p);
    __syncthreads();
  }

  /// q = A p,  α
  __device__ void multiply(bool norm_is_known) {
    double sums[3] = {};
    Base::multiply(space_.p, [&](std::int32_t i, T q) {
      const auto of_q = static_cast<double>(q);
      const auto of_p = static_cast<double>(space_.p[i]);
      space_.q[i] = q;
      sums[0] += of_p * of_q;
      sums[1] += of_q * of_q;
      sums[2] += of_p * of_p;
    });
    reduction_.all_reduce(
        sums, [](std::uint64_t /*number*/, const Share& /*share*/) {},
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
    detail::TwoSums sums;
    for_each_index(0, part().rows(), [&](std::int32_t i) {
      update.apply(i, update.load(i), scalars, sums);
      this->give(i, update.m(space_.diagonal[i], space_.r[i]), 0);
    });
    reduction_.all_reduce(
        {sums.first, sums.second},
        [&](std::uint64_t number, const Share& share) { this->take_over_halo(space_.z_of_halo, 0, number, share); },
        [&](const double(&sum)[2]) {
          residual_update().scalars_after(state(), {sum[0], sum[1]});
          if (!state().halted()) direction_update().scalars_before(state());
        });
    this->record_iteration();
  }

  /// x = x + α p,  p = z + β p
  __device__ void update_direction() {
    const auto update = direction_update();
    const auto scalars = update.scalars(state());
    double unused = 0.0;
    for_each_index(0, part().rows(), [&](std::int32_t i) { update.apply(i, update.load(i), scalars, unused); });
    for_each_index(0, part().halo(), [&](std::int32_t i) {
      T& p = space_.p[part().rows() + i];
      p = space_.z_of_halo[i] + scalars.beta * p;
    });
    __syncthreads();
  }

  /// ‖p‖ at the end of a run, which the next product would find.
  __device__ void find_norm() {
    double sums[1] = {};
    for_each_index(0, part().rows(), [&](std::int32_t i) {
      const auto of_p = static_cast<double>(space_.p[i]);
      sums[0] += of_p * of_p;
    });
    reduction_.all_reduce(
        sums, [](std::uint64_t /*number*/, const Share& /*share*/) {},
        [&](const double(&sum)[1]) { direction_update().scalars_after(state(), sum[0]); });
  }

  __device__ void store() const {
    this->store_vector(global_.x, space_.x);
    this->store_vector(global_.r, space_.r);
    this->store_vector(global_.p, space_.p);
    this->store_state();
  }

  const PersistentCgVectors<T>& global_;
};

}  // namespace tessera::cuda
