/// \file
/// Residual of a float system on the host, row by row with sums in double.
#include "spmv/residual/residual.hpp"

#include "core/power_of_two.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/common/chunks.hpp"

#include <array>
#include <cstddef>

namespace tessera::host {

namespace {

template <class T>
double row_times(const CsrView<T>& a, std::size_t row, std::span<const T> x) noexcept {
  double sum = 0.0;
  for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
    const auto column = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
    sum += static_cast<double>(a.value(k)) * static_cast<double>(x[column]);
  }
  return sum;
}

}  // namespace

template <class T>
double csr_residual(const Device& device, const CsrView<T>& a, int exponent, std::span<const T> b, std::span<const T> x,
                    std::span<T> r) {
  const PowerOfTwo<double> scaled(exponent);
  const offset_t length = path_length(a.rows, a.nnz());
  const std::int64_t chunks = chunk_count(length);
  std::array<double, max_chunks> squares{};
  for_each_chunk(device, chunks, [&](std::int64_t s) {
    const Range path = part_of(length, chunks, s);
    const index_t end = merge_search(a.row_offsets.data(), a.rows, a.nnz(), path.end).y;
    for (index_t i = merge_search(a.row_offsets.data(), a.rows, a.nnz(), path.begin).y; i < end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const double value = scaled(static_cast<double>(b[row])) - row_times(a, row, x);
      r[row] = static_cast<T>(value);
      squares[static_cast<std::size_t>(s)] += value * value;
    }
  });
  double total = 0.0;
  for (const double square : squares) total += square;
  return total;
}

template double csr_residual(const Device&, const CsrView<float>&, int, std::span<const float>, std::span<const float>,
                             std::span<float>);

}  // namespace tessera::host
