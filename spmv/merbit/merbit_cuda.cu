/// \file
/// MERBIT on a GPU: the kernel object.
#include "spmv/merbit/merbit.hpp"

#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "spmv/merbit/merbit_arrays.hpp"
#include "spmv/merbit/merbit_join_kernel.cuh"
#include "spmv/merbit/merbit_plan.hpp"
#include "spmv/merbit/rank_product_cuda.hpp"

#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

/// A free function, since nvcc takes no lambdas from private members.
template <class T>
void round_to_float(const Device& device, std::span<const T> values, Array<float>& rounded) {
  const T* const from = values.data();
  float* const to = rounded.data();
  for_each(device, rounded.size(), [=] __device__(std::int64_t k) { to[k] = static_cast<float>(from[k]); });
}

template <class T, class V>
class MerbitCudaKernel final : public InspectableMerbitKernel<T> {
  static constexpr bool rounds_values = std::is_same_v<V, float> && !std::is_same_v<T, float>;

 public:
  MerbitCudaKernel(const Device& device, const CsrView<T>& a, PlannedTiles tiles, bool atomic)
      : device_(device),
        context_(&Context::of(device)),
        tiles_(std::move(tiles)),
        product_(merbit_product<T, V>(tiles_.layout, tiles_.hubs.arrays().storage())),
        atomic_(atomic && tiles_.share_rows()) {
    arrays_.layout = tiles_.layout;
    arrays_.share_rows = tiles_.share_rows();
    arrays_.hubs = tiles_.hubs.arrays();
    if (tiles_.are_exact()) {
      arrays_.exact = tiles_.exact_arrays();
    } else {
      arrays_.snapped = tiles_.snapped_arrays();
    }
    const DeviceGuard current(device_);
    resident_ = product_.prepare(*context_);
    const std::int64_t part_count = product_.dot_parts(*context_, resident_, tiles_.count());
    scratch_ = JoinScratch<T>(device_, tiles_.share_rows() ? tiles_.count() : 0, part_count);
    packed_ = Array<T>(tiles_.hubs.columns.size(), Init::none, device_);
    if constexpr (rounds_values) {
      rounded_ = Array<float>(a.nnz(), Init::none, device_);
      round_to_float(device_, a.values, rounded_);
    }
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const DeviceGuard current(device_);
    ProductOutput<T> out{y.data(), alpha, beta};
    if (!tiles_.share_rows()) return launch_alone(input(a, x), out);
    out.carries = scratch_.carries.data();
    const std::scoped_lock lock(mutex_);
    product_.launch(*context_, resident_, input(a, x), out);
    join<false>(out, {});
  }

  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return apply_and_dot_clearing(a, x, y, {}, w);
  }

  bool enqueue_apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w,
                             ProductDots* sums) const override {
    const DeviceGuard current(device_);
    const std::scoped_lock lock(mutex_);
    launch_with_dots(a, x, y, {}, w, sums);
    return true;
  }

  void update_values(std::span<const T> values) override {
    if constexpr (rounds_values) round_to_float(device_, values, rounded_);
  }

  [[nodiscard]] typename DualBuffer<T>::Mode output_mode() const override {
    return atomic_ ? DualBuffer<T>::Mode::dual : DualBuffer<T>::Mode::single;
  }

  void prepare_dual(std::span<T> y) const override {
    const DeviceGuard current(device_);
    arrays_.visit([&](const auto& tiles) {
      launch("clearing shared rows", *context_, Grid{blocks_for(tiles.tiles, join_threads), join_threads},
             merbit_clear_shared_kernel<T, std::remove_cvref_t<decltype(tiles)>>, tiles, y.data());
    });
  }

  void apply_dual(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other) const override {
    const DeviceGuard current(device_);
    ProductOutput<T> out{y.data()};
    out.other = other.data();
    launch_alone(input(a, x), out);
  }

  /// Inner products need whole rows, so the shared ones come together by carries here too.
  ProductDots apply_dual_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other,
                                 std::span<const T> w) const override {
    return apply_and_dot_clearing(a, x, y, other, w);
  }

  [[nodiscard]] const MerbitTileArrays& tiles() const noexcept override { return arrays_; }

  [[nodiscard]] std::unique_ptr<detail::RankProduct<T>> make_rank_product(const CsrView<T>& a,
                                                                          int vectors) const override {
    return make_merbit_rank_product(device_, arrays_, a, vectors);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = atomic_ ? Determinism::not_guaranteed : Determinism::run_to_run;
    info.bytes = tiles_.bytes() + scratch_.bytes() + rounded_.bytes() + packed_.bytes();
    info.sigma = tiles_.are_exact() ? tiles_.exact.sigma : tiles_.snapped.rules.sigma;
    info.descriptor_bits = tiles_.are_exact() ? tiles_.exact.descriptor_bits : info.sigma > 0 ? 32 : 0;
    info.tiles = tiles_.count();
    if (!tiles_.reason.empty()) info.reason += "; " + tiles_.reason;
    if (!tiles_.hubs.empty()) info.reason += "; " + describe_hubs(tiles_.hubs);
  }

 private:
  [[nodiscard]] ProductInput<T, V> input(const CsrView<T>& a, std::span<const T> x) const {
    const HubArrays& hubs = arrays_.hubs;
    const index_t* const columns = hubs.count > 0 ? hubs.codes : a.columns.data();
    ProductInput<T, V> in{{columns, nullptr, a.nnz()}, arrays_.snapped, arrays_.exact, x.data(), hubs, packed_.data()};
    if constexpr (rounds_values) {
      in.matrix.values = rounded_.data();
    } else if constexpr (std::is_same_v<V, T>) {
      in.matrix.values = a.values.data();
    }
    return in;
  }

  /// A product without carries.
  void launch_alone(const ProductInput<T, V>& in, const ProductOutput<T>& out) const {
    std::unique_lock<std::mutex> lock;
    if (in.hubs.count > 0) lock = std::unique_lock(mutex_);
    product_.launch(*context_, resident_, in, out);
  }

  /// \param other with shared rows to clear, or empty
  ProductDots apply_and_dot_clearing(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other,
                                     std::span<const T> w) const {
    const DeviceGuard current(device_);
    ProductDots* const total = scratch_.total();
    const std::scoped_lock lock(mutex_);
    launch_with_dots(a, x, y, other, w, total);
    ProductDots result;
    detail::copy_bytes(Device{}, &result, device_, total, sizeof(result));
    return result;
  }

  /// The caller holds the mutex.
  void launch_with_dots(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other,
                        std::span<const T> w, ProductDots* total) const {
    const ProductOutput<T> out{
        y.data(), T{1}, T{0}, scratch_.carries.data(), other.data(), w.data(), scratch_.partial.data()};
    product_.launch_with_dots(*context_, resident_, input(a, x), out);
    join<true>(out, scratch_.sums(total));
  }

  template <bool WithDots>
  void join(const ProductOutput<T>& out, const DotSums& sums) const {
    arrays_.visit([&](const auto& tiles) { enqueue_join<WithDots>(*context_, tiles, tiles_.share_rows(), out, sums); });
  }

  Device device_;
  const Context* context_;
  PlannedTiles tiles_;
  MerbitTileArrays arrays_;  ///< where tiles_ lie
  MerbitProduct<T, V> product_;
  ResidentBlocks resident_;
  bool atomic_;
  Array<float> rounded_;  ///< float copy of the values of a double matrix (fp32_values)
  mutable JoinScratch<T> scratch_;
  mutable Array<T> packed_;   ///< x for slots and hubs
  mutable std::mutex mutex_;  ///< held while launches that share what is mutable are put into the stream
};

