/// Chooses among Cholesky and two orders of LU by predicted work.
#include "solvers/direct/analysis.hpp"

#include "core/stopwatch.hpp"
#include "preprocess/fill_prediction.hpp"
#include "solvers/direct/eigen_solvers.hpp"
#include "tessera/ordering.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::detail {

namespace {

/// L and U with counts of both, diagonals included; U's diagonal counts once.
DirectPrediction predicted(DirectMethod method, const std::vector<offset_t>& of_l, const std::vector<offset_t>& of_u) {
  DirectPrediction result{.method = method};
  const bool is_cholesky = method == DirectMethod::cholesky;
  for (std::size_t k = 0; k < of_l.size(); ++k) {
    result.factor_nnz += of_l[k] + of_u[k] - 1;
    const auto below = static_cast<double>(std::max<offset_t>(of_l[k] - 1, 0));
    const auto right = static_cast<double>(of_u[k] - 1);
    result.flops += is_cholesky ? below * (below + 2) : below * (2 * right + 1);
  }
  const auto n = static_cast<std::uint64_t>(of_l.size());
  const auto nnz = static_cast<std::uint64_t>(result.factor_nnz);
  // Cholesky: values and indices of one triangle, a few vectors. LU: U by entries, L by supernodes, panels of vectors.
  result.bytes = is_cholesky ? nnz / 2 * 12 + n * 48 : nnz * 16 + n * 440;
  return result;
}

CsrView<double> as_pattern(const PatternLists& columns_of) {
  return {.rows = columns_of.size(),
          .cols = columns_of.size(),
          .storage = ValueStorage::pattern,
          .row_offsets = columns_of.offsets,
          .columns = columns_of.indices,
          .values = {}};
}

DirectAnalysis by_amd(const PatternLists& columns_of, const ColumnMatrix& matrix, DirectMethod method) {
  FillPrediction fill =
      predict_symmetric_fill(columns_of, matrix.pattern(), ordering(as_pattern(columns_of), Ordering::amd));
  return {predicted(method, fill.counts, fill.counts), std::move(fill.order)};
}

/// Upper bounds for any row exchanges.
DirectPrediction bound_of(const PatternLists& columns_of, const FillPrediction& fill) {
  return predicted(DirectMethod::lu_colamd, predict_rows_met(columns_of, fill), fill.counts);
}

DirectAnalysis by_colamd(const PatternLists& columns_of, const ColumnMatrix& matrix) {
  FillPrediction fill = predict_column_fill(columns_of, matrix.pattern(), eigen_colamd(matrix.pattern(), columns_of));
  return {bound_of(columns_of, fill), std::move(fill.order)};
}

/// Without a strong diagonal rows are exchanged, and then bounds compare alike.
DirectAnalysis cheaper_lu(const PatternLists& columns_of, const ColumnMatrix& matrix, const DirectTraits& traits) {
  DirectAnalysis amd = by_amd(columns_of, matrix, DirectMethod::lu_amd);
  const double flops = traits.has_strong_diagonal
                           ? amd.prediction.flops
                           : bound_of(columns_of, predict_column_fill(columns_of, matrix.pattern(), amd.order)).flops;
  // An order this good is not improved by more than another order costs.
  if (traits.has_strong_diagonal && amd.prediction.flops <= 20.0 * static_cast<double>(matrix.nnz())) return amd;
  DirectAnalysis colamd = by_colamd(columns_of, matrix);
  return colamd.prediction.flops < flops ? std::move(colamd) : std::move(amd);
}

DirectAnalysis analyzed(const PatternLists& columns_of, const ColumnMatrix& matrix, const DirectTraits& traits,
                        DirectMethod method) {
  switch (method) {
    case DirectMethod::lu_colamd:
      return by_colamd(columns_of, matrix);
    case DirectMethod::automatic:
      if (!traits.is_symmetric || !traits.has_one_sign) return cheaper_lu(columns_of, matrix, traits);
      return by_amd(columns_of, matrix, DirectMethod::cholesky);
    default:
      return by_amd(columns_of, matrix, method);
  }
}

}  // namespace

DirectTraits traits_of(const ColumnMatrix& matrix, const PowerScaling& scaling, bool is_symmetric) {
  DirectTraits traits{.is_symmetric = is_symmetric, .has_strong_diagonal = true};
  bool has_positive = false;
  bool has_negative = false;
  bool has_zero = false;
  for (index_t j = 0; j < matrix.size(); ++j) {
    const auto column = static_cast<std::size_t>(j);
    double diagonal = 0.0;
    double largest = 0.0;
    for (auto k = static_cast<std::size_t>(matrix.offsets[column]);
         k < static_cast<std::size_t>(matrix.offsets[column + 1]); ++k) {
      const auto row = static_cast<std::size_t>(matrix.rows[k]);
      if (matrix.rows[k] == j) diagonal = matrix.values[k];
      largest = std::max(largest, std::ldexp(std::abs(matrix.values[k]), scaling.row[row] + scaling.column[column]));
    }
    has_positive = has_positive || diagonal > 0.0;
    has_negative = has_negative || diagonal < 0.0;
    has_zero = has_zero || diagonal == 0.0;
    const double scaled = std::ldexp(std::abs(diagonal), scaling.row[column] + scaling.column[column]);
    if (!(scaled >= 0.01 * largest)) traits.has_strong_diagonal = false;
  }
  traits.has_strong_diagonal = traits.has_strong_diagonal && !has_zero;
  traits.has_one_sign = !has_zero && !(has_positive && has_negative);
  return traits;
}

DirectAnalysis analyze_direct(const PatternLists& columns_of, const ColumnMatrix& matrix, const DirectTraits& traits,
                              DirectMethod method) {
  const Stopwatch watch;
  DirectAnalysis analysis = analyzed(columns_of, matrix, traits, method);
  analysis.prediction.ms = watch.milliseconds();
  return analysis;
}

}  // namespace tessera::detail
