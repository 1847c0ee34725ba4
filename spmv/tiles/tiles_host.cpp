/// \file
/// Bitmap tiles on the host: tile rows split by the merge path of tiles and tile rows.
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/epilogue.hpp"
#include "spmv/multi_vector/csr_product.hpp"
#include "spmv/tiles/tile_structure.hpp"
#include "spmv/tiles/tiles.hpp"
#include "spmv/tiles/tiles_panels_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

namespace tessera {

std::string detail::describe_tiles(std::int64_t tiles, offset_t nnz) {
  const double fill = tiles > 0 ? static_cast<double>(nnz) / (64.0 * static_cast<double>(tiles)) : 0.0;
  return fmt::format("; {} tiles of 8 x 8, {:.3g} filled", tiles, fill);
}

namespace host {

namespace {

constexpr std::uint64_t full_tile = ~std::uint64_t{0};

/// Sums of the rows of a tile row.
template <class T>
using TileRowSums = std::array<T, tile_size>;

/// The products of a tile's entries with x.
template <class T>
struct WeightedTileTerms {
  const T* values;
  const T* x;

  /// \param first value of the tile \param column of tiles
  void add(std::uint64_t bitmap, offset_t first, index_t column, TileRowSums<T>& sums) const noexcept {
    const T* value = values + first;
    const T* const part = x + std::int64_t{column} * tile_size;
    if (bitmap == full_tile) {
      for (std::size_t r = 0; r < tile_size; ++r) {
        for (std::size_t c = 0; c < tile_size; ++c) sums[r] += value[r * tile_size + c] * part[c];
      }
      return;
    }
    for (std::uint64_t rest = bitmap; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
      sums[bit / tile_size] += *value++ * part[bit % tile_size];
    }
  }
};

/// The same where every value is 1.
template <class T>
struct PatternTileTerms {
  const T* x;

  void add(std::uint64_t bitmap, offset_t /*first*/, index_t column, TileRowSums<T>& sums) const noexcept {
    const T* const part = x + std::int64_t{column} * tile_size;
    for (std::uint64_t rest = bitmap; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
      sums[bit / tile_size] += part[bit % tile_size];
    }
  }
};

/// A row gets its terms in the order of its columns.
template <class T, class Terms, class Epilogue>
[[gnu::noinline]] ProductDots multiply_tile_rows(const TileView<T>& tiles, Range tile_rows, Terms terms,
                                                 Epilogue epilogue) {
  ProductDots dots;
  const offset_t* const offsets = tiles.tile_row_offsets.data();
  for (std::int64_t tile_row = tile_rows.begin; tile_row < tile_rows.end; ++tile_row) {
    TileRowSums<T> sums{};
    for (auto t = static_cast<std::size_t>(offsets[tile_row]); t < static_cast<std::size_t>(offsets[tile_row + 1]);
         ++t) {
      terms.add(tiles.bitmaps[t], tiles.value_offsets[t], tiles.tile_columns[t], sums);
    }
    const std::int64_t first_row = tile_row * tile_size;
    const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(tile_size, tiles.rows - first_row));
    for (std::size_t r = 0; r < rows; ++r) {
      epilogue.store(static_cast<index_t>(first_row) + static_cast<index_t>(r), sums[r], dots);
    }
  }
  return dots;
}

template <class T, class Terms, class Epilogue>
ProductDots multiply(const Device& device, const TileView<T>& tiles, offset_t nnz, const Terms& terms,
                     const Epilogue& epilogue) {
  const offset_t* const offsets = tiles.tile_row_offsets.data();
  const offset_t length = path_length(tiles.tile_rows(), tiles.tiles());
  const std::int64_t chunks = std::min(length, chunk_count(path_length(tiles.rows, nnz)));
  std::array<ProductDots, max_chunks> dots;
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range path = part_of(length, chunks, s);
    const Range tile_rows{merge_search(offsets, tiles.tile_rows(), tiles.tiles(), path.begin).y,
                          merge_search(offsets, tiles.tile_rows(), tiles.tiles(), path.end).y};
    dots[static_cast<std::size_t>(s)] = multiply_tile_rows<T>(tiles, tile_rows, terms, epilogue);
  });
  ProductDots total;
  for (std::int64_t s = 0; s < chunks; ++s) total += dots[static_cast<std::size_t>(s)];
  return total;
}

