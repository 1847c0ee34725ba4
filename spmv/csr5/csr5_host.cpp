/// \file
/// CSR5 on the host. All lanes of a tile go through their entries together, as a warp would, so that the matrix is read
/// in order. No branch depends on where rows begin: each lane keeps the index of the sum that it adds to.
#include "preprocess/csr5_tiles.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/common/terms.hpp"
#include "spmv/csr5/csr5.hpp"
#include "spmv/csr5/csr5_tuning.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

namespace tessera {

namespace detail {

Csr5Shape choose_csr5_shape(const SpmvOptions& options, const Csr5Policy& policy, index_t rows, offset_t nnz) {
  const int sigma = options.sigma != 0 ? options.sigma : policy.sigma(std::max(rows, 1), nnz);
  const int narrowest = sigma <= csr5_max_sigma(32) ? 32 : 64;
  const int bits = options.descriptor_bits == 0 ? narrowest : options.descriptor_bits;
  if (sigma <= csr5_max_sigma(bits)) return {sigma, bits};
  throw NotSupported(fmt::format("{}-bit CSR5 descriptors hold at most sigma {}, {} {}", bits, csr5_max_sigma(bits),
                                 options.sigma != 0 ? "asked for" : "the mean row length asks for", sigma));
}

}  // namespace detail

namespace host {

namespace {

/// Sums of the segments of a tile; the last segment may continue after it.
template <class T>
struct TileSums {
  /// One cell per lane, for its entries before its first start; then one per segment.
  std::array<T, std::size_t{lanes_per_tile} * (1 + csr5_max_sigma(64))> cells;
  std::size_t count = 0;

  [[nodiscard]] const T* segments() const noexcept { return cells.data() + lanes_per_tile; }
  [[nodiscard]] T& segment(std::size_t n) noexcept { return cells[lanes_per_tile + n]; }
};

/// The cells in which the lanes of a tile sum.
struct LaneCells {
  std::array<std::uint32_t, lanes_per_tile> current;  ///< of the latest start; the lane's own before the first
  std::array<std::uint32_t, lanes_per_tile> next;     ///< of the next start

  template <DescriptorWord Word>
  LaneCells(const Word* words, int sigma) noexcept {
    for (std::uint32_t lane = 0; lane < lanes_per_tile; ++lane) {
      current[lane] = lane;
      next[lane] = lanes_per_tile + unpack_csr5_lane<Word>(words[lane], sigma).y_offset;
    }
  }

  /// Advances to entry j: the flags are the low bits of the words.
  template <DescriptorWord Word>
  void move_to(const Word* words, int j) noexcept {
    for (std::size_t lane = 0; lane < lanes_per_tile; ++lane) {
      const auto start = static_cast<std::uint32_t>(words[lane] >> j & 1);
      current[lane] = start != 0 ? next[lane] : current[lane];
      next[lane] += start;
    }
  }
};

/// One tile whose first nonzero is number `first` of the permuted matrix.
template <class T, DescriptorWord Word, class Terms>
[[gnu::noinline]] void sum_tile(const Word* words, int sigma, const Terms& terms, offset_t first,
                                TileSums<T>& sums) noexcept {
  const Csr5Lane<Word> last = unpack_csr5_lane<Word>(words[lanes_per_tile - 1], sigma);
  sums.count = last.y_offset + static_cast<std::size_t>(std::popcount(last.row_starts));
  if (sums.count == 1) {
    sums.segment(0) = sum_terms<T>(terms, first, first + offset_t{lanes_per_tile} * sigma);
    return;
  }
  std::fill_n(sums.cells.begin(), lanes_per_tile + sums.count, T{0});
  LaneCells cells(words, sigma);
  for (int j = 0; j < sigma; ++j, first += lanes_per_tile) {
    cells.move_to(words, j);
    for (std::size_t lane = 0; lane < lanes_per_tile; ++lane) {
      sums.cells[cells.current[lane]] += terms[first + static_cast<offset_t>(lane)];
    }
  }
  // What a lane has before its first start belongs to the segment that is open when it begins.
  for (std::size_t lane = 1; lane < lanes_per_tile; ++lane) {
    sums.segment(unpack_csr5_lane<Word>(words[lane], sigma).y_offset - 1) += sums.cells[lane];
  }
}

/// function(words) with the descriptors in the width they have.
template <class Function>
auto with_words(const Csr5Tiles& tiles, Function&& function) {
  if (tiles.descriptor_bits == 32) return function(tiles.lane_words_32.data());
  return function(tiles.lane_words_64.data());
}

/// Closes the rows of a chunk of tiles in order, each once, including the empty rows between them.
template <class T, class Epilogue>
class RowCloser {
 public:
  /// \param first_row of the chunk; earlier chunks may hold a part of its sum
  RowCloser(index_t first_row, const Epilogue& epilogue)
      : epilogue_(epilogue), first_row_(first_row), open_(first_row) {}

