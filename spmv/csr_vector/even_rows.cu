#include "core/cuda/reduce.cuh"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/even_rows.hpp"
#include "spmv/csr_vector/row_lengths.hpp"

namespace tessera::cuda {

double row_length_spread(const Device& device, std::span<const offset_t> row_offsets) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const offset_t* const offsets = row_offsets.data();
  const auto sums = fused_sum<2>(device, rows, [=] __device__(std::int64_t row, double(&sum)[2]) {
    const auto length = static_cast<double>(offsets[row + 1] - offsets[row]);
    sum[0] += length;
    sum[1] += length * length;
  });
  return sums[0] > 0 ? sums[1] * static_cast<double>(rows) / (sums[0] * sums[0]) : 0.0;
}

bool is_product_in_one_kernel(const Device& device, std::span<const offset_t> row_offsets) {
  const auto rows = static_cast<index_t>(row_offsets.size() - 1);
  if (rows == 0) return false;
  const RowLengths lengths = row_lengths(device, row_offsets);
  return csr_vector_whole_lanes(rows, lengths.typical, lengths.longest) > 0;
}

}  // namespace tessera::cuda
