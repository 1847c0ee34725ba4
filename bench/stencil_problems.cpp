/// New values on the structure of a matrix, on the host.
#include "bench/stencil_problems.hpp"

#include <utility>

namespace tessera::bench {

Csr<double> with_new_values(const Csr<double>& a) {
  if (!a.device().is_host()) return with_new_values_on_gpu(a);
  Array<double> values(a.nnz(), Init::none);
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    for (offset_t k = a.row_offsets()[row]; k < a.row_offsets()[row + 1]; ++k) {
      // The product of the two factors first: symmetric to the last bit.
      values[k] = (scale_of_row(row) * scale_of_row(a.columns()[k])) * a.values()[k];
    }
  }
  return Csr<double>(a.rows(), a.cols(), a.row_offsets().to(Device{}), a.columns().to(Device{}), std::move(values),
                     Check::trusted);
}

}  // namespace tessera::bench
