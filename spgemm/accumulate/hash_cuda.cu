#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/accumulate/hash_cuda.cuh"
#include "spgemm/cuda/carve_out.cuh"
#include "spgemm/esc/levels.hpp"

namespace tessera::cuda {

namespace {

template <int Slots>
void count_rows(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  using Shape = HashShape<Slots>;
  launch("entries of rows by hash tables", context,
         Grid{blocks_for(batch.count, Shape::rows), Shape::threads, Shape::rows * Slots * sizeof(index_t)},
         hash_count_kernel<Slots>, factors, batch, counts);
}

template <class Key, int Slots, HashSums Sums, class V>
void launch_rows(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  using Shape = HashShape<Slots>;
  constexpr std::size_t bytes = Shape::rows * HashLayout<V, Key, Slots, Sums>::bytes;
  const auto kernel = hash_kernel<V, Key, Slots, Sums>;
  allow_shared_bytes(kernel, bytes);
  launch("rows of a product in hash tables", context, Grid{blocks_for(batch.count, Shape::rows), Shape::threads, bytes},
         kernel, pass, factors, batch, out);
}

/// With keys as short as the widest row allows.
template <int Slots, HashSums Sums, class V>
void launch_rows(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (short_keys(batch.widest, Slots)) {
    launch_rows<std::uint32_t, Slots, Sums>(context, pass, factors, batch, out);
  } else {
    launch_rows<std::uint64_t, Slots, Sums>(context, pass, factors, batch, out);
  }
}

template <int Slots, class V>
void run_pass(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
              const RowOutput<V>& out, [[maybe_unused]] bool ordered) {
  if (pass == RowPass::count) return count_rows<Slots>(context, positions_of(factors), batch, out.counts);
  if constexpr (HashShape<Slots>::team != warp_size && has_values<V>) {
    if (!ordered) return launch_rows<Slots, HashSums::in_product>(context, pass, factors, batch, out);
  }
  launch_rows<Slots, HashSums::in_table>(context, pass, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_hash(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out, bool ordered) {
  if (batch.count == 0) return;
  const index_t most = batch.most_entries;
  if (most <= HashShape<512>::entries) return run_pass<512>(context, pass, factors, batch, out, ordered);
  if (most <= HashShape<1024>::entries) return run_pass<1024>(context, pass, factors, batch, out, ordered);
  if (most <= HashShape<2048>::entries) return run_pass<2048>(context, pass, factors, batch, out, ordered);
  if (most <= HashShape<4096>::entries) return run_pass<4096>(context, pass, factors, batch, out, ordered);
  run_pass<8192>(context, pass, factors, batch, out, ordered);
}

template void enqueue_hash(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&,
                           bool);
template void enqueue_hash(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&,
                           bool);
template void enqueue_hash(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&,
                           bool);

}  // namespace tessera::cuda