  /// Adds to the open row.
  void add(T sum) noexcept { carry_ += sum; }

  /// Closes everything before `row`, which becomes the open one.
  void move_to(index_t row) noexcept {
    if (row == open_) return;
    close(open_, carry_);
    for (index_t empty = open_ + 1; empty < row; ++empty) close(empty, T{0});
    open_ = row;
    carry_ = T{0};
  }

  /// Closes `count` >= 1 rows from the open one on, the first including what was added before; then the next is open.
  void close_rows(const T* sums, index_t count) noexcept {
    close(open_, carry_ + sums[0]);
    ProductDots inner;  // in registers: the members might alias y
    for (index_t n = 1; n < count; ++n) epilogue_.store(open_ + n, sums[n], inner);
    dots_ += inner;
    open_ += count;
    carry_ = T{0};
  }

  /// The result, once the row in which the next chunk begins is open.
  [[nodiscard]] PathChunk<T> finish() const noexcept { return {first_row_, open_, carry_, dots_}; }

 private:
  void close(index_t row, T sum) noexcept {
    if (row == first_row_) {
      epilogue_.store_shared(row, sum);
    } else {
      epilogue_.store(row, sum, dots_);
    }
  }

  const Epilogue& epilogue_;
  index_t first_row_;
  index_t open_;
  T carry_{0};
  ProductDots dots_;
};

template <class T, class Epilogue>
void commit_tile(const Csr5Tiles& tiles, std::int64_t tile, const TileSums<T>& sums,
                 RowCloser<T, Epilogue>& rows) noexcept {
  const index_t first_row = tiles.first_row(tile);
  const T* segments = sums.segments();
  const auto ended = static_cast<index_t>(sums.count - 1);
  rows.move_to(first_row);
  if (!tiles.has_empty_rows(tile)) {
    if (ended > 0) rows.close_rows(segments, ended);
  } else {
    const std::uint32_t* offset = tiles.empty_offset.data() + tiles.empty_ptr[tile];
    for (index_t n = 0; n < ended; ++n) {
      rows.add(segments[n]);
      rows.move_to(static_cast<index_t>(first_row + static_cast<std::int64_t>(offset[n + 1])));
    }
  }
  rows.add(segments[ended]);
}

/// The nonzeros beyond the tiles, row by row.
template <class T, class Terms, class Epilogue>
void commit_rest(const CsrView<T>& a, const Csr5Tiles& tiles, const Terms& terms,
                 RowCloser<T, Epilogue>& rows) noexcept {
  offset_t begin = tiles.tiled_nnz();
  for (index_t row = tiles.first_row(tiles.tiles()); row < a.rows; ++row) {
    const offset_t end = a.row_offsets[static_cast<std::size_t>(row) + 1];
    rows.move_to(row);
    rows.add(sum_terms<T>(terms, begin, end));
    begin = end;
  }
}

/// The tiles [chunk.begin, chunk.end); tile number tiles() stands for the nonzeros beyond the tiles.
template <class T, class Word, class Terms, class Epilogue>
PathChunk<T> multiply_chunk(const CsrView<T>& a, const Csr5Tiles& tiles, const Word* words, Range chunk,
                            const Terms& terms, const Epilogue& epilogue) {
  RowCloser<T, Epilogue> rows(chunk.begin == 0 ? 0 : tiles.first_row(chunk.begin), epilogue);
  TileSums<T> sums;
  for (std::int64_t tile = chunk.begin; tile < std::min(chunk.end, tiles.tiles()); ++tile) {
    sum_tile<T>(words + tile * lanes_per_tile, tiles.sigma, terms, tile * tiles.nonzeros_per_tile(), sums);
    commit_tile(tiles, tile, sums, rows);
  }
  if (chunk.end > tiles.tiles()) {
    commit_rest(a, tiles, terms, rows);
    rows.move_to(a.rows);
  } else {
    rows.move_to(tiles.first_row(chunk.end));
  }
  return rows.finish();
}

template <class T, class Terms, class Epilogue>
ProductDots multiply(const Device& device, const CsrView<T>& a, const Csr5Tiles& tiles, const Terms& terms,
                     const Epilogue& epilogue) {
  const std::int64_t units = tiles.tiles() + 1;
  const std::int64_t chunks = std::min(units, chunk_count(a.nnz() + a.rows));
  PathChunks<T> calibrator;
  with_words(tiles, [&](const auto* words) {
    for_each_chunk(device, chunks, [&](std::int64_t chunk) {
      calibrator[static_cast<std::size_t>(chunk)] =
          multiply_chunk<T>(a, tiles, words, part_of(units, chunks, chunk), terms, epilogue);
    });
  });
  return join_chunks<T>(std::span(calibrator).first(static_cast<std::size_t>(chunks)), a.rows, epilogue);
}

template <class T>
class Csr5HostKernel final : public SpmvKernel<T> {
 public:
  Csr5HostKernel(const Device& device, Csr5Tiles tiles, const CsrView<T>& a)
      : device_(device), tiles_(std::move(tiles)), values_(a.is_pattern() ? 0 : a.nnz(), Init::none, device) {
    if (!a.is_pattern()) permute_csr5_values(tiles_, a.values, values_.span(), device_);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    with_terms(permuted(a), x, [&](const auto& terms) {
      with_epilogue(alpha, beta, y, [&](const auto& epilogue) { multiply(device_, a, tiles_, terms, epilogue); });
    });
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return with_terms(permuted(a), x, [&](const auto& terms) {
      return multiply(device_, a, tiles_, terms, OverwriteAndDot<T>{y.data(), w.data()});
    });
  }
  void update_values(std::span<const T> values) override {
    permute_csr5_values(tiles_, values, values_.span(), device_);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = tiles_.bytes() + values_.bytes();
    info.sigma = tiles_.sigma;
    info.descriptor_bits = tiles_.descriptor_bits;
    info.tiles = tiles_.tiles();
  }

 private:
  /// Columns and values in the order of the tiles, row offsets of the matrix.
  [[nodiscard]] CsrView<T> permuted(const CsrView<T>& a) const noexcept {
    return {a.rows, a.cols, a.storage, a.row_offsets, tiles_.columns.span(), values_.span()};
  }

  Device device_;
  Csr5Tiles tiles_;
  Array<T> values_;  ///< in the order of tiles_.columns; none for a pattern matrix
};

}  // namespace

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  const Csr5Shape shape = choose_csr5_shape(options, csr5_policy<T>, a.rows, a.nnz());
  return std::make_unique<Csr5HostKernel<T>>(
      options.device,
      build_csr5_tiles(a.rows, a.row_offsets, a.columns, shape.sigma, shape.descriptor_bits, options.device), a);
}

template std::unique_ptr<SpmvKernel<float>> make_csr5_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr5_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace host
}  // namespace tessera
