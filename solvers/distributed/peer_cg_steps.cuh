/// \file
/// Two-kernel CG (solvers/two_kernel_cg.hpp) on several GPUs. The halo of the new direction p' = M r + β p does not
/// wait for the product that forms it: each rank forms the elements that others need beside that product, sends them,
/// and multiplies what it receives by A_halo, all in a side stream. The scalars then take the sums of both.
#pragma once

#include "core/cuda/memory.hpp"
#include "solvers/distributed/peer_halo.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/two_kernel_cg.hpp"
#include "spmv/patterns/template_cg.cuh"
#include "spmv/plan_internals.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace tessera::cuda {

/// p' = M r + β p, which is being formed elsewhere. The bits of the product, which forms it by the same expression.
template <class T>
struct FormedDirection {
  detail::CgVectors<T> vectors;
  const detail::CgScalars* scalars;

  struct Elements {
    const T* r;
    const T* p;
    const T* diagonal;
    T beta;
    [[nodiscard]] __device__ T operator[](index_t row) const {
      if (diagonal == nullptr) return DirectionGather<false, T>{r, p, nullptr, beta}(row, 0);
      return DirectionGather<true, T>{r, p, diagonal, beta}(row, 0);
    }
  };
  [[nodiscard]] __device__ Elements data() const {
    return {vectors.r, scalars->current == 0 ? vectors.p[0] : vectors.p[1], vectors.diagonal,
            static_cast<T>(scalars->beta)};
  }
};

/// The boundary rows of a direction, row k: z_k = (A_halo p')_k, kept for the residual, and p'_k z_k for <p', A p'>.
/// <A p', A p'>, which serves as a bound of the norm of A alone, stays that of the diagonal block, which is a lower
/// bound, too.
template <class T>
struct DirectionBoundary {
  HaloTargets to;  ///< none where the halo is on its way already
  index_t count;
  const index_t* rows;
  T* z;
  detail::CgSums* of_blocks;
};

/// Sends the halo, takes that of others, and sums over the boundary rows. All blocks are resident at once, since those
/// of another rank wait for what each of them sends.
template <class T, class Z>
__global__ void __launch_bounds__(sum_threads)
    multiply_boundary_kernel(DirectionBoundary<T> b, Z of_halo, FormedDirection<T> direction, PeerExchange* exchange,
                             const std::int32_t* halted) {
  if (is_over(*exchange, halted)) return;
  const std::uint64_t number = exchange->number + 1;
  const auto p = direction.data();
  send_halo(b.to, p, number);
  const auto stride = static_cast<index_t>(gridDim.x * sum_threads);
  detail::CgSums sum;
  for (auto k = static_cast<index_t>(blockIdx.x * sum_threads + threadIdx.x); k < b.count; k += stride) {
    const T product = of_halo(k, number, *exchange);
    b.z[k] = product;
    sum.first += static_cast<double>(p[b.rows[k]]) * static_cast<double>(product);
  }
  sum = add_up_block<sum_threads>(sum);
  if (threadIdx.x == 0) b.of_blocks[blockIdx.x] = sum;
}

/// Sums of a direction, and what its scalars let a block do at once.
template <class T>
struct DirectionSums {
  const detail::CgSums* parts;  ///< of the diagonal block
  std::int64_t part_count;
  const detail::CgSums* of_boundary;
  std::int64_t boundary_count;
  index_t subtracted;  ///< boundary rows in which one block does r = r - α z
  const index_t* rows;
  const T* z;
  T* r;
};

/// The scalars after a direction, from the sums over all ranks.
template <class T>
__global__ void __launch_bounds__(sum_threads)
    end_direction_kernel(DirectionSums<T> e, detail::TwoKernelCgState* state, LoopControlBlock* block,
                         detail::CgSums* partial, PeerExchange* exchange) {
  const bool is_last = run_operation(
      detail::CgScalarsAfterDirection{}, BlockRank::of_kernel(), state, &block->finished, partial, nullptr, 0, exchange,
      [&](const detail::TwoKernelCgState& /*scalars*/) {
        const std::int64_t first = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
        const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
        detail::CgSums sums;
        for (std::int64_t k = first; k < e.part_count; k += stride) sums += e.parts[k];
        for (std::int64_t k = first; k < e.boundary_count; k += stride) sums += e.of_boundary[k];
        return sums;
      },
      [](const detail::TwoKernelCgState& /*scalars*/) {}, closing(block));
  if (!is_last || e.subtracted == 0) return;
  __syncthreads();
  if (state->halted()) return;
  const auto alpha = static_cast<T>(state->scalars.alpha);
  for (auto k = static_cast<index_t>(threadIdx.x); k < e.subtracted; k += sum_threads) e.r[e.rows[k]] -= alpha * e.z[k];
}

/// r = r - α z in the boundary rows, before the diagonal block does the rest.
template <class T>
__global__ void subtract_halo_kernel(index_t count, const index_t* rows, const T* z, T* r,
                                     const detail::CgScalars* scalars, const PeerExchange* exchange,
                                     const std::int32_t* halted) {
  if (is_over(*exchange, halted)) return;
  const auto alpha = static_cast<T>(scalars->alpha);
  const auto stride = static_cast<index_t>(gridDim.x * blockDim.x);
  for (auto k = static_cast<index_t>(blockIdx.x * blockDim.x + threadIdx.x); k < count; k += stride) {
    r[rows[k]] -= alpha * z[k];
  }
}

