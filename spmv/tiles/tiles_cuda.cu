/// \file
/// Bitmap tiles on a GPU: dispatch by lanes per tile row; long tile rows by parts and a carry fix-up.
#include "core/cuda/launch.cuh"
#include "core/cuda/vector_ops.hpp"
#include "spmv/common/carries.cuh"
#include "spmv/common/dot_parts_kernel.hpp"
#include "spmv/multi_vector/csr_product.hpp"
#include "spmv/tiles/tile_values.hpp"
#include "spmv/tiles/tiles.hpp"
#include "spmv/tiles/tiles_kernel.cuh"
#include "spmv/tiles/tiles_panels.hpp"
#include "spmv/tiles/tiles_tuning.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

/// Values in the order of the tiles, and one more: a product loads before it knows what is there.
template <class T>
struct TileValues {
  Array<T> exact;       ///< none for a pattern matrix, and with `floats`
  Array<float> floats;  ///< the same, rounded, where that was asked for

  TileValues(const CsrView<T>& a, const SpmvOptions& options) {
    if (a.is_pattern()) return;
    const bool as_float = options.fp32_values && std::is_same_v<T, double>;
    exact = Array<T>(as_float ? 0 : a.nnz() + 1, Init::none, options.device);
    floats = Array<float>(as_float ? a.nnz() + 1 : 0, Init::none, options.device);
  }
  void update(const Device& device, const GpuTiles& tiles, std::span<const T> values) {
    if constexpr (std::is_same_v<T, double>) {
      if (!floats.empty()) return fill_tile_values<double, float>(device, tiles, values, floats.span());
    }
    fill_tile_values<T, T>(device, tiles, values, exact.span());
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return exact.bytes() + floats.bytes(); }

  /// function(terms) with the type of terms that the matrix has.
  template <class Function>
  void with_terms(bool is_pattern, std::span<const T> x, Function&& function) const {
    // Without columns there are no tiles.
    const auto last_column = static_cast<std::uint32_t>(x.empty() ? 0 : x.size() - 1);
    if (is_pattern) return function(DevicePatternTileTerms<T>{x.data(), last_column});
    if constexpr (std::is_same_v<T, double>) {
      if (!floats.empty()) return function(DeviceTileTerms<T, float>{floats.data(), x.data(), last_column});
    }
    function(DeviceTileTerms<T, T>{exact.data(), x.data(), last_column});
  }

  /// function(values) with those in the order of the tiles, as they are stored; none for a pattern.
  template <class Function>
  void with_stored(Function&& function) const {
    if constexpr (std::is_same_v<T, double>) {
      if (!floats.empty()) return function(floats.span());
    }
    function(exact.span());
  }
};

template <int Lanes, int TileLanes>
struct LaneCounts {
  static constexpr int lanes = Lanes;
  static constexpr int tile_lanes = TileLanes;
};

/// function(LaneCounts) with the numbers of the shape as constants.
template <class Function>
void with_lane_counts(const TilesShape& shape, Function&& function) {
  if (shape.lanes == 8) return function(LaneCounts<8, 8>{});
  if (shape.lanes == 16) {
    if (shape.tile_lanes == 8) return function(LaneCounts<16, 8>{});
    return function(LaneCounts<16, 16>{});
  }
  if (shape.tile_lanes == 8) return function(LaneCounts<32, 8>{});
  if (shape.tile_lanes == 16) return function(LaneCounts<32, 16>{});
  function(LaneCounts<32, 32>{});
}

template <class T>
class TilesCudaKernel final : public DotPartsKernel<T> {
 public:
  /// \param tiles of the matrix
  TilesCudaKernel(const CsrView<T>& a, const SpmvOptions& options, GpuTiles tiles)
      : DotPartsKernel<T>(options.device),
        device_(options.device),
        nnz_(a.nnz()),
        tiles_(std::move(tiles)),
        values_(a, options),
        sums_(tile_size * tiles_.parts(), Init::none, options.device),
        carries_(sums_.size(), options.device),
        panel_sums_(sums_per_part * tiles_.parts(), Init::none, options.device) {
    if (!a.is_pattern()) values_.update(device_, tiles_, a.values);
    if (tiles_.tile_rows() == 0 || tiles_.parts() > 0 || grid().blocks > most_tile_sum_blocks) return;
    of_block_ = Array<PlainSums<2>>(std::int64_t{grid().blocks} + 1, Init::none, device_);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const Context& context = Context::of(device_);
    const DeviceGuard current(device_);
    const UpdateEpilogue<T> epilogue{y.data(), alpha, beta};
    const std::scoped_lock lock(this->mutex_);
    values_.with_terms(a.is_pattern(), x, [&](const auto& terms) {
      using Terms = std::remove_cvref_t<decltype(terms)>;
      with_lane_counts(tiles_.shape, [&](auto counts) {
        using Counts = decltype(counts);
        launch("product of tile rows", context, grid(), tile_rows_kernel<Counts::lanes, Counts::tile_lanes, Terms, T>,
               tiles_.row_arrays(), tiles_.records.data(), terms, epilogue);
        if (tiles_.parts() > 0) add_long_rows<Counts::tile_lanes>(context, a, terms, epilogue);
      });
    });
  }

