#include "spgemm/cuda/workflows/automatic_tiles.hpp"

#include "core/cuda/context.hpp"
#include "preprocess/tile_estimate.hpp"
#include "spgemm/common/factors.hpp"
#include "spgemm/cuda/tiles/tile_choice.hpp"
#include "spgemm/cuda/tiles/tile_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

using Counted = std::span<const detail::CountedTiles>;

/// Samples tile rows of matrices with entries; the counts lie in page-locked memory.
template <class T>
class Sampler {
 public:
  explicit Sampler(const Device& device)
      : context_(Context::of(device)),
        current_(device),
        alone_(context_.sum_space().mutex),
        next_(static_cast<detail::CountedTiles*>(context_.sum_space().on_host)) {}

  /// Valid after wait(). At most two.
  [[nodiscard]] Counted enqueue(const CsrView<T>& matrix, bool by_entries, offset_t most_tiles) {
    const index_t tile_rows = detail::tiles_across(matrix.rows);
    const detail::SampledTileRows rows{tile_rows, std::min(tile_rows, most_direct_samples / 2), by_entries};
    enqueue_sample(context_, structure_of(matrix), rows, most_tiles, next_);
    return {std::exchange(next_, next_ + rows.count), static_cast<std::size_t>(rows.count)};
  }
  void wait() { context_.synchronize(); }

 private:
  const Context& context_;
  DeviceGuard current_;
  std::scoped_lock<std::mutex> alone_;
  detail::CountedTiles* next_;
};

/// Fills of both factors, which have entries.
template <class T>
std::pair<double, double> sample_fills(const CsrView<T>& a, const CsrView<T>& b, const Device& device) {
  Sampler<T> sampler(device);
  const offset_t most_tiles = TileSample().tiles;
  const Counted of_a = sampler.enqueue(a, false, most_tiles);
  const Counted of_b = same_arrays(a, b) ? of_a : sampler.enqueue(b, false, most_tiles);
  sampler.wait();
  const auto fill = [](const CsrView<T>& matrix, Counted rows) {
    const auto nnz = static_cast<double>(matrix.nnz());
    return nnz / (detail::tile_entries * detail::tiles_of_sample(nnz, detail::sum_of(rows)));
  };
  return {fill(a, of_a), fill(b, of_b)};
}

template <class T>
MixedProspect sample_entries(const CsrView<T>& a, const Device& device) {
  Sampler<T> sampler(device);
  const Counted sampled = sampler.enqueue(a, true, most_counted_tiles);
  sampler.wait();
  return mixed_prospect(static_cast<double>(a.nnz()), sampled);
}

}  // namespace

template <class V, class T>
TileChoice choose_tiles(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options) {
  const bool free_choice = options.workflow == SpgemmWorkflow::automatic && !options.short_rows &&
                           options.accumulator == SpgemmAccumulator::automatic &&
                           options.determinism != Determinism::gpu_to_gpu;
  if (!free_choice || !std::is_same_v<V, double>) return {};
  const TileProspect prospect{a.rows, b.rows, a.nnz(), b.nnz()};
  if (!has_fast_fp64_tensor(Context::of(options.device).limits())) return {};
  const bool samples_fills = may_pay_in_tiles(prospect);
  if (samples_fills) {
    const auto [a_fill, b_fill] = sample_fills(a, b, options.device);
    if (pays_in_tiles(prospect, a_fill, b_fill)) {
      return {TileShare::all,
              fmt::format("sampled tiles are {:.3g} full: about {:.3g} products in a pair of tiles, and {:.2g} pairs",
                          std::sqrt(a_fill * b_fill), detail::products_per_pair(a_fill, b_fill),
                          prospect.pairs(a_fill, b_fill))};
    }
  }
  if (!same_arrays(a, b) || !may_pay_in_part(prospect, samples_fills)) return {};
  const MixedProspect mixed = sample_entries(a, options.device);
  if (!mixed.pays()) return {};
  return {TileShare::some,
          fmt::format("{:.0f} % of the entries lie in tile rows that pay, by a sample: about {:.2g} products in {:.2g} "
                      "pairs of tiles",
                      100.0 * mixed.entries, mixed.products, mixed.pairs)};
}

template TileChoice choose_tiles<float>(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&);
template TileChoice choose_tiles<double>(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&);
template TileChoice choose_tiles<NoValue>(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&);
template TileChoice choose_tiles<NoValue>(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&);

}  // namespace tessera::cuda
