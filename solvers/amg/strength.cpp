/// Strength of connection and the filtered matrix A_f.
#include "solvers/amg/strength.hpp"

#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
MeasuredRows<T> measure_rows(const Device& device, const CsrView<T>& a, AmgSmoother smoother, const T* rounding) {
  MeasuredRows<T> result{Array<T>(a.rows, Init::none, device),
                         Array<T>(a.rows, Init::none, device),
                         Array<T>(a.rows, Init::none, device),
                         {}};
  DeviceValue<RowTotals> totals(device);
  transform_rows(device, all_rows(a),
                 MeasureRows<T>{.a = pointers_of(a),
                                .kind = smoother,
                                .rounding = rounding,
                                .diagonal = result.diagonal.data(),
                                .largest = result.largest.data(),
                                .smoother = result.smoother.data()},
                 totals.data());
  result.totals = totals.get();
  return result;
}

namespace {

template <class T>
void fill(const Device& device, const RowSet& rows, const StrongRows<T>& strong) {
  if (device.is_host()) {
    host::fill_strong(device, rows, strong);
  } else {
    cuda::fill_strong(device, rows, strong);
  }
}

}  // namespace

template <class T>
FilteredMatrix<T> filter(const Device& device, const CsrView<T>& a, const MeasuredRows<T>& rows, double threshold,
                         KeptStrength<T>* kept) {
  FilteredMatrix<T> result;
  result.diagonal = Array<T>(a.rows, Init::none, device);
  const bool decided = kept != nullptr && kept->decided;
  if (kept != nullptr && !decided) kept->decisions = Array<std::uint8_t>(a.nnz(), Init::none, device);
  const Strength<T> strength{.threshold = static_cast<T>(threshold),
                             .largest = rows.largest.data(),
                             .decisions = kept == nullptr ? nullptr : kept->decisions.data(),
                             .decided = decided};
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::none, device);
  DeviceValue<StrongTotals> totals(device);
  transform_rows(device, all_rows(a),
                 CountStrong<T>{.a = pointers_of(a),
                                .strength = strength,
                                .diagonal = rows.diagonal.data(),
                                .counts = offsets.data(),
                                .filtered_diagonal = result.diagonal.data()},
                 totals.data());
  if (decided) {
    result.nnz = kept->is_all ? a.nnz() : kept->structure.nnz();
  } else {
    result.nnz = sum_to_offsets(device, offsets.span());
  }
  result.gershgorin = totals.get().gershgorin;
  result.is_all = result.nnz == a.nnz();
  if (kept != nullptr) kept->is_all = result.is_all;
  if (result.is_all) return result;
  Array<T> values(result.nnz, Init::none, device);
  Array<index_t> columns(decided ? 0 : result.nnz, Init::none, device);
  fill(device, all_rows(a),
       StrongRows<T>{.a = pointers_of(a),
                     .strength = strength,
                     .filtered_diagonal = result.diagonal.data(),
                     .filtered_offsets = decided ? kept->structure.row_offsets().data() : offsets.data(),
                     .columns = columns.data(),
                     .values = values.data()});
  result.matrix =
      decided ? kept->structure.with_values(std::move(values))
              : Csr<T>(a.rows, a.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  if (kept != nullptr && !decided) kept->structure = result.matrix.structure();
  return result;
}

template MeasuredRows<float> measure_rows(const Device&, const CsrView<float>&, AmgSmoother, const float*);
template MeasuredRows<double> measure_rows(const Device&, const CsrView<double>&, AmgSmoother, const double*);
template FilteredMatrix<float> filter(const Device&, const CsrView<float>&, const MeasuredRows<float>&, double,
                                      KeptStrength<float>*);
template FilteredMatrix<double> filter(const Device&, const CsrView<double>&, const MeasuredRows<double>&, double,
                                       KeptStrength<double>*);

}  // namespace tessera::detail
