/// \file
/// CSR5 on a GPU: the product of one tile by one warp.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "preprocess/csr5_descriptor.hpp"
#include "preprocess/csr5_tiles.hpp"
#include "spmv/common/terms.cuh"

namespace tessera::cuda {

/// The arrays of Csr5GpuTiles, and the row offsets of the matrix.
template <class Word>
struct Csr5Arrays {
  std::int64_t tiles;
  int sigma;
  const offset_t* row_offsets;
  const std::uint32_t* tile_ptr;
  const Word* words;
  const std::uint8_t* begins_row;
  const offset_t* empty_ptr;
  const std::uint32_t* empty_offset;

  [[nodiscard]] __device__ offset_t first_nonzero(std::int64_t tile) const {
    return tile * lanes_per_tile * offset_t{sigma};
  }
};

/// Structure of a tile as a lane reads it: loaded before the first nonzeros, used after their loads were issued.
template <class Word>
struct TileStructure {
  Word word;
  std::uint32_t pointer;
  std::uint8_t begins_row;
  offset_t empty = 0;  ///< the tile's first entry in empty_offset, if it has any

  __device__ TileStructure(const Csr5Arrays<Word>& arrays, std::int64_t tile, int lane)
      : word(__ldcs(arrays.words + tile * lanes_per_tile + lane)),
        pointer(arrays.tile_ptr[tile]),
        begins_row(arrays.begins_row[tile]) {
    if (arrays.empty_ptr != nullptr) empty = arrays.empty_ptr[tile];
  }
};

/// Rows of the segments of a tile, and the output of their sums. The tile in which a row begins stores it; parts in
/// other tiles go to the calibrator: only the first segment of a tile can be such a part.
template <class T>
class SegmentRows {
 public:
  template <class Word>
  __device__ SegmentRows(const Csr5Arrays<Word>& arrays, std::int64_t tile, const TileStructure<Word>& structure,
                         const UpdateEpilogue<T>& epilogue, T* calibrator)
      : epilogue_(epilogue),
        calibrator_(calibrator + tile),
        first_row_(static_cast<index_t>(structure.pointer & ~empty_row_mark)),
        begins_row_(structure.begins_row != 0) {
    if ((structure.pointer & empty_row_mark) != 0) offset_ = arrays.empty_offset + structure.empty;
  }

  /// \param n in [-1, segments of the tile) \returns anything for -1
  [[nodiscard]] __device__ index_t row_of(int n) const {
    return first_row_ + (offset_ == nullptr || n <= 0 ? n : static_cast<index_t>(offset_[n]));
  }

  /// Rows of the segments that end where others start, with all loads in flight together.
  /// \param starts,open bit i: row[i] is wanted, for the segment before that start; the segment before the first
  template <int Batch>
  __device__ void rows_before(unsigned starts, int open, index_t (&row)[Batch]) const {
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const bool wanted = (starts & (1u << i)) != 0;
      row[i] = row_of(wanted ? open : 0);
      open += wanted ? 1 : 0;
    }
  }

  /// Stores the sum of segment number n, which lies in `row`.
  __device__ void store(int n, index_t row, T sum) const {
    if (n > 0) return epilogue_.store(row, sum);
    if (begins_row_) epilogue_.store(row, sum);
    *calibrator_ = begins_row_ ? T{0} : sum;
  }

 private:
  UpdateEpilogue<T> epilogue_;
  T* calibrator_;
  index_t first_row_;
  const std::uint32_t* offset_ = nullptr;
  bool begins_row_;
};

/// Terms of one lane whose loads are in flight together.
template <int Batch, class T>
struct TermBatch {
  T term[Batch];

  /// Loads entries of a lane from `entry` on, of which `left` exist; zeros after them. `left` is the same in every
  /// lane.
  template <class Terms>
  __device__ void load(const Terms& terms, offset_t entry, int left) {
    if (left >= Batch) {
#pragma unroll
      for (int i = 0; i < Batch; ++i) term[i] = terms[entry + i * lanes_per_tile];
    } else {
#pragma unroll
      for (int i = 0; i < Batch; ++i) term[i] = i < left ? terms[entry + i * lanes_per_tile] : T{0};
    }
  }
  [[nodiscard]] __device__ T sum() const {
    T sum = term[0];
#pragma unroll
    for (int i = 1; i < Batch; ++i) sum += term[i];
    return sum;
  }
};

