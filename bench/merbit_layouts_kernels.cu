#include "bench/merbit_layouts.hpp"

#include "spmv/merbit/join_kernel.cuh"
#include "spmv/merbit/product_launch.cuh"

namespace tessera::bench {

namespace {

using namespace tessera::cuda;

std::string name_of(const std::string& kind, int sigma, int width, int threads, int blocks) {
  return kind + " s" + std::to_string(sigma) + " u" + std::to_string(width) + " " + std::to_string(threads) + "x" +
         std::to_string(blocks);
}

template <class T, class V, class Policy>
Variant<T, V> direct(const std::string& kind) {
  using Launcher = DirectLaunch<T, V, Policy>;
  const auto prepare = [](const Context&) { return ResidentBlocks{Launcher::template prepare_one<false>(), 0}; };
  return {name_of(kind, Policy::sigma, Policy::batch, Policy::threads, Policy::min_blocks),
          {Policy::sigma, prepare, Launcher::template launch_one<false>, nullptr, slot_a_tile}};
}

template <class T, class V, class Policy>
Variant<T, V> pipelined(const std::string& kind, bool few_rows = true) {
  using Launcher = PipelinedLaunch<T, V, Policy>;
  const auto prepare = [](const Context&) { return ResidentBlocks{Launcher::template prepare_one<false>(), 0}; };
  return {name_of(kind, Policy::sigma, Policy::unroll, Policy::threads, Policy::min_blocks),
          {Policy::sigma, prepare, Launcher::template launch_one<false>, nullptr, slot_a_tile},
          Policy::sigma == 0 ? Policy::steps : 0,
          few_rows};
}

}  // namespace

template <class T, class V>
std::vector<Variant<T, V>> merbit_variants() {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int blocks = wide ? 3 : 4;
  constexpr int rows_steps = 928;
  return {
      direct<T, V, DirectPolicy<21, 1, 7, 128, 8, 1>>("scalar 1"),
      direct<T, V, DirectPolicy<21, 1, 7, 128, 8, 3>>("scalar 3"),
      direct<T, V, DirectPolicy<21, 1, 7, 128, 8, 0>>("scalar 0"),
      direct<T, V, DirectPolicy<21, 1, 10, 128, wide ? 5 : 7, 1>>("scalar 1"),
      direct<T, V, DirectPolicy<21, 1, 10, 128, wide ? 5 : 7, 0>>("scalar 0"),
      direct<T, V, DirectPolicy<17, 1, 7, 128, wide ? 7 : 9, 1>>("scalar 1"),
      direct<T, V, DirectPolicy<15, 4, 2, 128, 8, 0>>("vector 0"),
      direct<T, V, DirectPolicy<15, 4, 4, 128, wide ? 5 : 8, 1>>("vector 1"),
      direct<T, V, DirectPolicy<15, 4, 4, 128, wide ? 5 : 8, 0>>("vector 0"),
      direct<T, V, DirectPolicy<17, 4, 4, 128, wide ? 5 : 8, 1>>("vector 1"),
      direct<T, V, DirectPolicy<17, 4, 4, 128, wide ? 5 : 8, 2>>("vector 2"),
      direct<T, V, DirectPolicy<17, 4, 4, 128, wide ? 5 : 8, 0>>("vector 0"),
      direct<T, V, DirectPolicy<17, 4, 4, 64, wide ? 10 : 16, 0>>("vector 0"),
      direct<T, V, DirectPolicy<19, 4, 4, 128, wide ? 5 : 8, 0>>("vector 0"),
      direct<T, V, DirectPolicy<13, 4, 3, 128, wide ? 6 : 9, 1>>("vector 1"),
      direct<T, V, DirectPolicy<13, 4, 3, 128, wide ? 6 : 9, 3>>("vector 3"),
      direct<T, V, DirectPolicy<13, 4, 3, 128, wide ? 6 : 9, 0>>("vector 0"),
      direct<T, V, DirectPolicy<13, 4, 3, 64, wide ? 12 : 18, 0>>("vector 0"),
      direct<T, V, DirectPolicy<9, 4, 2, 128, wide ? 8 : 10, 0>>("vector 0"),
      direct<T, V, DirectPolicy<11, 4, 2, 128, wide ? 8 : 10, 0>>("vector 0"),
      pipelined<T, V, PipelinePolicy<11, 6, 256, blocks>>("pipelined"),
      pipelined<T, V, PipelinePolicy<0, 9, 96, wide ? 3 : 4, false, rows_steps>>("rows"),
      pipelined<T, V, PipelinePolicy<0, 14, 96, wide ? 3 : 4, false, rows_steps>>("rows"),
      pipelined<T, V, PipelinePolicy<0, 14, 128, wide ? 2 : 3, false, rows_steps>>("rows"),
  };
}

template <class T>
void join_shared_rows(const Context& context, const SnappedTileArrays& tiles, const ProductOutput<T>& out) {
  const unsigned needed = blocks_for(tiles.tiles, join_threads);
  const unsigned blocks = needed < max_join_blocks ? needed : max_join_blocks;
  launch("joining shared rows", context, Grid{blocks, join_threads}, join_kernel<T, false, SnappedTileArrays>, tiles,
         out, DotSums{});
}

template std::vector<Variant<float, float>> merbit_variants();
template std::vector<Variant<float, Ones>> merbit_variants();
template std::vector<Variant<double, double>> merbit_variants();
template std::vector<Variant<double, Ones>> merbit_variants();
template void join_shared_rows(const Context&, const SnappedTileArrays&, const ProductOutput<float>&);
template void join_shared_rows(const Context&, const SnappedTileArrays&, const ProductOutput<double>&);

}  // namespace tessera::bench
