/// Rows of the filtered matrix A_f on the host.
#include "solvers/amg/strength.hpp"

#include "core/parallel.hpp"

namespace tessera::host {

template <class T>
void fill_strong(const Device& device, const RowSet& rows, const detail::StrongRows<T>& strong) {
  parallel_for(device, rows.rows, [&](Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const auto row = static_cast<index_t>(rows.first + i);
      offset_t at = strong.filtered_offsets[row];
      for (offset_t k = strong.a.offsets[row]; k < strong.a.offsets[row + 1]; ++k) {
        if (strong.keeps(row, k)) strong.store(row, k, at++);
      }
    }
  });
}

template void fill_strong(const Device&, const RowSet&, const detail::StrongRows<float>&);
template void fill_strong(const Device&, const RowSet&, const detail::StrongRows<double>&);

}  // namespace tessera::host
