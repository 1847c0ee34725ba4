/// \file
/// The blocked product on a GPU: the kernel object, and its plan.
#include "spmv/blocked/blocked.hpp"

#include "spmv/blocked/blocked_launch.cuh"
#include "spmv/blocked/blocked_ranks.hpp"
#include "spmv/common/device_kernel.hpp"
#include "spmv/merbit/merbit_join_kernel.cuh"
#include "spmv/merbit/rank_product_cuda.hpp"
#include "tessera/error.hpp"

#include <mutex>
#include <utility>

namespace tessera::cuda {

namespace {

using detail::SnappedTiles;

template <class T>
[[nodiscard]] SnappedTiles segment_tiles(const CsrView<T>& a, const Device& device) {
  const detail::TileRules rules = detail::walkable_tiles(BlockedPolicy<T>::sigma, choose_snap(a.rows, a.nnz()));
  return build_snapped_tiles(a.rows, a.row_offsets, a.nnz(), rules, device);
}

template <class T, class V>
class BlockedCudaKernel final : public DeviceKernel<T> {
 public:
  BlockedCudaKernel(const CsrView<T>& a, const SpmvOptions& options, const BlockedShape& shape)
      : DeviceKernel<T>(a, options),
        context_(&Context::of(options.device)),
        tiles_(segment_tiles(a, options.device)),
        halos_(build_halo_lists<T>(options.device, a.cols, a.columns, tiles_, shape)),
        slots_(halos_.slots(), Init::none, options.device),
        scratch_(options.device, share_rows() ? tiles_.tiles() : 0, halos_.segments()) {
    const DeviceGuard current(options.device);
    BlockedLaunch<T, V, ProductEpilogue<T, false>>::prepare(input(a));
    BlockedLaunch<T, V, ProductEpilogue<T, true>>::prepare(input(a));
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const DeviceGuard current(this->device());
    ProductOutput<T> out{y.data(), alpha, beta};
    out.carries = scratch_.carries.data();
    const std::scoped_lock lock(mutex_);
    BlockedLaunch<T, V, ProductEpilogue<T, false>>::start(*context_, input(a), x.data(), out);
    if (share_rows()) enqueue_join<false>(*context_, tile_arrays(), true, out, {});
  }

  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    const DeviceGuard current(this->device());
    const std::scoped_lock lock(mutex_);
    launch_with_dots(a, x, y, w, scratch_.total());
    ProductDots result;
    detail::copy_bytes(Device{}, &result, this->device(), scratch_.total(), sizeof(result));
    return result;
  }

  bool enqueue_apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w,
                             ProductDots* sums) const override {
    const DeviceGuard current(this->device());
    const std::scoped_lock lock(mutex_);
    launch_with_dots(a, x, y, w, sums);
    return true;
  }

  [[nodiscard]] std::unique_ptr<detail::RankProduct<T>> make_rank_product(const CsrView<T>& a,
                                                                          int vectors) const override {
    if (!a.is_pattern()) return nullptr;
    const MerbitTileArrays tiles{MerbitLayout::scalar, tile_arrays(), {}, share_rows(), {}};
    if (vectors == 1) return make_blocked_rank_product<T>(this->device(), tiles, halos_, a.nnz());
    return make_merbit_rank_product(this->device(), tiles, a, vectors);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = tiles_.bytes() + halos_.bytes() + slots_.bytes() + scratch_.bytes() + this->float_bytes();
    info.tiles = tiles_.tiles();
    info.reason += "; " + describe_blocks(halos_.segments(), halos_.blocks, halos_.shape.column_block, halos_.slots(),
                                          halos_.positions.size());
  }

 private:
  [[nodiscard]] bool share_rows() const { return tiles_.shared_starts > 0; }
  [[nodiscard]] SnappedTileArrays tile_arrays() const {
    return {tiles_.starts.data(), tiles_.lane_words.data(), tiles_.tiles()};
  }

  [[nodiscard]] BlockedInput<T, V> input(const CsrView<T>& a) const {
    BlockedInput<T, V> in{{halos_.positions.data(), nullptr, a.nnz()},
                          tile_arrays(),
                          halos_.arrays(),
                          halos_.items.size(),
                          halos_.shape.capacity,
                          slots_.data()};
    if constexpr (std::is_same_v<V, T>) {
      in.matrix.values = a.values.data();
    } else if constexpr (std::is_same_v<V, float>) {
      in.matrix.values = this->floats().data();
    }
    return in;
  }

  /// The caller holds the mutex.
  void launch_with_dots(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w,
                        ProductDots* total) const {
    ProductOutput<T> out{y.data()};
    out.carries = scratch_.carries.data();
    out.w = w.data();
    out.partial_dots = scratch_.partial.data();
    BlockedLaunch<T, V, ProductEpilogue<T, true>>::start(*context_, input(a), x.data(), out);
    enqueue_join<true>(*context_, tile_arrays(), share_rows(), out, scratch_.sums(total));
  }

  const Context* context_;
  SnappedTiles tiles_;
  HaloLists halos_;
  mutable std::mutex mutex_;  ///< of what follows, from the first launch of a product to its last
  mutable Array<T> slots_;
  mutable JoinScratch<T> scratch_;
};

/// \throws InvalidArgument for sizes that do not fit, NotSupported for arrays that no load of 16 bytes reaches
template <class T>
void check_blocked(const CsrView<T>& a, const BlockedShape& shape, const Device& device) {
  const Context& context = Context::of(device);
  check_blocked_shape(shape, blocked_shape<T>(context.limits()), halo_group<T>, most_slots_of<T>(shape.tiles_per_cut),
                      device.name());
  if (reinterpret_cast<std::uintptr_t>(a.values.data()) % 16 != 0) {
    throw NotSupported("kernel blocked needs values aligned to 16 bytes");
  }
}

}  // namespace

template <class T>
BlockedForecast forecast_blocked(const CsrView<T>& a, const Device& device) {
  const GatherSample gathers = sample_gathers(a.columns, static_cast<int>(sizeof(T)), device);
  return forecast_blocked({gathers.line_share(), a.rows, a.cols, a.nnz(), second_level_cache_bytes(device),
                           std::is_same_v<T, double>, a.is_pattern(), gathers.line_uses()});
}

template BlockedForecast forecast_blocked(const CsrView<float>&, const Device&);
template BlockedForecast forecast_blocked(const CsrView<double>&, const Device&);

template <class T>
std::unique_ptr<SpmvKernel<T>> make_blocked_kernel(const CsrView<T>& a, const SpmvOptions& options,
                                                   const BlockedShape& shape) {
  check_blocked(a, shape, options.device);
  if (a.is_pattern()) return std::make_unique<BlockedCudaKernel<T, Ones>>(a, options, shape);
  if constexpr (std::is_same_v<T, double>) {
    if (options.fp32_values) return std::make_unique<BlockedCudaKernel<T, float>>(a, options, shape);
  }
  return std::make_unique<BlockedCudaKernel<T, T>>(a, options, shape);
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_blocked_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return make_blocked_kernel(a, options, blocked_shape<T>(Context::of(options.device).limits()));
}

template std::unique_ptr<SpmvKernel<float>> make_blocked_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_blocked_kernel(const CsrView<double>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<float>> make_blocked_kernel(const CsrView<float>&, const SpmvOptions&,
                                                                const BlockedShape&);
template std::unique_ptr<SpmvKernel<double>> make_blocked_kernel(const CsrView<double>&, const SpmvOptions&,
                                                                 const BlockedShape&);

}  // namespace tessera::cuda
