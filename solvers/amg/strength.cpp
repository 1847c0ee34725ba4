/// Strength of connection and the filtered matrix A_f.
#include "solvers/amg/strength.hpp"

#include "solvers/amg/offsets.hpp"
#include "solvers/amg/transform_rows.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
MeasuredRows<T> measure_rows(const Device& device, const CsrView<T>& a, const LevelRows& rows, AmgSmoother smoother,
                             const T* rounding) {
  MeasuredRows<T> result{Array<T>(a.rows, Init::none, device),
                         Array<T>(a.rows, Init::none, device),
                         Array<T>(a.rows, Init::none, device),
                         {}};
  DeviceValue<RowTotals> totals(device);
  transform_rows(device, rows.set(rows.held(), rows.nnz),
                 MeasureRows<T>{.a = pointers_of(a),
                                .kind = smoother,
                                .rounding = rounding,
                                .diagonal = result.diagonal.data(),
                                .largest = result.largest.data(),
                                .smoother = result.smoother.data()},
                 totals.data());
  result.totals = rows.sum(totals.get());
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

/// Strong entries of the rows of a rank.
struct StrongCount {
  offset_t entries = 0;
  bool is_part = false;  ///< there are weak ones, perhaps in rows of others
  StrongCount& operator+=(const StrongCount& other) noexcept {
    entries += other.entries;
    is_part = is_part || other.is_part;
    return *this;
  }
};

/// \param strong in rows.with_columns() \param offsets of A_f, if shared
template <class T>
StrongCount count_strong(const Device& device, const CsrView<T>& a, const LevelRows& rows,
                         const Array<offset_t>& offsets, offset_t strong) {
  if (!rows.is_shared()) return {strong, strong != a.nnz()};
  return {entries_of(device, offsets.span(), rows.own),
          strong != entries_of(device, a.row_offsets, rows.with_columns())};
}

}  // namespace

template <class T>
FilteredMatrix<T> filter(const Device& device, const CsrView<T>& a, const LevelRows& rows,
                         const MeasuredRows<T>& measured, double threshold, KeptStrength<T>* kept) {
  FilteredMatrix<T> result;
  result.diagonal = Array<T>(a.rows, Init::none, device);
  const bool decided = kept != nullptr && kept->decided;
  if (kept != nullptr && !decided) kept->decisions = Array<std::uint8_t>(a.nnz(), Init::none, device);
  const Strength<T> strength{.threshold = static_cast<T>(threshold),
                             .largest = measured.largest.data(),
                             .decisions = kept == nullptr ? nullptr : kept->decisions.data(),
                             .decided = decided};
  const RowRange range = rows.with_columns();
  const RowSet set = rows.set(range, rows.nnz);
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::none, device);
  DeviceValue<StrongTotals> totals(device);
  transform_rows(device, set,
                 CountStrong<T>{.a = pointers_of(a),
                                .strength = strength,
                                .diagonal = measured.diagonal.data(),
                                .counts = offsets.data(),
                                .filtered_diagonal = result.diagonal.data()},
                 totals.data());
  offset_t strong = 0;
  if (decided) {
    strong = kept->is_all ? a.nnz() : kept->structure.nnz();
  } else {
    strong = counts_to_offsets(device, offsets.span(), range);
  }
  result.gershgorin = rows.sum(totals.get()).gershgorin;
  const StrongCount count = rows.sum(count_strong(device, a, rows, offsets, strong));
  result.nnz = count.entries;
  result.is_all = !count.is_part;
  if (kept != nullptr) kept->is_all = result.is_all;
  if (result.is_all) return result;
  Array<T> values(strong, Init::none, device);
  Array<index_t> columns(decided ? 0 : strong, Init::none, device);
  fill(device, set,
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

template MeasuredRows<float> measure_rows(const Device&, const CsrView<float>&, const LevelRows&, AmgSmoother,
                                          const float*);
template MeasuredRows<double> measure_rows(const Device&, const CsrView<double>&, const LevelRows&, AmgSmoother,
                                           const double*);
template FilteredMatrix<float> filter(const Device&, const CsrView<float>&, const LevelRows&,
                                      const MeasuredRows<float>&, double, KeptStrength<float>*);
template FilteredMatrix<double> filter(const Device&, const CsrView<double>&, const LevelRows&,
                                       const MeasuredRows<double>&, double, KeptStrength<double>*);

}  // namespace tessera::detail
