#include "core/cuda/check.hpp"
#include "spgemm/accumulate/accumulators_cuda.hpp"
#include "spgemm/accumulate/hash_cuda.cuh"

namespace tessera::cuda {

namespace {

template <int Slots>
void count_rows(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  using Shape = HashShape<Slots>;
  launch("entries of rows by hash tables", context,
         Grid{blocks_for(batch.count, Shape::rows), Shape::threads, Shape::rows * Slots * sizeof(index_t)},
         hash_count_kernel<Slots>, factors, batch, counts, lanes_for(batch.mean_list));
}

template <class Key, int Slots, class V>
void launch_rows(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  using Shape = HashShape<Slots>;
  constexpr std::size_t bytes = Shape::rows * HashLayout<V, Key, Slots>::bytes;
  const auto kernel = hash_kernel<V, Key, Slots>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
  launch("rows of a product in hash tables", context, Grid{blocks_for(batch.count, Shape::rows), Shape::threads, bytes},
         kernel, pass, factors, batch, out, lanes_for(batch.mean_list));
}

/// With keys as short as the widest row allows.
template <int Slots, class V>
void launch_rows(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (esc_fits(batch.widest, Slots)) {
    launch_rows<std::uint32_t, Slots>(context, pass, factors, batch, out);
  } else {
    launch_rows<std::uint64_t, Slots>(context, pass, factors, batch, out);
  }
}

template <int Slots, class V>
void run_pass(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
              const RowOutput<V>& out) {
  if (pass == RowPass::count) return count_rows<Slots>(context, positions_of(factors), batch, out.counts);
  launch_rows<Slots>(context, pass, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_hash(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const index_t most = batch.most_entries;
  if (most <= HashShape<512>::entries) return run_pass<512>(context, pass, factors, batch, out);
  if (most <= HashShape<1024>::entries) return run_pass<1024>(context, pass, factors, batch, out);
  if (most <= HashShape<2048>::entries) return run_pass<2048>(context, pass, factors, batch, out);
  if (most <= HashShape<4096>::entries) return run_pass<4096>(context, pass, factors, batch, out);
  run_pass<8192>(context, pass, factors, batch, out);
}

template void enqueue_hash(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_hash(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_hash(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&,
                           const RowOutput<NoValue>&);

}  // namespace tessera::cuda
