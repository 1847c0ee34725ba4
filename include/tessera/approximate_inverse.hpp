/// \file
/// Sparse approximate inverses: preconditioners whose application is one or two products with sparse matrices. There is
/// no triangular solve, so they use a GPU as well as the product with A does.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/preconditioner.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera {

/// The pattern of G: the lower triangle of the pattern of |Â|^power, where Â is A scaled to a diagonal of ones,
/// â_ij = a_ij / √(a_ii a_jj), without its entries below `filter`. All thresholds are relative to this scaling, so that
/// they do not change where A or its unknowns are scaled.
struct FsaiOptions {
  int power = 2;        ///< in [1, 3]
  double filter = 0.1;  ///< entries |â_ij| below it do not enter the power; in [0, 1]
  /// Per row of G, diagonal included, in [1, 128]. A row with more keeps those of the largest magnitude in |Â|^power.
  std::int64_t max_row_entries = 64;
  /// Entries of a row of G below this times its diagonal, both for Â, are dropped, and the row is computed anew without
  /// them; in [0, 1]. 0: none.
  double post_filter = 0.05;
  /// Above 0 the pattern grows with each row instead of following from a power: each step computes the row and adds the
  /// `step_entries` columns with the largest gradient of (G A Gᵀ)_ii (C. Janna, M. Ferronato, SIAM J. Sci. Comput.
  /// 33(6), 2011). At most max_row_entries, and 64. Power and filter have no effect then.
  int adaptive_steps = 0;  ///< in [0, 63]
  int step_entries = 1;    ///< in [1, 63]
};

/// "fsai:2": as the command line names it; with a filter that is not the default "fsai:2:0.01". Other options have no
/// place in it.
[[nodiscard]] std::string fsai_name(const FsaiOptions& options);

struct FsaiInfo {
  offset_t pattern_nnz = 0;      ///< entries of the pattern before the post-filter
  offset_t nnz = 0;              ///< entries of G
  offset_t dropped = 0;          ///< by the post-filter, of pattern_nnz
  double fill = 0.0;             ///< entries of G over those of the lower triangle of A
  std::int64_t largest_row = 0;  ///< of the pattern before the post-filter
  // Times of set-up, milliseconds.
  double pattern_ms = 0.0;  ///< checks, scaling, filter, power; 0 for a refresh()
  double rows_ms = 0.0;     ///< the dense systems, one or two per row
  double plan_ms = 0.0;     ///< Gᵀ and the plans of both products
};

