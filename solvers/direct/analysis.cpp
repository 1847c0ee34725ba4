/// Chooses between Cholesky and LU by predicted work.
#include "solvers/direct/analysis.hpp"

#include "core/stopwatch.hpp"
#include "preprocess/fill_prediction.hpp"
#include "solvers/direct/eigen_solvers.hpp"
#include "tessera/error.hpp"
#include "tessera/matching.hpp"

#include <fmt/format.h>

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
  result.bytes = is_cholesky ? nnz / 2 * 16 + n * 80 : nnz * 16 + n * 440;
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

/// The pattern of a matrix whose rows are in an order of their own.
class OrderedPattern {
 public:
  explicit OrderedPattern(const DirectSystem& system)
      : columns_of_(system.columns_of), rows_of_(system.columns.pattern()) {}

  /// New row k is the old rows[k].
  void permute_rows(std::span<const index_t> rows) {
    std::vector<index_t> new_row(rows.size());
    row_offsets_.push_back(0);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      new_row[static_cast<std::size_t>(rows[k])] = static_cast<index_t>(k);
      const auto columns = columns_of_[rows[k]];
      columns_.insert(columns_.end(), columns.begin(), columns.end());
      row_offsets_.push_back(static_cast<offset_t>(columns_.size()));
    }
    rows_.resize(columns_.size());
    std::transform(rows_of_.indices.begin(), rows_of_.indices.end(), rows_.begin(),
                   [&](index_t row) { return new_row[static_cast<std::size_t>(row)]; });
    columns_of_ = {row_offsets_, columns_};
    rows_of_ = {rows_of_.offsets, rows_};
  }

  [[nodiscard]] const PatternLists& columns_of() const noexcept { return columns_of_; }
  [[nodiscard]] const PatternLists& rows_of() const noexcept { return rows_of_; }

 private:
  PatternLists columns_of_;
  PatternLists rows_of_;
  std::vector<offset_t> row_offsets_;
  std::vector<index_t> columns_;
  std::vector<index_t> rows_;
};

/// A prediction with its order of the columns.
struct OrderedPrediction {
  DirectPrediction prediction;
  std::vector<index_t> order;
};

FillPrediction amd_fill(const OrderedPattern& pattern, const FillLimits& limits) {
  const SymmetricPattern graph(as_pattern(pattern.columns_of()));
  return predict_symmetric_fill(pattern.columns_of(), pattern.rows_of(), amd_ordering(graph, limits));
}

OrderedPrediction by_amd(const OrderedPattern& pattern, DirectMethod method, const FillLimits& limits) {
  FillPrediction fill = amd_fill(pattern, limits);
  return {predicted(method, fill.counts, fill.counts), std::move(fill.order)};
}

/// Above so many flops per entry of the factors the supernodes of LU are faster than L D Lᵀ row by row, though they
/// work twice as much. One thread of a Xeon, Poisson's equation: 56 (2D, 200²): 54 and 74 ms; 75 (2D, 300²): 170 and
/// 183 ms; 96 (2D, 400²): 439 and 402 ms; 194 (3D, 20³): 112 and 64 ms.
constexpr double most_flops_per_entry = 75.0;

/// Cholesky, or LU with the same order where it is faster.
OrderedPrediction symmetric_factors(const OrderedPattern& pattern, bool may_be_lu, const FillLimits& limits) {
  FillPrediction fill = amd_fill(pattern, limits);
  DirectPrediction prediction = predicted(DirectMethod::cholesky, fill.counts, fill.counts);
  if (may_be_lu && prediction.flops > most_flops_per_entry * static_cast<double>(prediction.factor_nnz)) {
    prediction = predicted(DirectMethod::lu_amd, fill.counts, fill.counts);
  }
  return {prediction, std::move(fill.order)};
}

/// Upper bounds for any row exchanges.
OrderedPrediction by_colamd(const OrderedPattern& pattern) {
  FillPrediction fill = predict_column_fill(pattern.columns_of(), pattern.rows_of(),
                                            eigen_colamd(pattern.rows_of(), pattern.columns_of()));
  return {predicted(DirectMethod::lu_colamd, predict_rows_met(pattern.columns_of(), fill), fill.counts),
          std::move(fill.order)};
}