/// Values in the order of CSR, brought into that of the tiles of one tile row. Both orders keep a tile row together,
/// and in CSR its rows follow each other.
template <class T>
void fill_tile_row(const TileView<T>& tiles, std::int64_t tile_row, std::span<const T> from, std::span<T> to) {
  const auto begin = static_cast<std::size_t>(tiles.tile_row_offsets[static_cast<std::size_t>(tile_row)]);
  const auto end = static_cast<std::size_t>(tiles.tile_row_offsets[static_cast<std::size_t>(tile_row) + 1]);
  std::array<std::size_t, tile_size + 1> next{static_cast<std::size_t>(tiles.value_offsets[begin])};
  for (std::size_t t = begin; t < end; ++t) {
    for (std::size_t r = 0; r < tile_size; ++r) {
      next[r + 1] += static_cast<std::size_t>(std::popcount(tiles.bitmaps[t] >> (tile_size * r) & 0xff));
    }
  }
  for (std::size_t r = 0; r < tile_size; ++r) next[r + 1] += next[r];
  for (std::size_t t = begin; t < end; ++t) {
    auto place = static_cast<std::size_t>(tiles.value_offsets[t]);
    for (std::uint64_t rest = tiles.bitmaps[t]; rest != 0; rest &= rest - 1) {
      to[place++] = from[next[static_cast<std::size_t>(std::countr_zero(rest)) / tile_size]++];
    }
  }
}

template <class T>
class TilesHostKernel final : public SpmvKernel<T> {
 public:
  TilesHostKernel(const CsrView<T>& a, const SpmvOptions& options)
      : device_(options.device),
        tiles_(tile_structure(a, options.device)),
        values_(a.is_pattern() ? 0 : a.nnz(), Init::none, options.device) {
    if (!a.is_pattern()) fill_values(a.values);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_tile_terms(a, x, [&](const auto& terms) {
      with_epilogue(alpha, beta, y,
                    [&](const auto& epilogue) { multiply(device_, tiles_.view(), a.nnz(), terms, epilogue); });
    });
  }
  bool apply_many(const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                  const MultiVectorView<T>& y) const override {
    if (detail::is_one_vector(x, y)) return false;
    TileView<T> tiles = tiles_.view();
    tiles.storage = a.storage;
    tiles.values = values_.span();
    multiply_panels(device_, tiles, alpha, x, beta, y);
    return true;
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    ProductDots dots;
    with_tile_terms(a, x, [&](const auto& terms) {
      dots = multiply(device_, tiles_.view(), a.nnz(), terms, OverwriteAndDot<T>{y.data(), w.data()});
    });
    return dots;
  }
  void update_values(std::span<const T> values) override { fill_values(values); }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = tiles_.bytes() + values_.bytes();
    info.reason += describe_tiles(tiles_.tiles(), tiles_.nnz());
  }

 private:
  template <class Function>
  void with_tile_terms(const CsrView<T>& a, std::span<const T> x, Function&& function) const {
    if (a.is_pattern()) return function(PatternTileTerms<T>{x.data()});
    function(WeightedTileTerms<T>{values_.data(), x.data()});
  }

  void fill_values(std::span<const T> values) {
    const TileView<T> tiles = tiles_.view();
    const offset_t* const offsets = tiles.tile_row_offsets.data();
    const offset_t length = path_length(tiles.tile_rows(), tiles.tiles());
    const std::int64_t chunks = std::min(length, chunk_count(path_length(tiles.rows, values_.size())));
    for_each_chunk(device_, chunks, [&](std::int64_t s) {
      const Range path = part_of(length, chunks, s);
      const std::int64_t end = merge_search(offsets, tiles.tile_rows(), tiles.tiles(), path.end).y;
      for (std::int64_t tile_row = merge_search(offsets, tiles.tile_rows(), tiles.tiles(), path.begin).y;
           tile_row < end; ++tile_row) {
        fill_tile_row(tiles, tile_row, values, values_.span());
      }
    });
  }

  Device device_;
  TileMatrix<T> tiles_;  ///< without values
  Array<T> values_;      ///< in the order of the tiles; none for a pattern matrix
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_tiles_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return std::make_unique<TilesHostKernel<T>>(a, options);
}

template std::unique_ptr<SpmvKernel<float>> make_tiles_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_tiles_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace host
}  // namespace tessera
