#include "spmv/common/segments.hpp"
#include "spmv/csr5/csr5.hpp"
#include "spmv/csr5/tile_sum.hpp"

#include <algorithm>

namespace tessera::host {

namespace {

/// function(words) with the descriptors in the width they have.
template <class Function>
auto with_words(const Csr5Tiles& tiles, Function&& function) {
  if (tiles.descriptor_bits == 32) return function(tiles.lane_words_32.data());
  return function(tiles.lane_words_64.data());
}

/// Closes the rows of a run of tiles in order, each once, the empty ones between them included.
template <class T, class Epilogue>
class RowCloser {
 public:
  /// \param first_row the run's first; its sum may have a part in earlier runs
  RowCloser(index_t first_row, const Epilogue& epilogue)
      : epilogue_(epilogue), first_row_(first_row), open_(first_row) {}

  /// More of the open row.
  void add(T sum) noexcept { carry_ += sum; }

  /// Closes everything before `row`, which becomes the open one.
  void move_to(index_t row) noexcept {
    if (row == open_) return;
    close(open_, carry_);
    for (index_t empty = open_ + 1; empty < row; ++empty) close(empty, T{0});
    open_ = row;
    carry_ = T{0};
  }

  /// Closes `count` >= 1 rows from the open one, the first with what was added before; then the next is open.
  void close_run(const T* sums, index_t count) noexcept {
    close(open_, carry_ + sums[0]);
    ProductDots inner;  // in registers: the members might alias y
    for (index_t n = 1; n < count; ++n) epilogue_.store(open_ + n, sums[n], inner);
    dots_ += inner;
    open_ += count;
    carry_ = T{0};
  }

  /// What is left when the run has reached the row in which the next one begins.
  [[nodiscard]] Segment<T> finish() const noexcept { return {first_row_, open_, carry_, dots_}; }

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
    if (ended > 0) rows.close_run(segments, ended);
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

/// The tiles [run.begin, run.end), of which number tiles() is what lies beyond the tiles.
template <class T, class Word, class Terms, class Epilogue>
Segment<T> multiply_run(const CsrView<T>& a, const Csr5Tiles& tiles, const Word* words, Range run, const Terms& terms,
                        const Epilogue& epilogue) {
  RowCloser<T, Epilogue> rows(run.begin == 0 ? 0 : tiles.first_row(run.begin), epilogue);
  TileSums<T> sums;
  for (std::int64_t tile = run.begin; tile < std::min(run.end, tiles.tiles()); ++tile) {
    sum_tile<T>(words + tile * lanes_per_tile, tiles.sigma, terms, tile * tiles.nonzeros_per_tile(), sums);
    commit_tile(tiles, tile, sums, rows);
  }
  if (run.end > tiles.tiles()) {
    commit_rest(a, tiles, terms, rows);
    rows.move_to(a.rows);
  } else {
    rows.move_to(tiles.first_row(run.end));
  }
  return rows.finish();
}

template <class T, class Terms, class Epilogue>
ProductDots multiply(const Device& device, const CsrView<T>& a, const Csr5Tiles& tiles, const Terms& terms,
                     const Epilogue& epilogue) {
  const std::int64_t units = tiles.tiles() + 1;
  const std::int64_t runs = std::min(units, segment_count(a.nnz() + a.rows));
  Segments<T> calibrator;
  with_words(tiles, [&](const auto* words) {
    parallel_tasks(device, runs, [&](std::int64_t run) {
      calibrator[static_cast<std::size_t>(run)] =
          multiply_run<T>(a, tiles, words, part_of(units, runs, run), terms, epilogue);
    });
  });
  return join_segments<T>(std::span(calibrator).first(static_cast<std::size_t>(runs)), a.rows, epilogue);
}

}  // namespace

template <class T>
void csr5_apply(const Device& device, const CsrView<T>& permuted, const Csr5Tiles& tiles, T alpha, std::span<const T> x,
                T beta, std::span<T> y) {
  with_terms(permuted, x, [&](const auto& terms) {
    with_update(alpha, beta, y, [&](const auto& epilogue) { multiply(device, permuted, tiles, terms, epilogue); });
  });
}

template <class T>
ProductDots csr5_apply_and_dot(const Device& device, const CsrView<T>& permuted, const Csr5Tiles& tiles,
                               std::span<const T> x, std::span<T> y, std::span<const T> w) {
  return with_terms(permuted, x, [&](const auto& terms) {
    return multiply(device, permuted, tiles, terms, OverwriteAndDot<T>{y.data(), w.data()});
  });
}

template void csr5_apply(const Device&, const CsrView<float>&, const Csr5Tiles&, float, std::span<const float>, float,
                         std::span<float>);
template void csr5_apply(const Device&, const CsrView<double>&, const Csr5Tiles&, double, std::span<const double>,
                         double, std::span<double>);
template ProductDots csr5_apply_and_dot(const Device&, const CsrView<float>&, const Csr5Tiles&, std::span<const float>,
                                        std::span<float>, std::span<const float>);
template ProductDots csr5_apply_and_dot(const Device&, const CsrView<double>&, const Csr5Tiles&,
                                        std::span<const double>, std::span<double>, std::span<const double>);

}  // namespace tessera::host
