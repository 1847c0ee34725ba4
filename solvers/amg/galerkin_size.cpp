/// Entries of a Galerkin product, by three passes over its factors.
#include "solvers/amg/galerkin_size.hpp"

#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/array.hpp"

namespace tessera::detail {

template <class T>
offset_t galerkin_size(const Device& device, const CsrView<T>& r, const CsrView<T>& a, const CsrView<T>& p,
                       const RowRange& rows) {
  const auto rows_of = [&](const CsrView<T>& left, const Array<ColumnSketch>& right, ColumnSketch* united) {
    return UniteSketches{.row_offsets = left.row_offsets.data(),
                         .columns = left.columns.data(),
                         .right = right.data(),
                         .rows = united,
                         .most = p.cols};
  };
  Array<ColumnSketch> of_columns(p.cols, Init::none, device);
  fused::transform_reduce(device, p.cols, SketchColumns{of_columns.data()});
  Array<ColumnSketch> of_p(p.rows, Init::none, device);
  transform_rows(device, all_rows(p), rows_of(p, of_columns, of_p.data()));
  Array<ColumnSketch> of_a_p(a.rows, Init::none, device);
  transform_rows(device, all_rows(a), rows_of(a, of_p, of_a_p.data()));
  DeviceValue<EntryCount> total(device);
  transform_rows(device, {rows.size(), all_rows(r).lanes, nullptr, rows.first}, rows_of(r, of_a_p, nullptr),
                 total.data());
  return total.get().entries;
}

template offset_t galerkin_size(const Device&, const CsrView<float>&, const CsrView<float>&, const CsrView<float>&,
                                const RowRange&);
template offset_t galerkin_size(const Device&, const CsrView<double>&, const CsrView<double>&, const CsrView<double>&,
                                const RowRange&);

}  // namespace tessera::detail
