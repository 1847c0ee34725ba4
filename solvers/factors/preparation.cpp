/// Preparation for incomplete factors: scaling, a matching that brings large entries to the diagonal where it is poor,
/// an ordering, and what they make of the matrix.
#include "solvers/factors/preparation.hpp"

#include "core/checked.hpp"
#include "core/interruption.hpp"
#include "core/parallel.hpp"
#include "preprocess/scaling_limits.hpp"
#include "solvers/factors/kept_entries.hpp"
#include "tessera/error.hpp"
#include "tessera/matching.hpp"
#include "tessera/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace tessera::detail {

namespace {

/// A diagonal whose scaled entries reach this stays where it is: the permutation would spoil orders of grids.
constexpr double good_diagonal = 0.01;

bool uses_thresholds(FactorKind kind) { return kind == FactorKind::ilut || kind == FactorKind::ilutp; }
bool is_cholesky(FactorKind kind) { return kind == FactorKind::ic0 || kind == FactorKind::ict; }

FactorMatching chosen_matching(const IncompleteFactorOptions& options) {
  if (options.matching != FactorMatching::automatic) return options.matching;
  return uses_thresholds(options.kind) ? FactorMatching::automatic : FactorMatching::none;
}

/// Rounded to T, within its normal numbers.
template <class T>
void round_to(std::vector<double>& factors) {
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max()) / 4;
  for (double& factor : factors) factor = static_cast<double>(static_cast<T>(std::clamp(factor, 1 / most, most)));
}

template <class T>
FactorScales named_scales(std::string_view name, Scaling scaling) {
  round_to<T>(scaling.row);
  round_to<T>(scaling.column);
  return {std::move(scaling.row), std::move(scaling.column), name};
}

/// Scaling that has nothing to do with a matching.
template <class T>
FactorScales plain_scales(const CsrView<T>& a, const IncompleteFactorOptions& options) {
  FactorScaling wanted = options.scaling;
  if (wanted == FactorScaling::automatic) {
    wanted = is_cholesky(options.kind) ? FactorScaling::symmetric : FactorScaling::ruiz;
  }
  if (wanted == FactorScaling::none) return {};
  if (wanted == FactorScaling::symmetric) return named_scales<T>("symmetric", symmetric_scaling(a));
  return named_scales<T>("ruiz", ruiz_scaling(a));
}

/// Row k of the permuted matrix is the row that is matched with column k.
std::vector<index_t> rows_by_column(const Matching& matching) {
  std::vector<index_t> rows(matching.column_of_row.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[static_cast<std::size_t>(matching.column_of_row[i])] = static_cast<index_t>(i);
  }
  return rows;
}

[[noreturn]] void refuse_singular(const Matching& matching) {
  throw SingularMatrix(
      fmt::format("incomplete factors: the matrix is structurally singular: at most {} of its {} rows can be matched "
                  "with columns along nonzeros",
                  matching.cardinality, matching.column_of_row.size()));
}

/// The permutation and the scaling of a matching. Without a perfect one the scales stay empty.
template <class T>
void match(const CsrView<T>& a, FactorMatching wanted, bool may_permute, PreparedMatrix& prepared) {
  ProductMatching found = maximum_product_matching(a);
  prepared.smallest_diagonal = found.smallest_diagonal;
  if (may_permute && (wanted == FactorMatching::permute ||
                      (wanted == FactorMatching::automatic && found.smallest_diagonal < good_diagonal))) {
    if (!found.matching.is_perfect()) refuse_singular(found.matching);
    prepared.permutations.row_from = rows_by_column(found.matching);
    prepared.permutations.is_matched = true;
  }
  if (found.matching.is_perfect()) prepared.scales = named_scales<T>("matching", std::move(found.scaling));
}

/// Pattern of the matrix with its rows in another order.
template <class T>
Csr<T> pattern_of_rows(const CsrView<T>& a, const std::vector<index_t>& row_from) {
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::none);
  Array<index_t> columns(a.nnz(), Init::none);
  offsets[0] = 0;
  for (index_t k = 0; k < a.rows; ++k) {
    const auto row = static_cast<std::size_t>(row_from[static_cast<std::size_t>(k)]);
    const auto source = a.columns.subspan(static_cast<std::size_t>(a.row_offsets[row]),
                                          static_cast<std::size_t>(a.row_offsets[row + 1] - a.row_offsets[row]));
    std::copy(source.begin(), source.end(), columns.begin() + offsets[k]);
    offsets[std::int64_t{k} + 1] = offsets[k] + static_cast<offset_t>(source.size());
  }
  return Csr<T>::pattern(a.rows, a.cols, std::move(offsets), std::move(columns), Check::trusted);
}

/// The ordering is that of rows and columns together, after the matching.
template <class T>
void order(const CsrView<T>& a, Ordering kind, FactorPermutations& permutations) {
  if (kind == Ordering::natural) return;
  if (!permutations.is_matched) {
    permutations.column_to = ordering(a, kind);
    permutations.row_from = permutations.column_to;
    return;
  }
  permutations.column_to = ordering(pattern_of_rows(a, permutations.row_from).view(), kind);
  std::vector<index_t> rows(permutations.column_to.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    rows[k] = permutations.row_from[static_cast<std::size_t>(permutations.column_to[k])];
  }
  permutations.row_from = std::move(rows);
}