template <class T, class V>
std::unique_ptr<InspectableMerbitKernel<T>> make_kernel(const CsrView<T>& a, const SpmvOptions& options,
                                                        const MerbitTuning& tuning) {
  PlannedTiles tiles = plan_tiles<T, V>(a, options, tuning);
  const bool atomic = options.determinism == Determinism::not_guaranteed && !tiles.crowd_rows();
  return std::make_unique<MerbitCudaKernel<T, V>>(options.device, a, std::move(tiles), atomic);
}

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

template <class T>
std::unique_ptr<InspectableMerbitKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options,
                                                               const MerbitTuning& tuning) {
  if (a.is_pattern()) return make_kernel<T, Ones>(a, options, tuning);
  if (options.fp32_values) return make_kernel<T, float>(a, options, tuning);
  return make_kernel<T, T>(a, options, tuning);
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return make_merbit_kernel(a, options, MerbitTuning{});
}

template std::unique_ptr<SpmvKernel<float>> make_merbit_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_merbit_kernel(const CsrView<double>&, const SpmvOptions&);
template std::unique_ptr<InspectableMerbitKernel<float>> make_merbit_kernel(const CsrView<float>&, const SpmvOptions&,
                                                                            const MerbitTuning&);
template std::unique_ptr<InspectableMerbitKernel<double>> make_merbit_kernel(const CsrView<double>&, const SpmvOptions&,
                                                                             const MerbitTuning&);

}  // namespace tessera::cuda
