/// \file
/// Incomplete factors L U (or L Lᵀ) of a matrix that was scaled, matched and ordered: preconditioners for systems that
/// Jacobi and multigrid do not solve.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/ordering.hpp"
#include "tessera/preconditioner.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., chapter 10.
enum class FactorKind {
  ilu0,   ///< ILU(0): the pattern of A
  iluk,   ///< ILU(k): entries of level at most `level`
  ilut,   ///< ILUT(τ, p): drops below τ times the norm of the row, keeps p entries per row of L and of U
  ilutp,  ///< ILUTP: the same with column pivoting
  ic0,    ///< IC(0) of a symmetric positive definite matrix, with a shift where a pivot is not positive
  ict,    ///< IC(τ, p) with thresholds: the same per column of L, with shifts as ic0
};

/// Scaling before the factorization.
enum class FactorScaling {
  automatic,  ///< symmetric for ic0 and ict; that of the matching where there is one; else ruiz
  none,
  ruiz,
  symmetric,
};

/// Maximum-product matching before the factorization.
enum class FactorMatching {
  automatic,  ///< for ilut and ilutp: permutes where the scaled diagonal has an entry below 0.01, else scales alone
  none,
  scale,    ///< its scaling alone
  permute,  ///< always
};

/// How triangular systems are solved.
enum class TriangularSolve {
  automatic,  ///< on a GPU the fastest for the factors at hand, measured in set-up
  levels,     ///< level by level: all rows whose unknowns are known
  sync_free,  ///< GPUs: every row waits for its unknowns (W. Liu et al., Euro-Par 2016)
};

[[nodiscard]] std::string_view to_string(FactorKind kind);          ///< "ilu0", "iluk", "ilut", "ilutp", "ic0", "ict"
[[nodiscard]] std::string_view to_string(FactorScaling scaling);    ///< "auto", "none", "ruiz", "symmetric"
[[nodiscard]] std::string_view to_string(FactorMatching matching);  ///< "auto", "none", "scale", "permute"
[[nodiscard]] std::string_view to_string(TriangularSolve solve);    ///< "auto", "levels", "sync-free"

struct IncompleteFactorOptions {
  FactorKind kind = FactorKind::ilutp;
  int level = 1;                      ///< k of iluk; at least 0
  double drop_tolerance = 1e-4;       ///< τ of ilut, ilutp, ict; at least 0
  std::int64_t max_row_entries = 50;  ///< p of ilut, ilutp, ict, per row of L and of U; at least 1
  double pivot_tolerance =
      0.1;  ///< of ilutp: a column is exchanged if this times its entry exceeds the diagonal; [0, 1]
  FactorScaling scaling = FactorScaling::automatic;
  /// automatic or none for ic0 and ict.
  FactorMatching matching = FactorMatching::automatic;
  /// Nothing: amd for ilut and ilutp, rcm for ic0 and ict, natural for ilu0 and iluk.
  std::optional<Ordering> ordering = {};
  index_t blocks = 1;  ///< block Jacobi: so many diagonal blocks of consecutive rows (after ordering); at least 1
  double smallest_shift = 1e-3;  ///< of ic0, ict: the first shift relative to the diagonal after a bad pivot; doubles
  double largest_shift = 1.0;    ///< a factorization that needs more fails
  // Budgets: a factorization that exceeds one ends with BudgetExceeded.
  double fill_limit = 20.0;  ///< entries of the factors over those of A
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  TriangularSolve solve = TriangularSolve::automatic;  ///< levels on the host
};

/// "ilu0", "iluk:1", "ilut:1e-3:20", "bjacobi:8:ilu0": as the command line names such factors.
[[nodiscard]] std::string factor_name(const IncompleteFactorOptions& options);

struct IncompleteFactorInfo {
  offset_t lower_nnz = 0;  ///< of L without its diagonal of ones (of L with its diagonal for ic0 and ict)
  offset_t upper_nnz = 0;  ///< of U with its diagonal; 0 for ic0 and ict
  double fill = 0.0;       ///< entries of the factors over those of A; of ic0 and ict, L counts twice less its diagonal
  index_t zero_pivots = 0;  ///< pivots that vanished and were replaced
  double shift = 0.0;       ///< that ic0 or ict needed, relative to the diagonal
  /// ‖(L U)⁻¹ e‖∞ in the scaled space, e = ones: huge where the factors are useless (E. Chow, Y. Saad, J. Comput. Appl.
  /// Math. 86, 1997). Infinity or NaN where a solve overflows.
  double condition_estimate = 0.0;
  bool permuted = false;           ///< rows were exchanged by the matching
  double smallest_diagonal = 0.0;  ///< of ProductMatching, where it was computed
  Ordering ordering = Ordering::natural;
  std::string_view scaling;  ///< "none", "ruiz", "symmetric", "matching"
  index_t lower_levels = 0;  ///< of the level schedules
  index_t upper_levels = 0;
  TriangularSolve solve = TriangularSolve::levels;
  // Times of set-up, milliseconds.
  double prepare_ms = 0.0;  ///< scaling, matching, ordering, permutation
  double factor_ms = 0.0;
  double analysis_ms = 0.0;  ///< level schedules, choice of the solve, transfer to the device
};

/// M = C Q (L U)⁻¹ P R: scaling, permutations and triangular solves in one operator, so that a solver with M sees A, x
/// and b in the caller's units. Symmetric for ic0 and ict. The first product with Mᵀ of others forms the transposed
/// factors, which take the memory of the factors once more. Products may run concurrently on the host, each with a
/// vector of its own; on a GPU they take turns.
template <class T>
class IncompleteFactors final : public Preconditioner<T> {
 public:
  /// Factorizes on the host; ilu0 and ic0 with natural ordering and without matching on `device`.
  /// \param matrix on `device`; read during set-up alone
  /// \throws DimensionError for a matrix that is not square; SingularMatrix for a structurally singular one where it
  ///         has to be permuted; InvalidMatrix naming the first row with NaN or infinity, and for ic0 and ict an entry
  ///         that is not symmetric, a diagonal entry that is not positive, or too large a shift; BudgetExceeded;
  ///         InvalidArgument for options out of range; OutOfMemory
  explicit IncompleteFactors(const CsrView<T>& matrix, const IncompleteFactorOptions& options = {},
                             const Device& device = Device{});
  ~IncompleteFactors() override;
  IncompleteFactors(IncompleteFactors&&) noexcept;
  IncompleteFactors& operator=(IncompleteFactors&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override { return rows(); }
  [[nodiscard]] Device device() const override;
  /// On a GPU of ic0 and ict alone.
  [[nodiscard]] bool has_transpose() const override;
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override;
  [[nodiscard]] const IncompleteFactorInfo& factors() const noexcept;

  /// Keeps the permutations, and computes scaling and factors anew. \throws as the constructor; M may be used again
  /// after a refresh() that did not throw
  void refresh(const CsrView<T>& matrix) override;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  [[nodiscard]] std::string_view transpose_remedy() const override;

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class IncompleteFactors<float>;
extern template class IncompleteFactors<double>;

}  // namespace tessera