  bool apply_many(const CsrView<T>& /*a*/, T alpha, const MultiVectorView<const T>& x, T beta,
                  const MultiVectorView<T>& y) const override {
    if (detail::is_one_vector(x, y)) return false;
    const DeviceGuard current(device_);
    const std::scoped_lock lock(this->mutex_);
    values_.with_stored([&](const auto& values) {
      enqueue_panels<T>(Context::of(device_), tiles_, values, alpha, x, beta, y, panel_sums_.span());
    });
    return true;
  }

  void update_values(std::span<const T> values) override { values_.update(device_, tiles_, values); }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes =
        tiles_.bytes() + values_.bytes() + sums_.bytes() + carries_.bytes() + panel_sums_.bytes() + of_block_.bytes();
    info.reason += describe_tiles(tiles_.records.size(), nnz_);
  }

 private:
  [[nodiscard]] Grid grid() const {
    return {blocks_for(std::int64_t{tiles_.tile_rows()} * tiles_.shape.lanes, tiles_threads), tiles_threads};
  }
  /// Blocks of the product with inner products, each with its part of them; 0 where that takes several kernels.
  [[nodiscard]] std::int64_t parts_of_sum() const { return of_block_.empty() ? 0 : of_block_.size() - 1; }

  [[nodiscard]] bool leaves_parts() const override { return parts_of_sum() > 0; }
  [[nodiscard]] ProductDots* total() const override {
    return reinterpret_cast<ProductDots*>(of_block_.data() + parts_of_sum());
  }
  std::span<const ProductDots> launch_with_parts(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                                                 std::span<const T> w) const override {
    const Context& context = Context::of(device_);
    const DeviceGuard current(device_);
    const TileDotOutput<T> out{y.data(), w.data(), of_block_.data()};
    values_.with_terms(a.is_pattern(), x, [&](const auto& terms) {
      using Terms = std::remove_cvref_t<decltype(terms)>;
      with_lane_counts(tiles_.shape, [&](auto counts) {
        using Counts = decltype(counts);
        launch("product of tile rows with inner products", context, grid(),
               tile_rows_dot_kernel<Counts::lanes, Counts::tile_lanes, Terms, T>, tiles_.row_arrays(),
               tiles_.records.data(), terms, out);
      });
    });
    return {reinterpret_cast<const ProductDots*>(of_block_.data()), static_cast<std::size_t>(parts_of_sum())};
  }

  template <int TileLanes, class Terms>
  void add_long_rows(const Context& context, const CsrView<T>& a, const Terms& terms,
                     const UpdateEpilogue<T>& epilogue) const {
    const TilePartArrays parts = tiles_.part_arrays();
    launch("product of long tile rows", context,
           Grid{blocks_for(parts.count, tiles_threads / warp_size), tiles_threads},
           tile_parts_kernel<TileLanes, Terms, T>, parts, tiles_.records.data(), terms, sums_.data());
    carries_.join(context, RowOfPlace{parts}, sums_.data(), a.rows, epilogue);
  }

  Device device_;
  offset_t nnz_;
  GpuTiles tiles_;
  TileValues<T> values_;
  mutable Array<T> sums_;  ///< of the rows of each part, by PartOfTileRow::place()
  mutable CarryTree<T> carries_;
  mutable Array<T> panel_sums_;           ///< of the rows of each part and eight columns
  mutable Array<PlainSums<2>> of_block_;  ///< of the product with inner products: one per block, then the total
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_tiles_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  return std::make_unique<TilesCudaKernel<T>>(on_device, options, build_gpu_tiles(on_device, options.device));
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_shaped_tiles_kernel(const CsrView<T>& on_device, const SpmvOptions& options,
                                                        const TilesShape& shape) {
  return std::make_unique<TilesCudaKernel<T>>(on_device, options, build_gpu_tiles(on_device, options.device, shape));
}

template std::unique_ptr<SpmvKernel<float>> make_tiles_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_tiles_kernel(const CsrView<double>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<float>> make_shaped_tiles_kernel(const CsrView<float>&, const SpmvOptions&,
                                                                     const TilesShape&);
template std::unique_ptr<SpmvKernel<double>> make_shaped_tiles_kernel(const CsrView<double>&, const SpmvOptions&,
                                                                      const TilesShape&);

}  // namespace tessera::cuda
