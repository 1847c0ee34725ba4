/// \file
/// Sliced ELL: a census of the rows.
#include "core/cuda/reduce.cuh"
#include "spmv/sell/sell_rows.cuh"
#include "spmv/sell/sell_slices.hpp"

namespace tessera::cuda {

using namespace detail;

namespace {

/// Rows of the largest slice.
constexpr int most_slice_rows = 128;

struct CensusSums {
  double long_rows = 0.0;
  double long_nonzeros = 0.0;
  double longest_long = 0.0;
  double longest = 0.0;
  double farthest = 0.0;
  double places_of_64 = 0.0;
  double places_of_128 = 0.0;

  __device__ CensusSums& operator+=(const CensusSums& other) {
    long_rows += other.long_rows;
    long_nonzeros += other.long_nonzeros;
    longest_long = fmax(longest_long, other.longest_long);
    longest = fmax(longest, other.longest);
    farthest = fmax(farthest, other.farthest);
    places_of_64 += other.places_of_64;
    places_of_128 += other.places_of_128;
    return *this;
  }
};

/// Looks at row `row` and at the columns at its ends. \returns its length in a slice
__device__ int count_row(const SlicedCsr& csr, const index_t* columns, std::int64_t row, CensusSums& sums) {
  offset_t whole = 0;
  const int length = csr.sliced_length(row, whole);
  if (whole > csr.limit) {
    sums.long_rows += 1.0;
    sums.long_nonzeros += static_cast<double>(whole);
    sums.longest_long = fmax(sums.longest_long, static_cast<double>(whole));
  } else if (length > 0) {
    const offset_t begin = csr.offsets[row];
    const auto before = static_cast<double>(row - columns[begin]);
    const auto after = static_cast<double>(columns[begin + length - 1] - row);
    sums.farthest = fmax(sums.farthest, fmax(before, after));
    sums.longest = fmax(sums.longest, static_cast<double>(length));
  }
  return length;
}

}  // namespace

SellCensus take_sell_census(const Device& device, std::span<const offset_t> row_offsets,
                            std::span<const index_t> columns) {
  const auto rows = static_cast<index_t>(row_offsets.size() - 1);
  const auto nnz = static_cast<offset_t>(columns.size());
  SellCensus census;
  census.long_rows.limit = longest_sliced_row(rows > 0 ? static_cast<double>(nnz) / rows : 0.0);
  const SlicedCsr csr{rows, census.long_rows.limit, row_offsets.data()};
  const index_t* const from = columns.data();
  const std::int64_t slices = (std::int64_t{rows} + most_slice_rows - 1) / most_slice_rows;
  // Whole warps, whose lanes find the widths of slices together.
  const auto sums =
      fused_values<CensusSums>(device, slices * warp_size, [=] __device__(std::int64_t i, CensusSums & own) {
        const std::int64_t row = i / warp_size * most_slice_rows + i % warp_size;
        int half[2] = {};
        for (int r = 0; r < most_slice_rows / warp_size; ++r) {
          const int length = count_row(csr, from, row + r * warp_size, own);
          half[r / 2] = half[r / 2] > length ? half[r / 2] : length;
        }
        const int first = most_of_lanes(half[0]);
        const int second = most_of_lanes(half[1]);
        if (i % warp_size != 0) return;
        own.places_of_64 += 64.0 * (first + second);
        own.places_of_128 += 128.0 * (first > second ? first : second);
      });
  census.long_rows.count = static_cast<std::int64_t>(sums.long_rows);
  census.long_rows.nonzeros = static_cast<offset_t>(sums.long_nonzeros);
  census.long_rows.longest = static_cast<offset_t>(sums.longest_long);
  census.nonzeros = nnz - census.long_rows.nonzeros;
  census.longest = static_cast<index_t>(sums.longest);
  census.relative = sums.farthest <= farthest_relative_column;
  census.places_of_64 = static_cast<std::int64_t>(sums.places_of_64);
  census.places_of_128 = static_cast<std::int64_t>(sums.places_of_128);
  return census;
}

}  // namespace tessera::cuda