/// Diagonal blocks of consecutive rows.
class DiagonalBlocks {
 public:
  DiagonalBlocks(index_t n, index_t blocks) : n_(n), blocks_(std::clamp<index_t>(blocks, 1, std::max<index_t>(n, 1))) {}

  /// The columns of the block that holds row k.
  [[nodiscard]] host::Range of(index_t k) const {
    if (blocks_ == 1) return {0, n_};
    // The part of [0, n) that holds k: n * part / parts <= k.
    const std::int64_t block = ((std::int64_t{k} + 1) * blocks_ - 1) / n_;
    return {std::int64_t{n_} * block / blocks_, std::int64_t{n_} * (block + 1) / blocks_};
  }

 private:
  std::int64_t n_;
  std::int64_t blocks_;
};

std::vector<index_t> inverse_of(const std::vector<index_t>& permutation) {
  std::vector<index_t> inverse(permutation.size());
  for (std::size_t k = 0; k < inverse.size(); ++k) {
    inverse[static_cast<std::size_t>(permutation[k])] = static_cast<index_t>(k);
  }
  return inverse;
}

/// Rows of Â.
template <class T>
class PermutedRows {
 public:
  PermutedRows(const CsrView<T>& a, const FactorPermutations& permutations, const FactorScales& scales, index_t blocks)
      : a_(&a),
        row_from_(&permutations.row_from),
        scales_(&scales),
        blocks_(a.rows, blocks),
        column_from_(inverse_of(permutations.column_to)) {}

  void append(index_t k, std::vector<KeptEntry>& row, FactorRows& to) const {
    const index_t i = row_from_->empty() ? k : (*row_from_)[static_cast<std::size_t>(k)];
    const host::Range block = blocks_.of(k);
    const offset_t end = a_->row_offsets[static_cast<std::size_t>(i) + 1];
    for (offset_t entry = a_->row_offsets[static_cast<std::size_t>(i)]; entry < end; ++entry) {
      const index_t j = a_->columns[static_cast<std::size_t>(entry)];
      const index_t column = column_from_.empty() ? j : column_from_[static_cast<std::size_t>(j)];
      if (column < block.begin || column >= block.end) continue;
      row.push_back({column, scaled(i, j, static_cast<double>(a_->value(entry)))});
    }
    if (!column_from_.empty()) return append_row(row, to);
    for (const KeptEntry& entry : row) to.add(entry.column, entry.value);
    to.end_row();
    row.clear();
  }

 private:
  [[nodiscard]] double scaled(index_t i, index_t j, double value) const {
    if (scales_->row.empty()) return value;
    const double row = scales_->row[static_cast<std::size_t>(i)];
    const double column = scales_->column[static_cast<std::size_t>(j)];
    return std::copysign(scaled_magnitude(row, value, column), value);
  }

  const CsrView<T>* a_;
  const std::vector<index_t>* row_from_;
  const FactorScales* scales_;
  DiagonalBlocks blocks_;
  std::vector<index_t> column_from_;  ///< the column of Â that a column of A becomes
};

template <class T>
FactorRows permuted_matrix(const CsrView<T>& a, const PreparedMatrix& prepared, index_t blocks) {
  const PermutedRows<T> rows(a, prepared.permutations, prepared.scales, blocks);
  FactorRows result;
  result.offsets.reserve(static_cast<std::size_t>(a.rows) + 1);
  result.columns.reserve(a.columns.size());
  result.values.reserve(a.columns.size());
  std::vector<KeptEntry> row;
  for (index_t k = 0; k < a.rows; ++k) {
    rows.append(k, row, result);
    interruption_point(static_cast<std::int64_t>(result.end(k) - result.begin(k)));
  }
  return result;
}

}  // namespace

Ordering chosen_ordering(const IncompleteFactorOptions& options) {
  if (options.ordering) return *options.ordering;
  if (uses_thresholds(options.kind)) return Ordering::amd;
  return is_cholesky(options.kind) ? Ordering::rcm : Ordering::natural;
}

template <class T>
PreparedMatrix prepare_matrix(const CsrView<T>& matrix, const IncompleteFactorOptions& options,
                              const FactorPermutations* kept) {
  PreparedMatrix prepared;
  if (kept != nullptr) prepared.permutations = *kept;
  const FactorMatching matching = chosen_matching(options);
  if (matching != FactorMatching::none) match(matrix, matching, kept == nullptr, prepared);
  const bool has_scales = prepared.scales.name == "matching";
  if (!has_scales || options.scaling != FactorScaling::automatic) prepared.scales = plain_scales(matrix, options);
  if (kept == nullptr) order(matrix, chosen_ordering(options), prepared.permutations);
  prepared.matrix = permuted_matrix(matrix, prepared, options.blocks);
  return prepared;
}

template PreparedMatrix prepare_matrix(const CsrView<float>&, const IncompleteFactorOptions&,
                                       const FactorPermutations*);
template PreparedMatrix prepare_matrix(const CsrView<double>&, const IncompleteFactorOptions&,
                                       const FactorPermutations*);

}  // namespace tessera::detail
