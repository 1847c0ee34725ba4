#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "spmv/merbit/carry_runs.hpp"
#include "spmv/merbit/join_kernel.cuh"

namespace tessera::cuda {

namespace {

template <class Tiles>
Array<CarryRun> runs_of(const Device& device, const Tiles& tiles) {
  Array<offset_t> before(tiles.tiles, Init::none, device);
  for_each(device, tiles.tiles, [tiles, to = before.data()] __device__(std::int64_t t) {
    to[t] = t > 0 && carry_run(tiles, t).count != 0 ? 1 : 0;
  });
  Array<CarryRun> runs(exclusive_sum(device, before.span()), Init::none, device);
  for_each(device, tiles.tiles, [tiles, from = before.data(), to = runs.data()] __device__(std::int64_t t) {
    if (t == 0) return;
    const CarryRun run = carry_run(tiles, t);
    if (run.count != 0) to[from[t]] = run;
  });
  return runs;
}

}  // namespace

Array<CarryRun> find_carry_runs(const Device& device, const MerbitTileArrays& tiles) {
  Array<CarryRun> runs;
  if (!tiles.share_rows) return runs;
  tiles.visit([&](const auto& arrays) { runs = runs_of(device, arrays); });
  return runs;
}

}  // namespace tessera::cuda
