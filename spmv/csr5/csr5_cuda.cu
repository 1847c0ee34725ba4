/// \file
/// CSR5 on a GPU: one warp per tile; carries of tiles in a calibrator.
#include "core/cuda/launch.cuh"
#include "core/cuda/vector_ops.hpp"
#include "preprocess/csr5_tiles.hpp"
#include "spmv/common/carries.cuh"
#include "spmv/csr5/csr5.hpp"
#include "spmv/csr5/csr5_kernel.cuh"
#include "spmv/csr5/csr5_tuning.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int threads = 128;
constexpr int warps_per_block = threads / warp_size;
/// Terms of a lane in flight: for lanes of few entries, more would cost resident warps.
constexpr int short_batch = 4;
constexpr int long_batch = 8;

/// The rows [first_row, end_row) of the nonzeros beyond the tiles.
struct Rest {
  index_t first_row = 0;
  index_t end_row = 0;
};

/// One warp per tile; behind them one warp per row of the rest.
template <int Batch, class Word, class Terms, class T>
__global__ void __launch_bounds__(threads)
    csr5_kernel(Csr5Arrays<Word> arrays, Rest rest, Terms terms, UpdateEpilogue<T> epilogue, T* calibrator) {
  const std::int64_t warp = std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp_size;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  if (warp < arrays.tiles) {
    multiply_csr5_tile<Batch>(arrays, warp, lane, terms, epilogue, calibrator);
    return;
  }
  const std::int64_t row = rest.first_row + (warp - arrays.tiles);
  if (row >= rest.end_row) return;
  const offset_t tiled = arrays.first_nonzero(arrays.tiles);
  const offset_t begin = arrays.row_offsets[row];
  const offset_t end = arrays.row_offsets[row + 1];
  // The rest is shorter than a tile.
  const offset_t first = (begin < tiled ? tiled : begin) + lane;
  T sum = strided_sum<4, warp_size, NextUse::never>(terms.from(first), static_cast<int>(end - first));
  for (unsigned distance = warp_size / 2; distance > 0; distance /= 2) {
    sum += __shfl_down_sync(full_warp, sum, distance);
  }
  if (lane != 0) return;
  if (begin >= tiled && begin < end) epilogue.store(static_cast<index_t>(row), sum);
  if (row == rest.first_row) calibrator[arrays.tiles] = begin >= tiled ? T{0} : sum;
}

/// The row of a tile's entry in the calibrator.
struct FirstRows {
  const std::uint32_t* tile_ptr;
  __device__ index_t operator()(std::int64_t tile) const {
    return static_cast<index_t>(tile_ptr[tile] & ~empty_row_mark);
  }
};

/// Rows per word of scale_empty_rows_kernel(); a warp has 32 words.
constexpr int rows_per_word = 32;

/// y = β y for empty rows, which are in no tile. A warp takes 32 words, one after the other.
template <class T>
__global__ void __launch_bounds__(threads)
    scale_empty_rows_kernel(std::int64_t words, const std::uint32_t* empty_rows, T beta, T* y) {
  const std::int64_t first = (std::int64_t{blockIdx.x} * warps_per_block + threadIdx.x / warp_size) * warp_size;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::uint32_t own = first + lane < words ? empty_rows[first + lane] : 0;
#pragma unroll 4
  for (int i = 0; i < warp_size; ++i) {
    const std::uint32_t word = __shfl_sync(full_warp, own, i);
    T* const row = y + (first + i) * rows_per_word + lane;
    if ((word >> lane & 1) != 0) *row = beta == T{0} ? T{0} : beta * *row;
  }
}

template <class T>
void scale_empty_rows(const Context& context, const Array<std::uint32_t>& empty_rows, T beta, T* y) {
  if (empty_rows.empty() || beta == T{1}) return;
  launch("scaling empty rows", context, Grid{blocks_for(empty_rows.size(), threads), threads},
         scale_empty_rows_kernel<T>, empty_rows.size(), empty_rows.data(), beta, y);
}

/// The values in the order of the tiles' columns.
template <class T>
struct PermutedValues {
  Array<T> exact;       ///< none for a pattern matrix, and with `floats`
  Array<float> floats;  ///< the same, rounded, where that was asked for

  PermutedValues(const CsrView<T>& a, const SpmvOptions& options) {
    if (a.is_pattern()) return;
    const bool as_float = options.fp32_values && std::is_same_v<T, double>;
    exact = Array<T>(as_float ? 0 : a.nnz(), Init::none, options.device);
    floats = Array<float>(as_float ? a.nnz() : 0, Init::none, options.device);
  }
  void update(const Device& device, const Csr5Tiles& tiles, std::span<const T> values) {
    if constexpr (std::is_same_v<T, double>) {
      if (!floats.empty()) return permute_csr5_values<double, float>(device, tiles, values, floats.span());
    }
    permute_csr5_values<T, T>(device, tiles, values, exact.span());
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return exact.bytes() + floats.bytes(); }
};