template <class T>
class PeerTwoKernelCgSteps final : public detail::TwoKernelCgSteps<T> {
 public:
  /// \param device of the rank
  PeerTwoKernelCgSteps(std::unique_ptr<detail::CgProduct<T>> diagonal, const detail::LocalMatrix<T>& local,
                       const PeerHalo<T>& halo, const Device& device)
      : diagonal_(std::move(diagonal)),
        local_(local),
        halo_(halo),
        device_(device),
        here_(detail::alone(device)),
        of_boundary_(boundary_grid().blocks, Init::zero, here_) {
    static_cast<void>(SideStreams::of(here_));  // made before a recording
  }

  void record_direction(const detail::CgVectors<T>& vectors, const LoopFrame& frame) override {
    const DeviceGuard current(here_);
    const detail::TwoKernelCgState& state = detail::state_in(frame);
    const std::int32_t* const halted = detail::halt_of(state);
    std::span<const detail::CgSums> parts;
    {
      SideStreams::Fork fork(here_);
      fork.run(0, [&] { multiply_boundary({vectors, &state.scalars}, halted); });
      parts = diagonal_->enqueue_direction(vectors, &state.scalars, halted);
    }
    const auto part_count = static_cast<std::int64_t>(parts.size());
    const DirectionSums<T> end{.parts = parts.data(),
                               .part_count = part_count,
                               .of_boundary = of_boundary_.data(),
                               .boundary_count = of_boundary_.size(),
                               .subtracted = subtracts_at_once() ? boundary() : 0,
                               .rows = local_.boundary_rows.data(),
                               .z = local_.halo_product.data(),
                               .r = vectors.r};
    const Context& context = Context::of(here_);
    launch("scalars of a direction", context, Grid{blocks_of_sum(part_count), sum_threads}, end_direction_kernel<T>,
           end, static_cast<detail::TwoKernelCgState*>(frame.state),
           static_cast<LoopControlBlock*>(frame.control_block),
           static_cast<detail::CgSums*>(context.sum_space().on_device), frame.peers);
  }

  void record_residual(const detail::CgVectors<T>& vectors, const LoopFrame& frame,
                       const detail::CgScalarsAfterResidual& scalars) override {
    const DeviceGuard current(here_);
    const detail::TwoKernelCgState& state = detail::state_in(frame);
    const std::int32_t* const halted = detail::halt_of(state);
    if (!subtracts_at_once()) {
      launch("subtracting a halo", Context::of(here_), boundary_grid(), subtract_halo_kernel<T>, boundary(),
             local_.boundary_rows.data(), static_cast<const T*>(local_.halo_product.data()), vectors.r, &state.scalars,
             static_cast<const PeerExchange*>(halo_.exchange()), halted);
    }
    record_cg_scalars(device_, frame, diagonal_->enqueue_residual(vectors, &state.scalars, halted), scalars);
  }

 private:
  /// Boundary rows that one block may do after the scalars: more take longer there than another kernel does.
  static constexpr index_t most_rows_of_a_block = 2048;

  [[nodiscard]] index_t boundary() const { return static_cast<index_t>(local_.boundary_rows.size()); }
  [[nodiscard]] bool subtracts_at_once() const { return boundary() <= most_rows_of_a_block; }
  /// One block per multiprocessor at the most: they wait, beside the product with the diagonal block.
  [[nodiscard]] Grid boundary_grid() const {
    const auto most = static_cast<unsigned>(Context::of(here_).multiprocessors());
    return {std::min(blocks_for(std::max<std::int64_t>(boundary(), halo_.sent()), sum_threads), most), sum_threads};
  }

  void multiply_boundary(const FormedDirection<T>& direction, const std::int32_t* halted) {
    if (!halo_.is_short()) {
      halo_.enqueue_send(direction, halted);
      halo_.enqueue_receive(halted);
      if (boundary() == 0) return;
    }
    const DirectionBoundary<T> rows{.to = halo_.is_short() ? halo_.targets() : HaloTargets{},
                                    .count = boundary(),
                                    .rows = local_.boundary_rows.data(),
                                    .z = local_.halo_product.data(),
                                    .of_blocks = of_boundary_.data()};
    halo_.with_halo_product([&]<class Z>(const Z& z) {
      launch("boundary rows of a direction", Context::of(here_), boundary_grid(), multiply_boundary_kernel<T, Z>, rows,
             z, direction, halo_.exchange(), halted);
    });
  }

  std::unique_ptr<detail::CgProduct<T>> diagonal_;
  const detail::LocalMatrix<T>& local_;
  const PeerHalo<T>& halo_;
  Device device_;
  Device here_;
  Array<detail::CgSums> of_boundary_;  ///< per block
};

/// Null where the kernel of the diagonal block offers none. All ranks have it or none. \param local, halo outlive the
/// result \param device of the rank
template <class T>
[[nodiscard]] std::unique_ptr<detail::TwoKernelCgSteps<T>> make_peer_cg_steps(const detail::LocalMatrix<T>& local,
                                                                              const PeerHalo<T>& halo,
                                                                              const Device& device) {
  auto diagonal = PlanInternals::kernel(local.diagonal).make_cg_product(local.diagonal.matrix(), true);
  const std::int64_t without = detail::sum_over_ranks(device, std::int64_t{diagonal == nullptr ? 1 : 0});
  if (without > 0) return nullptr;
  return std::make_unique<PeerTwoKernelCgSteps<T>>(std::move(diagonal), local, halo, device);
}

}  // namespace tessera::cuda
