/// \file
/// Two-kernel CG (spmv/common/cg_product.hpp) on several GPUs: the products of the diagonal block, completed by the
/// halo of the new direction. The halo is not hidden, since the direction is formed in the product itself.
#pragma once

#include "solvers/distributed/peer_halo.cuh"
#include "spmv/plan_internals.hpp"

#include <algorithm>
#include <memory>

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
  detail::CgSums* of_blocks;
  unsigned* finished;  ///< blocks; 0 between products
  detail::CgSums* sums;
};

/// Sends the halo, takes that of others, and adds up the sums of the direction. All blocks are resident at once, since
/// those of another rank wait for what each of them sends.
template <class T, class Z>
__global__ void __launch_bounds__(sum_threads, 4)
    complete_direction_kernel(DirectionCompletion<T> c, Z z, NewDirection<T> direction, PeerExchange* exchange,
                              const std::int32_t* halted) {
  __shared__ bool is_last;
  if (is_over(*exchange, halted)) return;
  const T* const p = direction.data();
  const std::uint64_t number = exchange->number + 1;
  send_halo(c.to, p, number);
  const std::int64_t first = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * sum_threads;
  detail::CgSums sum;
  for (std::int64_t part = first; part < c.part_count; part += stride) sum += c.parts[part];
  for (std::int64_t k = first; k < c.count; k += stride) {
    const T product = z(k, number, *exchange);
    c.z[k] = product;
    sum.first += static_cast<double>(p[c.rows[k]]) * static_cast<double>(product);
  }
  sum = add_up_block<sum_threads>(sum);
  if (threadIdx.x == 0) {
    c.of_blocks[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(c.finished, 1u) + 1 == gridDim.x;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  detail::CgSums total;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += sum_threads) {
    total += value_of_other_block(c.of_blocks + block);
  }
  total = add_up_block<sum_threads>(total);
  if (threadIdx.x != 0) return;
  *c.finished = 0;
  *c.sums = total;
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
class PeerCgProduct final : public detail::CgProduct<T> {
 public:
  PeerCgProduct(std::unique_ptr<detail::CgProduct<T>> diagonal, const detail::LocalMatrix<T>& local,
                const PeerHalo<T>& halo, const Device& here)
      : diagonal_(std::move(diagonal)),
        local_(local),
        halo_(halo),
        here_(here),
        of_blocks_(most_blocks, Init::zero, here),
        finished_(1, Init::zero, here),
        sums_(1, Init::zero, here) {}

  std::span<const detail::CgSums> enqueue_direction(const detail::CgVectors<T>& vectors,
                                                    const detail::CgScalars* scalars,
                                                    const std::int32_t* halted) override {
    const DeviceGuard current(here_);
    const auto parts = diagonal_->enqueue_direction(vectors, scalars, halted);
    const NewDirection<T> direction{{vectors.p[0], vectors.p[1]}, scalars};
    if (!halo_.is_short()) {
      halo_.enqueue_send(direction, halted);
      halo_.enqueue_receive(halted);
    }
    const auto part_count = static_cast<std::int64_t>(parts.size());
    const DirectionCompletion<T> completion{.to = halo_.is_short() ? halo_.targets() : HaloTargets{},
                                            .count = boundary(),
                                            .rows = local_.boundary_rows.data(),
                                            .z = local_.halo_product.data(),
                                            .parts = parts.data(),
                                            .part_count = part_count,
                                            .of_blocks = of_blocks_.data(),
                                            .finished = finished_.data(),
                                            .sums = sums_.data()};
    halo_.with_halo_product([&]<class Z>(const Z& z) {
      launch("completing a direction", Context::of(here_), grid(std::max<std::int64_t>(boundary(), part_count / 4)),
             complete_direction_kernel<T, Z>, completion, z, direction, halo_.exchange(), halted);
    });
    return sums_.span();
  }

  std::span<const detail::CgSums> enqueue_residual(const detail::CgVectors<T>& vectors,
                                                   const detail::CgScalars* scalars,
                                                   const std::int32_t* halted) override {
    const DeviceGuard current(here_);
    if (boundary() > 0) {
      launch("subtracting a halo", Context::of(here_), grid(boundary()), subtract_halo_kernel<T>, boundary(),
             local_.boundary_rows.data(), static_cast<const T*>(local_.halo_product.data()), vectors.r, scalars,
             static_cast<const PeerExchange*>(halo_.exchange()), halted);
    }
    return diagonal_->enqueue_residual(vectors, scalars, halted);
  }

 private:
  /// On the GPUs of several generations resident at once, four per multiprocessor.
  static constexpr unsigned most_blocks = 256;

  [[nodiscard]] index_t boundary() const { return static_cast<index_t>(local_.boundary_rows.size()); }
  [[nodiscard]] Grid grid(std::int64_t items) const {
    const auto resident = static_cast<unsigned>(4 * Context::of(here_).multiprocessors());
    return {std::min({blocks_for(items, sum_threads), most_blocks, resident}), sum_threads};
  }

  std::unique_ptr<detail::CgProduct<T>> diagonal_;
  const detail::LocalMatrix<T>& local_;
  const PeerHalo<T>& halo_;
  Device here_;
  Array<detail::CgSums> of_blocks_;
  Array<unsigned> finished_;
  Array<detail::CgSums> sums_;
};

/// Null where the kernel of the diagonal block offers none. All ranks have it or none. \param local, halo outlive the
/// result \param here the device without its rank
template <class T>
[[nodiscard]] std::unique_ptr<detail::CgProduct<T>> make_peer_cg_product(const detail::LocalMatrix<T>& local,
                                                                         const PeerHalo<T>& halo, const Device& here,
                                                                         const Device& device) {
  auto diagonal = PlanInternals::kernel(local.diagonal).make_cg_product(local.diagonal.matrix());
  const std::int64_t without = detail::sum_over_ranks(device, std::int64_t{diagonal == nullptr ? 1 : 0});
  if (without > 0) return nullptr;
  return std::make_unique<PeerCgProduct<T>>(std::move(diagonal), local, halo, here);
}

}  // namespace tessera::cuda