/// Factorized sparse approximate inverse (FSAI) of a symmetric positive definite matrix: M = Gᵀ G with G lower
/// triangular, where row i minimizes ‖I - G L‖_F over its pattern, L the Cholesky factor of A, which is not needed,
/// with (G A Gᵀ)_ii = 1 (L. Yu. Kolotilina, A. Yu. Yeremin, SIAM J. Matrix Anal. Appl. 14(1), 1993; patterns of powers
/// and post-filtering: E. Chow, SIAM J. Sci. Comput. 21(5), 2000). M is symmetric and positive definite. G is computed
/// in double, and has the same bits on the host and on a GPU. Products may run concurrently, each with a vector of its
/// own. Set-up: the power, and O(p³) per row of p entries.
template <class T>
class FsaiPreconditioner final : public Preconditioner<T> {
 public:
  /// \param matrix on `device`; read during set-up alone
  /// \throws DimensionError for a matrix that is not square; InvalidMatrix naming the first entry that has no equal
  ///         across the diagonal, or the first row with NaN or infinity, without a positive diagonal entry, or whose
  ///         submatrix is not positive definite; InvalidArgument for options out of range; OutOfMemory
  explicit FsaiPreconditioner(const CsrView<T>& matrix, const FsaiOptions& options = {},
                              const Device& device = Device{});
  ~FsaiPreconditioner() override;
  FsaiPreconditioner(FsaiPreconditioner&&) noexcept;
  FsaiPreconditioner& operator=(FsaiPreconditioner&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override { return rows(); }
  [[nodiscard]] Device device() const override;
  [[nodiscard]] bool has_transpose() const override { return true; }
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override;
  [[nodiscard]] const FsaiInfo& factor() const noexcept;
  /// G, on device(); its rows end with their diagonal entry.
  [[nodiscard]] CsrView<T> g() const noexcept;

  /// Keeps the pattern of G. \throws as the constructor, and keeps the old state
  void refresh(const CsrView<T>& matrix) override;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    do_apply(alpha, x, beta, y);
  }

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct SpaiOptions {
  int level = 1;  ///< 0: M is diagonal; 1: M has the pattern of A
  /// Level 1, per row of M, in [1, 128]. A longer row of A keeps its diagonal and the entries of the largest magnitude.
  std::int64_t max_row_entries = 64;
};

/// "spai:1": as the command line names it.
[[nodiscard]] std::string spai_name(const SpaiOptions& options);

struct SpaiInfo {
  offset_t nnz = 0;              ///< entries of M
  double fill = 0.0;             ///< entries of M over those of A
  std::int64_t largest_row = 0;  ///< of M
  // Times of set-up, milliseconds.
  double pattern_ms = 0.0;  ///< checks, norms, pattern; 0 pattern work for a refresh()
  double rows_ms = 0.0;     ///< the least-squares problems
  double plan_ms = 0.0;     ///< of the product
};

/// Sparse approximate inverse (SPAI) of a square matrix: row i of M minimizes ‖m_iᵀ A - e_iᵀ‖₂ over its pattern
/// (M. J. Grote, T. Huckle, SIAM J. Sci. Comput. 18(3), 1997). Level 0 is m_ii = a_ii / ‖a_i‖₂², level 1 has the
/// pattern of A (O. Bröker, M. J. Grote, Appl. Numer. Math. 41, 2002). Level 1 solves the normal equations per row in
/// double: an unknown whose row of A is, to 1e-5 of its norm, a combination of others becomes 0. Where the diagonal
/// entry is stored, no row is farther from that of I than the row of A. M is symmetric for level 0 alone. The same bits
/// on the host and on a GPU. Set-up: O(p² q + p³) per row of p entries, where rows of A have q.
template <class T>
class SpaiPreconditioner final : public Preconditioner<T> {
 public:
  /// \param matrix on `device`; read during set-up alone
  /// \throws DimensionError for a matrix that is not square; InvalidMatrix naming the first row with NaN or infinity,
  /// or
  ///         whose row of M would be 0 or not finite; InvalidArgument for options out of range; OutOfMemory
  explicit SpaiPreconditioner(const CsrView<T>& matrix, const SpaiOptions& options = {},
                              const Device& device = Device{});
  ~SpaiPreconditioner() override;
  SpaiPreconditioner(SpaiPreconditioner&&) noexcept;
  SpaiPreconditioner& operator=(SpaiPreconditioner&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override { return rows(); }
  [[nodiscard]] Device device() const override;
  /// Of level 0.
  [[nodiscard]] std::optional<std::span<const T>> diagonal() const override;
  [[nodiscard]] bool has_transpose() const override { return true; }
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override;
  [[nodiscard]] const SpaiInfo& inverse() const noexcept;
  /// M, on device().
  [[nodiscard]] CsrView<T> m() const noexcept;

  /// Keeps the pattern of M. \throws as the constructor, and keeps the old state
  void refresh(const CsrView<T>& matrix) override;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  /// The first call of level 1 forms Mᵀ.
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;

 private:
  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued_product() const noexcept override;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class FsaiPreconditioner<float>;
extern template class FsaiPreconditioner<double>;
extern template class SpaiPreconditioner<float>;
extern template class SpaiPreconditioner<double>;

}  // namespace tessera
