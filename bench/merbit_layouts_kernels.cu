#include "bench/merbit_layouts.hpp"

#include "spmv/merbit/merbit_join_kernel.cuh"
#include "spmv/merbit/merbit_launch.cuh"

namespace tessera::bench {

using namespace detail;

namespace {

using namespace tessera::cuda;

std::string name_of(const std::string& kind, int sigma, int batch, int threads, int blocks) {
  return kind + " s" + std::to_string(sigma) + " b" + std::to_string(batch) + " " + std::to_string(threads) + "x" +
         std::to_string(blocks);
}

template <class T, class V, class Policy>
Variant<T, V> direct() {
  const std::string kind = Policy::width == 1 ? "scalar" : "vector";
  return {name_of(kind + (Policy::persistent ? ", persistent," : ","), Policy::sigma, Policy::batch, Policy::threads,
                  Policy::min_blocks),
          direct_product<T, V, Policy>()};
}

template <class T, class Policy>
Variant<T, Ones> columns() {
  const std::string kind = Policy::persistent ? "columns, persistent," : "columns,";
  return {name_of(kind, Policy::sigma, Policy::unroll, Policy::threads, Policy::min_blocks),
          columns_product<T, Ones, Policy>(), Policy::persistent ? local_columns_tiles : columns_tiles};
}

template <class T>
void add_columns(std::vector<Variant<T, Ones>>& variants) {
  variants.push_back(columns<T, ColumnsPolicy<13, 8, false, 128, 8, false>>());
  variants.push_back(columns<T, ColumnsPolicy<15, 8, false, 128, 8, false>>());
  variants.push_back(columns<T, ColumnsPolicy<21, 8, false, 128, 8, false>>());
  variants.push_back(columns<T, ColumnsPolicy<13, 5, true, 1024, 1, true>>());
  variants.push_back(columns<T, ColumnsPolicy<15, 5, true, 1024, 1, true>>());
}

}  // namespace

template <class T, class V>
std::vector<Variant<T, V>> merbit_variants() {
  constexpr bool wide = sizeof(T) == 8;
  std::vector<Variant<T, V>> variants{
      direct<T, V, DirectPolicy<13, 1, 7, 128, wide ? 8 : 10, false>>(),
      direct<T, V, DirectPolicy<17, 1, 7, 128, wide ? 7 : 9, false>>(),
      direct<T, V, DirectPolicy<21, 1, 7, 128, 8, false>>(),
      direct<T, V, DirectPolicy<21, 1, 7, 128, 8, true>>(),
      direct<T, V, DirectPolicy<21, 1, 11, 128, wide ? 5 : 6, false>>(),
      direct<T, V, DirectPolicy<15, 4, 2, 128, 8, true>>(),
      direct<T, V, DirectPolicy<11, 4, 2, 128, 8, true>>(),
      direct<T, V, DirectPolicy<13, 4, 3, 128, wide ? 6 : 9, true>>(),
      direct<T, V, DirectPolicy<17, 4, 4, 128, wide ? 5 : 8, false>>(),
      direct<T, V, DirectPolicy<17, 4, 4, 128, wide ? 5 : 8, true>>(),
  };
  if constexpr (std::is_same_v<V, Ones>) {
    variants.push_back({"rows", rows_product<T, V>()});
    add_columns(variants);
  }
  return variants;
}

template <class T>
void join_shared_rows(const cuda::Context& context, const SnappedTileArrays& tiles, const ProductOutput<T>& out) {
  const unsigned needed = blocks_for(tiles.tiles, join_threads);
  const unsigned blocks = needed < max_join_blocks ? needed : max_join_blocks;
  launch("joining shared rows", context, Grid{blocks, join_threads}, merbit_join_kernel<T, false, SnappedTileArrays>,
         tiles, out, DotSums{});
}

template std::vector<Variant<float, float>> merbit_variants();
template std::vector<Variant<float, Ones>> merbit_variants();
template std::vector<Variant<double, double>> merbit_variants();
template std::vector<Variant<double, Ones>> merbit_variants();
template void join_shared_rows(const cuda::Context&, const SnappedTileArrays&, const ProductOutput<float>&);
template void join_shared_rows(const cuda::Context&, const SnappedTileArrays&, const ProductOutput<double>&);

}  // namespace tessera::bench