template <class T>
class Csr5CudaKernel final : public SpmvKernel<T> {
 public:
  /// \param values of the matrix, permuted
  Csr5CudaKernel(Csr5GpuTiles built, PermutedValues<T> values, const Device& device)
      : device_(device),
        tiles_(std::move(built.tiles)),
        begins_row_(std::move(built.begins_row)),
        empty_rows_(std::move(built.empty_rows)),
        rest_{built.rest_begin, built.rest_end},
        values_(std::move(values)),
        calibrator_(tiles_.tiles() + (rest_.end_row > rest_.first_row ? 1 : 0), Init::none, device_),
        carries_(calibrator_.size(), device_) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    const Context& context = Context::of(device_);
    const DeviceGuard current(device_);
    const std::scoped_lock lock(mutex_);
    scale_empty_rows(context, empty_rows_, beta, y.data());
    const UpdateEpilogue<T> epilogue{y.data(), alpha, beta};
    CsrView<T> permuted = a;
    permuted.columns = tiles_.columns.span();
    permuted.values = values_.exact.span();
    with_terms<T>(permuted, values_.floats.span(), x, [&](const auto& terms) {
      if (tiles_.descriptor_bits == 32) {
        multiply(context, a, tiles_.lane_words_32, terms, epilogue);
      } else {
        multiply(context, a, tiles_.lane_words_64, terms, epilogue);
      }
    });
    carries_.join(context, FirstRows{tiles_.tile_ptr.data()}, calibrator_.data(), a.rows, epilogue);
  }

  /// The product, then the sums in one pass, in an order that depends on the number of rows alone.
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    apply(a, T{1}, x, T{0}, y);
    return dots<T>(device_, y, w);
  }

  void update_values(std::span<const T> values) override { values_.update(device_, tiles_, values); }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::run_to_run;
    info.bytes = tiles_.bytes() + begins_row_.bytes() + empty_rows_.bytes() + values_.bytes() + calibrator_.bytes() +
                 carries_.bytes();
    info.sigma = tiles_.sigma;
    info.descriptor_bits = tiles_.descriptor_bits;
    info.tiles = tiles_.tiles();
  }

 private:
  template <class Word, class Terms>
  void multiply(const Context& context, const CsrView<T>& a, const Array<Word>& words, const Terms& terms,
                const UpdateEpilogue<T>& epilogue) const {
    const Csr5Arrays<Word> arrays{
        tiles_.tiles(), tiles_.sigma,       a.row_offsets.data(),    tiles_.tile_ptr.data(),
        words.data(),   begins_row_.data(), tiles_.empty_ptr.data(), tiles_.empty_offset.data()};
    const std::int64_t warps = arrays.tiles + (rest_.end_row - rest_.first_row);
    if (warps == 0) return;
    const auto kernel =
        tiles_.sigma < long_batch ? csr5_kernel<short_batch, Word, Terms, T> : csr5_kernel<long_batch, Word, Terms, T>;
    launch("product of CSR5 tiles", context, Grid{blocks_for(warps, warps_per_block), threads}, kernel, arrays, rest_,
           terms, epilogue, calibrator_.data());
  }

  Device device_;
  Csr5Tiles tiles_;
  Array<std::uint8_t> begins_row_;
  Array<std::uint32_t> empty_rows_;
  Rest rest_;
  PermutedValues<T> values_;
  mutable std::mutex mutex_;     ///< of the rest, from the first launch of a product to its last
  mutable Array<T> calibrator_;  ///< the part of each tile, and of the rest, of a row that began before it
  mutable CarryTree<T> carries_;
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& on_device, const SpmvOptions& options) {
  const Csr5Shape shape = choose_csr5_shape(options, csr5_policy<T>, on_device.rows, on_device.nnz());
  const Device& device = options.device;
  PermutedValues<T> values(on_device, options);
  Csr5GpuTiles built = build_csr5_tiles(device, on_device.rows, on_device.row_offsets, on_device.columns, shape.sigma,
                                        shape.descriptor_bits, [&](const Csr5Tiles& tiles) {
                                          if (!on_device.is_pattern()) values.update(device, tiles, on_device.values);
                                        });
  return std::make_unique<Csr5CudaKernel<T>>(std::move(built), std::move(values), device);
}

template std::unique_ptr<SpmvKernel<float>> make_csr5_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr5_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::cuda
