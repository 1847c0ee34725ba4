/// P A = L U by Eigen's supernodal SparseLU, in the order given.
#include "core/interruption.hpp"
#include "solvers/direct/eigen_solvers.hpp"

#include <Eigen/SparseLU>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace tessera::detail {

namespace {

// 64 bits: factors may have more than 2^31 entries; supernodes share their row indices, so they cost little. A type
// other than std::int64_t, so that nobody else meets the hook below.
using EigenIndex = long long;

struct Overfull {};

/// Entries that factors made by this thread may have.
constinit thread_local Eigen::Index most_entries = std::numeric_limits<Eigen::Index>::max();

class EntryLimit {
 public:
  explicit EntryLimit(Eigen::Index entries) : outer_(std::exchange(most_entries, entries)) {}
  ~EntryLimit() { most_entries = outer_; }
  EntryLimit(const EntryLimit&) = delete;
  EntryLimit& operator=(const EntryLimit&) = delete;

 private:
  Eigen::Index outer_;
};

/// Between the columns of a factorization.
void watch_column(Eigen::Index entries, Eigen::Index new_entries) {
  if (entries > most_entries) throw Overfull();
  constexpr Eigen::Index least_steps = 16;
  interruption_point(least_steps + new_entries);
}

}  // namespace

}  // namespace tessera::detail

/// SparseLU makes one of these for every column, before it is updated: the only place where it can be stopped, by an
/// exception. Members are as in Eigen's own template.
template <>
struct Eigen::internal::column_dfs_traits<Eigen::Matrix<tessera::detail::EigenIndex, Eigen::Dynamic, 1>,
                                          Eigen::Matrix<double, Eigen::Dynamic, 1>> {
  using Indices = Eigen::Matrix<tessera::detail::EigenIndex, Eigen::Dynamic, 1>;
  using Implementation = SparseLUImpl<double, tessera::detail::EigenIndex>;
  enum { ExpandMem = true };

  column_dfs_traits(Index column, Index& supernode, Implementation::GlobalLU_t& factors, Implementation& owner)
      : column_(column), supernode_(supernode), factors_(factors), owner_(owner) {
    const auto entries_before = [&](Index j) { return factors.xlusup(j) + factors.xusub(j); };
    const Index entries = entries_before(column);
    tessera::detail::watch_column(entries, column == 0 ? 0 : entries - entries_before(column - 1));
  }
  bool update_segrep(Index /*representative*/, Index /*column*/) { return true; }
  void mem_expand(Indices& rows, Index& next, Index mark) {
    if (next >= factors_.nzlmax) owner_.memXpand(rows, factors_.nzlmax, next, LSUB, factors_.num_expansions);
    if (mark != column_ - 1) supernode_ = emptyIdxLU;
  }

 private:
  Index column_;
  Index& supernode_;
  Implementation::GlobalLU_t& factors_;
  Implementation& owner_;
};

namespace tessera::detail {

namespace {

using EigenColumns = Eigen::SparseMatrix<double, Eigen::ColMajor, EigenIndex>;
using LuVector = Eigen::Map<Eigen::VectorXd>;

/// Columns stay where they are, but for the postorder that SparseLU adds.
struct OrderAsGiven {
  using PermutationType = Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, EigenIndex>;
  template <class Matrix>
  void operator()(const Matrix& matrix, PermutationType& permutation) const {
    permutation.resize(matrix.cols());
    permutation.setIdentity();
  }
};

/// SparseLU with its memory set by a prediction, and its pivots.
class SupernodalLu : public Eigen::SparseLU<EigenColumns, OrderAsGiven> {
 public:
  void expect_fill(offset_t matrix_nnz, offset_t factor_nnz) {
    // L and U get so many times the entries of A each at first.
    m_perfv.fillfactor = std::max<Eigen::Index>(2, 1 + factor_nnz * 5 / 8 / std::max<offset_t>(matrix_nnz, 1));
    m_perfv.panel_size = 8;
    m_perfv.relax = 8;
  }
  [[nodiscard]] double pivot(Eigen::Index column) const {
    const EigenIndex first = m_Lstore.supToCol()[m_Lstore.colToSup()[column]];
    return m_Lstore.valuePtr()[m_Lstore.colIndexPtr()[column] + (column - first)];
  }
  [[nodiscard]] Eigen::Index given_column(Eigen::Index column) const {
    return inverse_columns_.size() == 0 ? column : inverse_columns_.indices()(column);
  }
  void keep_column_order() { inverse_columns_ = m_perm_c.inverse(); }