OrderedPrediction analyzed(const OrderedPattern& pattern, const DirectTraits& traits, bool takes_cholesky,
                           DirectMethod method, const FillLimits& limits) {
  if (takes_cholesky) {
    return symmetric_factors(pattern, method == DirectMethod::automatic && traits.has_strong_diagonal, limits);
  }
  return method == DirectMethod::lu_colamd ? by_colamd(pattern) : by_amd(pattern, DirectMethod::lu_amd, limits);
}

std::vector<int> exponents(std::span<const double> factors) {
  std::vector<int> result(factors.size());
  std::transform(factors.begin(), factors.end(), result.begin(),
                 [](double factor) { return static_cast<int>(std::lround(std::log2(factor))); });
  return result;
}

/// The row of each column in a matching of the largest product; its scaling too.
std::vector<index_t> match(const ColumnMatrix& matrix, PowerScaling& scaling) {
  const index_t n = matrix.size();
  // The columns of A are the rows of its transpose.
  const ProductMatching found = maximum_product_matching(CsrView<double>{.rows = n,
                                                                         .cols = n,
                                                                         .storage = ValueStorage::weighted,
                                                                         .row_offsets = matrix.offsets,
                                                                         .columns = matrix.rows,
                                                                         .values = matrix.values});
  if (!found.matching.is_perfect()) {
    throw SingularMatrix(
        fmt::format("the matrix is structurally singular: at most {} of its {} rows can be matched with "
                    "columns along nonzeros",
                    found.matching.cardinality, n));
  }
  scaling = {.row = exponents(found.scaling.column), .column = exponents(found.scaling.row)};
  return found.matching.column_of_row;
}

}  // namespace

DirectTraits traits_of(const DirectSystem& system) {
  const ColumnMatrix& matrix = system.columns;
  DirectTraits traits{.scaling = power_scaling(matrix), .has_one_sign = true, .has_strong_diagonal = true};
  double sign = 0.0;
  for (index_t j = 0; j < matrix.size(); ++j) {
    const auto column = static_cast<std::size_t>(j);
    double diagonal = 0.0;
    double largest = 0.0;
    double scaled_diagonal = 0.0;
    for (offset_t k = matrix.offsets[column]; k < matrix.offsets[column + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      const auto row = static_cast<std::size_t>(matrix.rows[entry]);
      const double scaled =
          scale_by_power(std::abs(matrix.values[entry]), traits.scaling.row[row] + traits.scaling.column[column]);
      largest = std::max(largest, scaled);
      if (row == column) {
        diagonal = matrix.values[entry];
        scaled_diagonal = scaled;
      }
    }
    if (sign == 0.0) sign = diagonal;
    traits.has_one_sign = traits.has_one_sign && (sign > 0.0 ? diagonal > 0.0 : diagonal < 0.0);
    traits.has_strong_diagonal = traits.has_strong_diagonal && diagonal != 0.0 && scaled_diagonal >= 0.01 * largest;
  }
  return traits;
}

DirectAnalysis analyze_direct(const DirectSystem& system, const DirectTraits& traits, DirectMethod method,
                              const FillLimits& limits) {
  const Stopwatch watch;
  const bool takes_cholesky = method == DirectMethod::cholesky ||
                              (method == DirectMethod::automatic && system.is_symmetric && traits.has_one_sign);
  DirectAnalysis analysis{.prediction = {}, .order = {}, .scaling = traits.scaling};
  OrderedPattern pattern(system);
  std::vector<index_t> row_of_column;
  if (!takes_cholesky && !traits.has_strong_diagonal) {
    row_of_column = match(system.columns, analysis.scaling);
    pattern.permute_rows(row_of_column);
  }
  OrderedPrediction chosen = analyzed(pattern, traits, takes_cholesky, method, limits);
  analysis.prediction = chosen.prediction;
  analysis.order.rows = chosen.order;
  analysis.order.columns = std::move(chosen.order);
  if (!row_of_column.empty()) {
    for (index_t& row : analysis.order.rows) row = row_of_column[static_cast<std::size_t>(row)];
  }
  analysis.prediction.ms = watch.milliseconds();
  return analysis;
}

PowerScaling scaling_like(const DirectSystem& system, const DirectOrder& order) {
  if (order.rows == order.columns) return power_scaling(system.columns);
  PowerScaling scaling;
  static_cast<void>(match(system.columns, scaling));
  return scaling;
}

}  // namespace tessera::detail
