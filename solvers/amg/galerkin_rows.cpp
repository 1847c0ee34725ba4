/// Rows of a Galerkin product, by two products of slices of rows.
#include "solvers/amg/galerkin_rows.hpp"

#include "core/borrowed_csr.hpp"
#include "core/row_slice.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
Csr<T> galerkin_rows(const Csr<T>& r, const Csr<T>& a, const Csr<T>& p, index_t first, index_t last,
                     const SpgemmOptions& options) {
  const Device& device = options.device;
  RowSlice<T> of_r = slice_rows(r.view(), device, first, last - first);
  const offset_t nnz = of_r.view.nnz();
  auto fine = fused::transform_reduce(device, nnz, ColumnBounds{of_r.view.columns.data()});
  if (nnz == 0) fine = {0, -1};
  const index_t fine_rows = fine.most + 1 - fine.least;
  Array<index_t> columns(nnz, Init::none, device);
  fused::transform_reduce(device, nnz, ShiftColumns{of_r.view.columns.data(), columns.data(), fine.least});
  of_r.view.cols = fine_rows;
  of_r.view.columns = columns.span();
  const RowSlice<T> of_a = slice_rows(a.view(), device, fine.least, fine_rows);
  const Csr<T> a_p = spgemm(borrow_csr(of_a.view, device), p, options).matrix;
  return spgemm(borrow_csr(of_r.view, device), a_p, options).matrix;
}

template Csr<float> galerkin_rows(const Csr<float>&, const Csr<float>&, const Csr<float>&, index_t, index_t,
                                  const SpgemmOptions&);
template Csr<double> galerkin_rows(const Csr<double>&, const Csr<double>&, const Csr<double>&, index_t, index_t,
                                   const SpgemmOptions&);

}  // namespace tessera::detail