 private:
  OrderAsGiven::PermutationType inverse_columns_;
};

EigenColumns to_eigen_columns(const ColumnMatrix& matrix) {
  EigenColumns result(matrix.size(), matrix.size());
  result.resizeNonZeros(matrix.nnz());
  std::copy(matrix.offsets.begin(), matrix.offsets.end(), result.outerIndexPtr());
  std::copy(matrix.rows.begin(), matrix.rows.end(), result.innerIndexPtr());
  std::copy(matrix.values.begin(), matrix.values.end(), result.valuePtr());
  return result;
}

class EigenLu final : public EigenSolver {
 public:
  explicit EigenLu(double threshold) {
    solver_.isSymmetric(threshold < 1.0);
    solver_.setPivotThreshold(threshold);
  }

  FactorFacts factorize(const ColumnMatrix& matrix, offset_t predicted_nnz, offset_t most_nnz) override {
    if (matrix.size() == 0) return {.is_complete = true};
    solver_.expect_fill(matrix.nnz(), predicted_nnz);
    const EigenColumns columns = to_eigen_columns(matrix);
    solver_.analyzePattern(columns);
    solver_.keep_column_order();
    try {
      const EntryLimit limit(most_nnz);
// The analyzer supposes an empty matrix, for which Eigen would allocate 0 bytes.
#ifndef __clang_analyzer__
      solver_.factorize(columns);
#endif
    } catch (const Overfull&) {
      return {.is_overfull = true};
    }
    const std::string error = solver_.lastErrorMessage();
    if (error.starts_with("UNABLE")) throw std::bad_alloc();
    FactorFacts facts;
    if (!error.empty()) {
      facts.smallest_column = static_cast<index_t>(solver_.given_column(column_of(error)));
      return facts;
    }
    facts.is_complete = true;
    facts.factor_nnz = solver_.nnzL() + solver_.nnzU() - matrix.size();
    for (index_t k = 0; k < matrix.size(); ++k) {
      const double pivot = std::abs(solver_.pivot(k));
      if (k == 0 || !(pivot >= facts.smallest_pivot)) {
        facts.smallest_pivot = pivot;
        facts.smallest_column = static_cast<index_t>(solver_.given_column(k));
      }
    }
    return facts;
  }

  void solve(std::span<double> x) const override {
    LuVector vector(x.data(), static_cast<Eigen::Index>(x.size()));
    vector = solver_.solve(vector).eval();
  }

  void solve_transposed(std::span<double> x) const override {
    LuVector vector(x.data(), static_cast<Eigen::Index>(x.size()));
    // Eigen asks for a solver that is not const, and reads it alone.
    vector = const_cast<SupernodalLu&>(solver_).transpose().solve(vector).eval();
  }

 private:
  /// "... ZERO COLUMN AT 7" counts from 1.
  static Eigen::Index column_of(const std::string& error) {
    const auto digits = error.find_last_not_of("0123456789") + 1;
    Eigen::Index column = 1;
    std::from_chars(error.data() + digits, error.data() + error.size(), column);
    return column - 1;
  }

  SupernodalLu solver_;
};

}  // namespace

std::unique_ptr<EigenSolver> make_eigen_lu(double threshold) { return std::make_unique<EigenLu>(threshold); }

}  // namespace tessera::detail