/// Sums of the terms of one lane, cut where rows begin.
template <class T>
struct LaneSums {
  int segment;           ///< the one that is open
  T head{0};             ///< the terms before the lane's first start
  T sum{0};              ///< the terms since the latest start, or since the lane began
  bool started = false;  ///< there was a start

  /// \param starts bit i: whether term i begins a row
  template <int Batch>
  __device__ void add(const TermBatch<Batch, T>& batch, unsigned starts, const SegmentRows<T>& rows) {
    index_t ended[Batch];
    rows.rows_before(starts, segment, ended);
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      if ((starts & (1u << i)) != 0) start(rows, ended[i]);
      sum += batch.term[i];
    }
  }

 private:
  __device__ void start(const SegmentRows<T>& rows, index_t ended) {
    if (started) {
      rows.store(segment, ended, sum);
    } else {
      head = sum;
      started = true;
    }
    ++segment;
    sum = T{0};
  }
};

/// Sum of the heads of this lane and the following ones up to `last`. Every lane must call.
template <class T>
__device__ T sum_heads(T head, int lane, int last) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const T other = __shfl_down_sync(full_warp, head, static_cast<unsigned>(distance));
    if (lane + distance <= last) head += other;
  }
  return head;
}

/// The rest of a tile that is a single segment. Every lane of the warp must call. \param batch the first of the lane
template <int Batch, class Terms, class T>
__device__ void add_segment(int sigma, const Terms& terms, offset_t first, int lane, TermBatch<Batch, T>& batch,
                            const SegmentRows<T>& rows) {
  T sum = batch.sum();
  for (int j = Batch; j < sigma; j += Batch) {
    batch.load(terms, first + j * lanes_per_tile, sigma - j);
    sum += batch.sum();
  }
  sum = sum_over_lanes(sum);
  if (lane == 0) rows.store(0, rows.row_of(0), sum);
}

/// Multiplies a tile. Every lane of the warp must call. \param calibrator one entry per tile
template <int Batch, class Word, class Terms, class T>
__device__ void multiply_csr5_tile(const Csr5Arrays<Word>& arrays, std::int64_t tile, int lane, const Terms& terms,
                                   const UpdateEpilogue<T>& epilogue, T* calibrator) {
  const TileStructure<Word> structure(arrays, tile, lane);
  const offset_t first = arrays.first_nonzero(tile) + lane;
  TermBatch<Batch, T> batch;
  batch.load(terms, first, arrays.sigma);
  const SegmentRows<T> rows(arrays, tile, structure, epilogue, calibrator);
  const Csr5Lane<Word> content = unpack_csr5_lane<Word>(structure.word, arrays.sigma);
  Word starts = content.row_starts;
  const Word later = lane == 0 ? starts & ~Word{1} : starts;
  if (__any_sync(full_warp, later != 0) == 0) return add_segment(arrays.sigma, terms, first, lane, batch, rows);
  LaneSums<T> sums{static_cast<int>(content.y_offset) - 1};
  const index_t last_row = rows.row_of(sums.segment + count_flags(content.row_starts));
  for (int j = 0;;) {
    sums.add(batch, static_cast<unsigned>(starts), rows);
    j += Batch;
    if (j >= arrays.sigma) break;
    starts >>= Batch;
    batch.load(terms, first + j * lanes_per_tile, arrays.sigma - j);
  }
  // A segment continues through lanes without a start, up to the head of the next lane that has one.
  const T head = sums.started ? sums.head : sums.sum;
  const int next_start = lane + static_cast<int>(content.seg_offset) + 1;
  const int end = next_start < warp_size ? next_start : warp_size - 1;
  const T heads = sum_heads(head, lane, sums.started ? lane : end);
  const T following = __shfl_down_sync(full_warp, heads, 1);
  if (!sums.started) return;
  rows.store(sums.segment, last_row, lane < warp_size - 1 ? sums.sum + following : sums.sum);
}

}  // namespace tessera::cuda
