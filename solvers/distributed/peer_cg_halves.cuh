/// \file
/// Two-kernel CG (solvers/two_kernel_cg.hpp) on several GPUs: the products of the diagonal block, completed by the halo
/// of the new direction. The halo is not hidden, since the direction is formed in the product itself.
#pragma once

#include "solvers/distributed/peer_halo.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/two_kernel_cg.hpp"
#include "spmv/plan_internals.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace tessera::cuda {

/// What the halo adds to the sums of the direction, per boundary row k: z_k = (A_halo p')_k, kept for the residual, and
/// p'_k z_k for <p', A p'>. <A p', A p'>, which serves as a bound of the norm of A alone, stays that of the diagonal
/// block, which is a lower bound, too.
template <class T>
struct DirectionCompletion {
  HaloTargets to;  ///< none where the halo is on its way already
  index_t count;
  const index_t* rows;
  T* z;
  const detail::CgSums* parts;  ///< of the diagonal block
  std::int64_t part_count;
  detail::CgVectors<T> vectors;
  bool subtracts;  ///< r = r - α z at once, by one block

  /// Of this thread.
  template <class Z>
  [[nodiscard]] __device__ detail::CgSums sums(const Z& of_halo, const T* p, PeerExchange& exchange) const {
    const std::uint64_t number = exchange.number + 1;
    send_halo(to, p, number);
    const std::int64_t first = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
    const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
    detail::CgSums sum;
    for (std::int64_t part = first; part < part_count; part += stride) sum += parts[part];
    for (std::int64_t k = first; k < count; k += stride) {
      const T product = of_halo(k, number, exchange);
      z[k] = product;
      sum.first += static_cast<double>(p[rows[k]]) * static_cast<double>(product);
    }
    return sum;
  }
};

/// Sends the halo, takes that of others, adds up the sums of the direction over all ranks, and computes the scalars.
/// All blocks are resident at once, since those of another rank wait for what each of them sends.
template <class T, class Z>
__global__ void __launch_bounds__(sum_threads, 4)
    complete_direction_kernel(DirectionCompletion<T> c, Z z, detail::TwoKernelCgState* state, LoopControlBlock* block,
                              detail::CgSums* partial, PeerExchange* exchange) {
  const bool is_last = run_operation(
      detail::CgScalarsAfterDirection{}, BlockRank::of_kernel(), state, &block->finished, partial, nullptr, 0, exchange,
      [&](const detail::TwoKernelCgState& scalars) {
        return c.sums(z, c.vectors.p[1 - scalars.scalars.current], *exchange);
      },
      [](const detail::TwoKernelCgState& /*scalars*/) {}, closing(block));
  if (!is_last || !c.subtracts) return;
  __syncthreads();
  if (state->halted()) return;
  const auto alpha = static_cast<T>(state->scalars.alpha);
  for (auto k = static_cast<index_t>(threadIdx.x); k < c.count; k += sum_threads) {
    c.vectors.r[c.rows[k]] -= alpha * __ldcg(c.z + k);
  }
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
class PeerCgHalves final : public detail::CgHalves<T> {
 public:
  /// \param device of the rank
  PeerCgHalves(std::unique_ptr<detail::CgProduct<T>> diagonal, const detail::LocalMatrix<T>& local,
               const PeerHalo<T>& halo, const Device& device)
      : diagonal_(std::move(diagonal)), local_(local), halo_(halo), device_(device), here_(detail::alone(device)) {}

  void record_direction(const detail::CgVectors<T>& vectors, const LoopFrame& frame) override {
    const DeviceGuard current(here_);
    const detail::TwoKernelCgState& state = detail::state_in(frame);
    const std::int32_t* const halted = detail::halt_of(state);
    const auto parts = diagonal_->enqueue_direction(vectors, &state.scalars, halted);
    if (!halo_.is_short()) {
      halo_.enqueue_send(NewDirection<T>{{vectors.p[0], vectors.p[1]}, &state.scalars}, halted);
      halo_.enqueue_receive(halted);
    }
    const auto part_count = static_cast<std::int64_t>(parts.size());
    const DirectionCompletion<T> completion{.to = halo_.is_short() ? halo_.targets() : HaloTargets{},
                                            .count = boundary(),
                                            .rows = local_.boundary_rows.data(),
                                            .z = local_.halo_product.data(),
                                            .parts = parts.data(),
                                            .part_count = part_count,
                                            .vectors = vectors,
                                            .subtracts = subtracts_at_once()};
    const Context& context = Context::of(here_);
    halo_.with_halo_product([&]<class Z>(const Z& z) {
      launch("completing a direction", context, grid(std::max<std::int64_t>(boundary(), part_count / 4)),
             complete_direction_kernel<T, Z>, completion, z, static_cast<detail::TwoKernelCgState*>(frame.state),
             static_cast<LoopControlBlock*>(frame.control_block),
             static_cast<detail::CgSums*>(context.sum_space().on_device), frame.peers);
    });
  }

  void record_residual(const detail::CgVectors<T>& vectors, const LoopFrame& frame,
                       const detail::CgScalarsAfterResidual& scalars) override {
    const DeviceGuard current(here_);
    const detail::TwoKernelCgState& state = detail::state_in(frame);
    const std::int32_t* const halted = detail::halt_of(state);
    if (!subtracts_at_once()) {
      launch("subtracting a halo", Context::of(here_), grid(boundary()), subtract_halo_kernel<T>, boundary(),
             local_.boundary_rows.data(), static_cast<const T*>(local_.halo_product.data()), vectors.r, &state.scalars,
             static_cast<const PeerExchange*>(halo_.exchange()), halted);
    }
    record_cg_scalars(device_, frame, diagonal_->enqueue_residual(vectors, &state.scalars, halted), scalars);
  }

 private:
  /// On the GPUs of several generations resident at once, four per multiprocessor.
  static constexpr unsigned most_blocks = 256;
  /// Boundary rows that one block may do after the scalars: more take longer there than another kernel does.
  static constexpr index_t most_rows_of_a_block = 2048;

  [[nodiscard]] index_t boundary() const { return static_cast<index_t>(local_.boundary_rows.size()); }
  [[nodiscard]] bool subtracts_at_once() const { return boundary() <= most_rows_of_a_block; }
  [[nodiscard]] Grid grid(std::int64_t items) const {
    const auto resident = static_cast<unsigned>(4 * Context::of(here_).multiprocessors());
    return {std::min({blocks_for(items, sum_threads), most_blocks, resident}), sum_threads};
  }

  std::unique_ptr<detail::CgProduct<T>> diagonal_;
  const detail::LocalMatrix<T>& local_;
  const PeerHalo<T>& halo_;
  Device device_;
  Device here_;
};

/// Null where the kernel of the diagonal block offers none. All ranks have it or none. \param local, halo outlive the
/// result \param device of the rank
template <class T>
[[nodiscard]] std::unique_ptr<detail::CgHalves<T>> make_peer_cg_halves(const detail::LocalMatrix<T>& local,
                                                                       const PeerHalo<T>& halo, const Device& device) {
  auto diagonal = PlanInternals::kernel(local.diagonal).make_cg_product(local.diagonal.matrix());
  const std::int64_t without = detail::sum_over_ranks(device, std::int64_t{diagonal == nullptr ? 1 : 0});
  if (without > 0) return nullptr;
  return std::make_unique<PeerCgHalves<T>>(std::move(diagonal), local, halo, device);
}

}  // namespace tessera::cuda
