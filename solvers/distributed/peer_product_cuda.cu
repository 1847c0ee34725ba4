/// Products on several GPUs that reach each other's memory. A side stream sends and receives the halo while the
/// diagonal block is multiplied; then the boundary rows are completed, and the inner products are summed over ranks.
#include "core/cuda/memory.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/enqueued_product.hpp"
#include "solvers/distributed/peer_cg_steps.cuh"
#include "solvers/distributed/peer_halo.cuh"

#include <algorithm>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr unsigned most_completing_blocks = 256;

/// Boundary rows and inner products of a product.
template <class T>
struct Completion {
  index_t count;  ///< of boundary rows
  const index_t* rows;
  const T* w;
  T* y;
  const ProductDots* parts;  ///< of the diagonal block
  int part_count;
  PlainSums<2>* of_blocks;
  unsigned* finished;  ///< blocks; 0 between products
  ProductDots* sums;
};

/// y = y + z in the boundary rows, then *sums over all ranks.
template <class T, class Z>
__global__ void __launch_bounds__(sum_threads)
    complete_product_kernel(Completion<T> c, Z z, PeerExchange* exchange, const std::int32_t* halted) {
  __shared__ bool is_last;
  if (is_over(*exchange, halted)) return;
  const std::uint64_t number = exchange->number + 1;
  PlainSums<2> sum;
  const auto stride = static_cast<index_t>(gridDim.x * sum_threads);
  for (auto k = static_cast<index_t>(blockIdx.x * sum_threads + threadIdx.x); k < c.count; k += stride) {
    const index_t row = c.rows[k];
    const auto before = static_cast<double>(c.y[row]);
    const auto after = static_cast<double>(c.y[row] + z(k, number, *exchange));
    c.y[row] = static_cast<T>(after);
    sum += {{static_cast<double>(c.w[row]) * (after - before), (after - before) * (after + before)}};
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
  PlainSums<2> total;
  for (auto part = static_cast<int>(threadIdx.x); part < c.part_count; part += sum_threads) {
    total += {{c.parts[part].wy, c.parts[part].yy}};
  }
  for (unsigned block = threadIdx.x; block < gridDim.x; block += sum_threads) {
    total += value_of_other_block(c.of_blocks + block);
  }
  total = add_up_block<sum_threads>(total);
  if (threadIdx.x >= warp_size) return;
  const PlainSums<2> own = total;
  static_cast<void>(sum_over_peers(*exchange, own, total));
  if (threadIdx.x != 0) return;
  *c.finished = 0;
  // Where y is small in the boundary rows, rounding errors of what was there before may be larger.
  *c.sums = {total.of[0], total.of[1] < 0.0 ? 0.0 : total.of[1]};
}

template <class T>
class PeerProduct final : public detail::DistributedProduct<T>,
                          public detail::HasTwoKernelCg<T>,
                          private detail::EnqueuedProduct<T> {
 public:
  PeerProduct(detail::LocalMatrix<T> local, const detail::ExchangeLists& lists, const Device& device)
      : detail::DistributedProduct<T>(std::move(local), lists, device),
        here_(detail::alone(device)),
        of_blocks_(std::int64_t{most_completing_blocks} * 2, Init::zero, here_),
        finished_(1, Init::zero, here_),
        sums_(1, Init::zero, here_),
        halo_(this->local(), lists, device) {
    static_cast<void>(SideStreams::of(here_));  // made before a recording
  }

  [[nodiscard]] std::uint64_t bytes() const override {
    return detail::DistributedProduct<T>::bytes() + of_blocks_.bytes() + finished_.bytes() + sums_.bytes() +
           halo_.bytes();
  }
  [[nodiscard]] std::unique_ptr<detail::TwoKernelCgSteps<T>> make_two_kernel_cg_steps() const override {
    return make_peer_cg_steps(this->local(), halo_, this->device());
  }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    if (alpha == T{1} && beta == T{0}) return enqueue(x, y, x, sums_.data());
    Array<T> product(this->rows(), Init::none, here_);
    enqueue(x, product.span(), x, sums_.data());
    combine<T>(here_, alpha, product.span(), beta, y);
  }

  ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const override {
    enqueue(x, y, w, sums_.data());
    ProductDots dots;
    copy_bytes(Device{}, &dots, here_, sums_.data(), sizeof(ProductDots));
    detail::require_answers(this->device());
    return dots;
  }

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override { return this; }

  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    enqueue_product(x, y, w, sums, nullptr);
  }
  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> x, std::span<T> y, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* halted) const override {
    enqueue_product(x, y, w, sums, halted);
    return {sums, 1};
  }

  void enqueue_product(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums,
                       const std::int32_t* halted) const {
    const DeviceGuard current(here_);
    const detail::EnqueuedProduct<T>& diagonal = *detail::EnqueuedProduct<T>::of(this->local().diagonal);
    std::span<const ProductDots> parts;
    {
      SideStreams::Fork fork(here_);
      fork.run(0, [&] {
        halo_.enqueue_send(PlainVector<T>{x.data()}, halted);
        halo_.enqueue_receive(halted);
      });
      parts = diagonal.enqueue_parts(x, y, w, sums, halted);
    }
    const auto count = static_cast<index_t>(this->local().boundary_rows.size());
    const Completion<T> completion{.count = count,
                                   .rows = this->local().boundary_rows.data(),
                                   .w = w.data(),
                                   .y = y.data(),
                                   .parts = parts.data(),
                                   .part_count = static_cast<int>(parts.size()),
                                   .of_blocks = reinterpret_cast<PlainSums<2>*>(of_blocks_.data()),
                                   .finished = finished_.data(),
                                   .sums = sums};
    const Grid grid{std::min(blocks_for(count, sum_threads), most_completing_blocks), sum_threads};
    halo_.with_halo_product([&]<class Z>(const Z& z) {
      launch("completing a product", Context::of(here_), grid, complete_product_kernel<T, Z>, completion, z,
             halo_.exchange(), halted);
    });
  }

  Device here_;
  mutable Array<double> of_blocks_;
  mutable Array<unsigned> finished_;
  mutable Array<ProductDots> sums_;  ///< of products that the host drives
  PeerHalo<T> halo_;
};

}  // namespace

template <class T>
std::unique_ptr<detail::DistributedProduct<T>> make_peer_product(detail::LocalMatrix<T> local,
                                                                 const detail::ExchangeLists& lists,
                                                                 const Device& device) {
  return std::make_unique<PeerProduct<T>>(std::move(local), lists, device);
}

template std::unique_ptr<detail::DistributedProduct<float>> make_peer_product(detail::LocalMatrix<float>,
                                                                              const detail::ExchangeLists&,
                                                                              const Device&);
template std::unique_ptr<detail::DistributedProduct<double>> make_peer_product(detail::LocalMatrix<double>,
                                                                               const detail::ExchangeLists&,
                                                                               const Device&);

}  // namespace tessera::cuda
