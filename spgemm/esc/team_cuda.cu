#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/cuda/carve_out.cuh"
#include "spgemm/esc/levels_cuda.hpp"
#include "spgemm/esc/team_rows.cuh"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

/// Threads of a block: one team, or four warps.
template <int Threads>
inline constexpr int block_threads = Threads == warp_size ? 128 : Threads;

/// Where the row of a team goes; every thread gets it, and must call.
template <int Threads, class V>
__device__ offset_t place_of_team(const RowOutput<V>& out, bool exists, index_t row, unsigned entries,
                                  offset_t* shared) {
  offset_t place = no_place;
  if (exists && Team<Threads>::thread() == 0) place = claim_place(out, row, entries);
  if constexpr (Team<Threads>::is_warp) {
    return __shfl_sync(full_warp, place, 0);
  } else {
    if (threadIdx.x == 0) *shared = place;
    __syncthreads();
    return *shared;
  }
}

/// \param products of the largest row
template <int Threads, int Each, class Key, class V>
__global__ void __launch_bounds__(block_threads<Threads>)
    esc_team_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, std::uint32_t products) {
  using Memory = TeamMemory<Threads, Each, Key, V>;
  constexpr int teams = block_threads<Threads> / Threads;
  const unsigned team = threadIdx.x / Threads;
  const unsigned i = blockIdx.x * teams + team;
  const bool exists = i < static_cast<unsigned>(batch.count);
  index_t row = 0;
  offset_t begin = 0;
  offset_t end = 0;
  PlaceKeys<Key> numbering;
  if (exists) {
    row = row_of(batch, static_cast<index_t>(i));
    begin = __ldg(factors.a_offsets + row);
    end = __ldg(factors.a_offsets + row + 1);
    numbering = {__ldg(batch.facts.first_columns + row), warp_size - __clz(static_cast<int>(Memory::places - 1))};
  }
  const Memory memory(dynamic_shared_memory() + team * Memory::bytes(products), products);
  TeamRow<Threads, Each, Key, V> sums(factors, numbering, memory);
  sums.expand(begin, end);
  sums.sort();
  const offset_t place = place_of_team<Threads>(out, exists, row, sums.entries(), memory.place);
  if (place != no_place) sums.contract(out, place);
}

template <int Threads, int Each, class Key, class V>
void launch_teams(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  using Memory = TeamMemory<Threads, Each, Key, V>;
  constexpr int teams = block_threads<Threads> / Threads;
  const auto kernel = esc_team_kernel<Threads, Each, Key, V>;
  // One product more for the row that has none.
  const std::uint32_t products = batch.most_products + 1;
  constexpr std::uint32_t most = Memory::places < esc_block_products ? Memory::places + 1 : esc_block_products + 1;
  allow_shared_bytes(kernel, teams * Memory::bytes(most));
  launch("sorting rows by teams", context,
         Grid{blocks_for(batch.count, teams), block_threads<Threads>, teams * Memory::bytes(products)}, kernel, factors,
         batch, out, products);
}

template <class Key, class V>
void launch_blocks(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if (batch.most_products <= 2048) return launch_teams<128, 16, Key>(context, factors, batch, out);
  if (batch.most_products <= 4096) return launch_teams<256, 16, Key>(context, factors, batch, out);
  launch_teams<512, 16, Key>(context, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_esc_warps(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                       const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const bool is_short = short_keys(batch.widest, std::bit_ceil(batch.most_products));
  if (is_short && batch.most_products <= esc_products) {
    enqueue_esc(context, RowPass::claim, factors, batch, out);
  } else if (is_short) {
    launch_teams<warp_size, 32, std::uint32_t>(context, factors, batch, out);
  } else if (batch.most_products <= 128) {
    launch_teams<warp_size, 4, std::uint64_t>(context, factors, batch, out);
  } else if (batch.most_products <= esc_products) {
    launch_teams<warp_size, 16, std::uint64_t>(context, factors, batch, out);
  } else {
    launch_teams<warp_size, 32, std::uint64_t>(context, factors, batch, out);
  }
}

template <class V>
void enqueue_esc_blocks(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const std::uint32_t places = std::bit_ceil(batch.most_products < 2048 ? 2048 : batch.most_products);
  if (short_keys(batch.widest, places)) {
    launch_blocks<std::uint32_t>(context, factors, batch, out);
  } else {
    launch_blocks<std::uint64_t>(context, factors, batch, out);
  }
}

template void enqueue_esc_warps(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc_warps(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc_warps(const Context&, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);
template void enqueue_esc_blocks(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc_blocks(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc_blocks(const Context&, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
