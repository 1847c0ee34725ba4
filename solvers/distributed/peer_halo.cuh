/// \file
/// The halo of a product on several GPUs that reach each other's memory. Every rank writes the elements that others
/// need into their memory, each with the number of the sum over ranks that ends the product, so that who waits for an
/// element polls the word itself: one way over NVLink, without a fence. That sum comes after all reads of the halo, so
/// the next product of any rank may overwrite it.
#pragma once

#include "core/cuda/memory.hpp"
#include "core/cuda/peer_exchange.cuh"
#include "solvers/distributed/product.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::cuda {

using detail::most_ranks;

/// Elements of a list, by ranks.
struct ByRanks {
  int ranks = 0;
  index_t offsets[most_ranks + 1] = {};

  [[nodiscard]] __device__ int rank_of(index_t i) const {
    int rank = 0;
    while (i >= offsets[rank + 1]) ++rank;
    return rank;
  }
};

struct HaloTargets {
  const index_t* rows = nullptr;  ///< own rows to send
  ByRanks by;
  NumberedWord* words[most_ranks] = {};  ///< where those for a rank begin, in its memory
};

struct HaloWords {
  const NumberedWord* words = nullptr;
  ByRanks by;

  template <class T>
  [[nodiscard]] __device__ T value(index_t slot, std::uint64_t number, PeerExchange& exchange) const {
    const std::uint64_t bits = await_peer(words + slot, number, by.rank_of(slot), exchange);
    return static_cast<T>(__longlong_as_double(static_cast<long long>(bits)));
  }
};

/// Whether the loop has halted, or another rank was lost.
[[nodiscard]] inline __device__ bool is_over(const PeerExchange& exchange, const std::int32_t* halted) {
  return (halted != nullptr && *halted != 0) || exchange.lost != 0;
}

/// x of a product.
template <class T>
struct PlainVector {
  const T* x;
  [[nodiscard]] __device__ const T* data() const { return x; }
};

/// Writes the elements of x that other ranks need into their memory. All threads of the grid.
template <class Elements>
__device__ void send_halo(const HaloTargets& to, const Elements& x, std::uint64_t number) {
  const index_t count = to.by.offsets[to.by.ranks];
  const auto stride = static_cast<index_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<index_t>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += stride) {
    const int rank = to.by.rank_of(i);
    const auto value = static_cast<double>(x[to.rows[i]]);
    store_relaxed_system(to.words[rank] + (i - to.by.offsets[rank]),
                         {static_cast<std::uint64_t>(__double_as_longlong(value)), number});
  }
}

template <class T, class Vector>
__global__ void send_halo_kernel(HaloTargets to, Vector vector, const PeerExchange* exchange,
                                 const std::int32_t* halted) {
  if (is_over(*exchange, halted)) return;
  send_halo(to, vector.data(), exchange->number + 1);
}

/// Words to plain elements.
template <class T>
__global__ void receive_halo_kernel(HaloWords from, T* halo, PeerExchange* exchange, const std::int32_t* halted) {
  if (is_over(*exchange, halted)) return;
  const std::uint64_t number = exchange->number + 1;
  const index_t count = from.by.offsets[from.by.ranks];
  const auto stride = static_cast<index_t>(gridDim.x * blockDim.x);
  for (auto i = static_cast<index_t>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += stride) {
    halo[i] = from.value<T>(i, number, *exchange);
  }
}

/// z_k, the product of boundary row k with the halo, where a plan has multiplied.
template <class T>
struct ByPlan {
  const T* z;
  __device__ T operator()(std::int64_t k, std::uint64_t /*number*/, PeerExchange& /*exchange*/) const { return z[k]; }
};

/// The same by the row itself, whose words may still be on their way.
template <class T>
struct ByRow {
  const offset_t* offsets;
  const index_t* columns;
  const T* values;  ///< null: a pattern
  HaloWords halo;
  __device__ T operator()(std::int64_t k, std::uint64_t number, PeerExchange& exchange) const {
    T sum{};
    for (offset_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      const T value = values == nullptr ? T{1} : values[e];
      sum += value * halo.value<T>(columns[e], number, exchange);
    }
    return sum;
  }
};

