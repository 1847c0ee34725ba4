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
#include "solvers/persistent/persistent_block.cuh"
#include "solvers/persistent_kernel.hpp"

namespace tessera::cuda {

template <class T>
struct BicgstabSpace : PersistentSpace<T, detail::BicgstabState> {
  T* p_hat;
  T* s_hat;
  T* diagonal;
  T* p;
  T* r;  ///< or s
  T* v;
  T* t;
  T* x;
  T* shadow;

  TESSERA_HOST_DEVICE BicgstabSpace(unsigned char* base, const PartSize& most)
      : PersistentSpace<T, detail::BicgstabState>(base, most),
        p_hat(this->multiplied()),
        s_hat(this->multiplied()),
        diagonal(this->extended()),
        p(this->extended()),
        r(this->extended()),
        v(this->extended()),
        t(this->extended()),
        x(this->own_rows()),
        shadow(this->own_rows()) {}
};

template <class T, int Lanes>
class BicgstabBlock : PersistentBlock<T, detail::BicgstabState, BicgstabSpace<T>, Lanes> {
  using Base = PersistentBlock<T, detail::BicgstabState, BicgstabSpace<T>, Lanes>;
  using Base::part;
  using Base::reduction_;
  using Base::space_;
  using Base::state;

 public:
  using M = fused::FusedDiagonal<T>;

  __device__ BicgstabBlock(const PersistentTask<T>& task, const PersistentBicgstabVectors<T>& vectors,
                           detail::BicgstabState* state)
      : Base(task, state), global_(vectors) {}

  __device__ void run() {
    load();
    while (!state().halted()) {
      multiply_p_hat();
      if (state().halted()) break;
      multiply_s_hat();
      if (state().halted()) break;
      update_solution();
      if (this->run_is_over()) break;
    }
    store();
  }

 private:
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
    this->load_part();
    for_each_index(0, part().rows(), [&](std::int32_t i) {
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
    this->load_registers(space_.p_hat, space_.s_hat);
    if (threadIdx.x == 0) direction_update().scalars_before(state());
    __syncthreads();
  }

  /// p = r + β (p - ω v),  p̂ = M p,  v = A p̂, handed over,  α
  __device__ void multiply_p_hat() {
    const auto update = direction_update();
    const auto scalars = update.scalars(state());
    double unused = 0.0;
    for_each_index(0, part().extended(), [&](std::int32_t i) { update.apply(i, update.load(i), scalars, unused); });
    __syncthreads();
    double sums[3] = {};
    this->multiply(space_.p_hat, [&](std::int32_t i, T v) {
      const auto of_v = static_cast<double>(v);
      const auto of_p = static_cast<double>(space_.p_hat[i]);
      space_.v[i] = v;
      this->give(i, v, 0);
      sums[0] += static_cast<double>(space_.shadow[i]) * of_v;
      sums[1] += of_v * of_v;
      sums[2] += of_p * of_p;
    });
    reduction_.all_reduce(
        sums,
        [&](std::uint64_t number, const Share& share) {
          this->take_over_halo(space_.v + part().rows(), 0, number, share);
        },
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
    this->multiply(space_.s_hat, [&](std::int32_t i, T t) {
      const auto of_t = static_cast<double>(t);
      const auto of_s = static_cast<double>(space_.r[i]);
      const auto of_s_hat = static_cast<double>(space_.s_hat[i]);
      space_.t[i] = t;
      this->give(i, t, 1);
      sums[0] += of_s * of_t;
      sums[1] += of_t * of_t;
      sums[2] += of_s * of_s;
      sums[3] += of_s_hat * of_s_hat;
    });
    reduction_.all_reduce(
        sums,
        [&](std::uint64_t number, const Share& share) {
          this->take_over_halo(space_.t + part().rows(), 1, number, share);
        },
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
    for_each_index(0, part().rows(), [&](std::int32_t i) { update.apply(i, update.load(i), scalars, sums); });
    for_each_index(part().rows(), part().extended(),
                   [&](std::int32_t i) { space_.r[i] = space_.r[i] - scalars.omega * space_.t[i]; });
    reduction_.all_reduce(
        {sums.first, sums.second}, [](std::uint64_t /*number*/, const Share& /*share*/) {},
        [&](const double(&sum)[2]) {
          solution_update().scalars_after(state(), {sum[0], sum[1]});
          if (!state().halted()) direction_update().scalars_before(state());
        });
    this->record_iteration();
  }

  __device__ void store() const {
    this->store_vector(global_.x, space_.x);
    this->store_vector(global_.r, space_.r);
    this->store_vector(global_.p, space_.p);
    if (global_.p_hat != global_.p) this->store_vector(global_.p_hat, space_.p_hat);
    this->store_vector(global_.v, space_.v);
    this->store_state();
  }

  const PersistentBicgstabVectors<T>& global_;
};

}  // namespace tessera::cuda