/// Of one rank and one matrix.
template <class T>
class PeerHalo {
 public:
  /// Made by all ranks at once. \param local outlives this
  PeerHalo(const detail::LocalMatrix<T>& local, const detail::ExchangeLists& lists, const Device& device)
      : local_(local), device_(device), words_(local.halo.size(), Init::zero, detail::alone(device)) {
    std::vector<index_t> rows;
    for (const std::vector<index_t>& each : lists.rows_for) {
      rows.insert(rows.end(), each.begin(), each.end());
      to_.by.offsets[++to_.by.ranks] = static_cast<index_t>(rows.size());
    }
    rows_ = Array<index_t>::copy_of(rows, detail::alone(device));
    to_.rows = rows_.data();
    from_.words = words_.data();
    from_.by.ranks = static_cast<int>(lists.rows_for.size());
    std::copy(lists.halo_offsets.begin(), lists.halo_offsets.end(), from_.by.offsets);
    connect();
    cuda::synchronize(device);
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return words_.bytes() + rows_.bytes(); }
  /// Own rows that others get, counted once for each.
  [[nodiscard]] std::int64_t sent() const noexcept { return rows_.size(); }
  /// Who gets which own rows.
  [[nodiscard]] const HaloTargets& targets() const noexcept { return to_; }
  [[nodiscard]] PeerExchange* exchange() const { return detail::rank_of(device_)->exchange; }

  /// The device is current, here and below.
  template <class Vector>
  void enqueue_send(const Vector& vector, const std::int32_t* halted) const {
    if (rows_.empty()) return;
    launch("sending the halo", context(), grid(rows_.size()), send_halo_kernel<T, Vector>, to_, vector,
           static_cast<const PeerExchange*>(exchange()), halted);
  }

  /// z, where a plan forms it.
  void enqueue_receive(const std::int32_t* halted) const {
    if (!local_.off_diagonal || is_short()) return;
    launch("receiving the halo", context(), grid(local_.halo.size()), receive_halo_kernel<T>, from_, local_.halo.data(),
           exchange(), halted);
    local_.off_diagonal->apply(local_.halo, local_.halo_product);
  }

  /// Whether who needs z takes the words itself: with few entries, a plan of their own takes longer.
  [[nodiscard]] bool is_short() const {
    if (!local_.off_diagonal) return false;
    const CsrView<T> a = local_.off_diagonal->matrix();
    return a.nnz() <= most_entries && a.nnz() <= most_entries_per_row * a.rows;
  }

  /// use(z) with a ByRow or a ByPlan.
  template <class Use>
  void with_halo_product(const Use& use) const {
    if (!is_short()) return use(ByPlan<T>{local_.halo_product.data()});
    const CsrView<T> a = local_.off_diagonal->matrix();
    use(ByRow<T>{a.row_offsets.data(), a.columns.data(), a.values.data(), from_});
  }

 private:
  static constexpr offset_t most_entries_per_row = 16;
  static constexpr offset_t most_entries = 1 << 20;

  [[nodiscard]] const Context& context() const { return Context::of(device_); }

  /// One block per multiprocessor at the most: they wait, beside the product with the diagonal block.
  [[nodiscard]] Grid grid(std::int64_t count) const {
    const auto most = static_cast<unsigned>(context().multiprocessors());
    return {std::min(blocks_for(count, sum_threads), most), sum_threads};
  }

  /// Tells all ranks where the elements for them go.
  void connect() {
    using Begins = std::array<index_t, most_ranks>;
    const detail::GroupRank& rank = *detail::rank_of(device_);
    const auto size = static_cast<std::size_t>(rank.communicator->size());
    std::vector<NumberedWord*> words(size);
    std::vector<Begins> begins(size);
    Begins own_begins{};
    std::copy_n(from_.by.offsets, size, own_begins.begin());
    rank.communicator->gather(rank.number, words_.data(), std::span(words));
    rank.communicator->gather(rank.number, own_begins, std::span(begins));
    for (std::size_t other = 0; other < size; ++other) {
      to_.words[other] = words[other] + begins[other][static_cast<std::size_t>(rank.number)];
    }
  }

  const detail::LocalMatrix<T>& local_;
  Device device_;
  Array<NumberedWord> words_;  ///< the halo as it arrives
  Array<index_t> rows_;
  HaloTargets to_;
  HaloWords from_;
};

}  // namespace tessera::cuda
