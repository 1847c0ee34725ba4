/// \file
/// Direct solution by sparse factors on the host: LU with partial pivoting and Cholesky (L D Lᵀ), both Eigen's, with a
/// prediction of fill, work and memory before anything is factorized.
///
/// Rows and columns are scaled by powers of two first. LU of a matrix with a weak diagonal (missing, or below a
/// hundredth of its column's largest entry, both scaled) permutes rows by a matching of maximum product first, and
/// takes its scaling (see matching.hpp): then the diagonal mostly serves as pivots, and AMD predicts well.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/preconditioner.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

namespace tessera {

enum class DirectMethod {
  /// cholesky for a symmetric matrix with a diagonal of one sign, unless it is so much work that lu_amd is faster; LU
  /// also where L D Lᵀ turns out useless. Else lu_amd.
  automatic,
  cholesky,  ///< L D Lᵀ of a symmetric matrix, ordered by AMD; no pivoting
  lu_amd,  ///< LU, ordered by AMD of A + Aᵀ after the matching. Diagonal entries are pivots from 1e-8 of the largest
           ///< on; from 1e-12 where factors exceed twice the prediction, from 1e-2 where they are inaccurate
  lu_colamd,  ///< LU, ordered by COLAMD, with partial pivoting
};

[[nodiscard]] std::string_view to_string(DirectMethod method);  ///< "auto", "cholesky", "lu-amd", "lu-colamd"

namespace detail {
struct DirectAnalysis;
}

/// What a factorization will cost.
struct DirectPrediction {
  DirectMethod method = DirectMethod::lu_amd;  ///< never automatic
  offset_t factor_nnz = 0;  ///< of L + U, or of L + Lᵀ, the diagonal counted once; exact for cholesky, for lu_amd where
                            ///< all diagonal pivots are taken, and for lu_colamd an upper bound for any row exchanges
  double flops = 0.0;       ///< of the factorization: additions and multiplications
  std::uint64_t bytes = 0;  ///< of the factors and the workspace, estimated
  double ms = 0.0;          ///< of the prediction itself: ordering and symbolic counts
  std::shared_ptr<const detail::DirectAnalysis> analysis = {};  ///< the order, for DirectOptions::prediction
};

struct DirectOptions {
  DirectMethod method = DirectMethod::automatic;
  /// Of predict_direct() for the same matrix and method: the constructor takes its order. One of another size is not
  /// used.
  std::optional<DirectPrediction> prediction = {};
  // Limits on the prediction; a matrix beyond them is not factorized: BudgetExceeded.
  double flops_limit = std::numeric_limits<double>::infinity();
  offset_t factor_nnz_limit = std::numeric_limits<offset_t>::max();
  std::uint64_t memory_limit_bytes = 0;  ///< 0: none; holds for the factors too
};

struct DirectInfo {
  DirectPrediction prediction;
  offset_t factor_nnz = 0;      ///< that the factors have
  index_t negative_pivots = 0;  ///< of cholesky: D has so many negative entries
  double factor_ms = 0.0;
};

/// Factors beyond these are out of reach: minutes of one thread, and 16 GB.
struct DirectLimits {
  double flops = 1e12;
  double factor_nnz = 1e9;
};

/// Counts without factors: O(nnz) memory; after the matching and the order nearly O(nnz) time (J. R. Gilbert, X. S. Li,
/// E. G. Ng, B. W. Peyton, "Computing row and column counts for sparse QR and LU factorization", BIT 41(4), 2001).
/// \param matrix square, on the host
/// \throws DimensionError; InvalidMatrix for NaN or infinity, and for cholesky of an asymmetric matrix; SingularMatrix
///         where LU needs a matching and none is perfect; BudgetExceeded where AMD finds that a limit is passed, or no
///         order in 80 steps for every entry of A + Aᵀ and row. Constructors of DirectFactors go on
template <class T>
[[nodiscard]] DirectPrediction predict_direct(const CsrView<T>& matrix, DirectMethod method = DirectMethod::automatic,
                                              const DirectLimits& limits = {});

/// M = A⁻¹ to rounding: richardson() with it is a direct solve with iterative refinement. Factors and solves are on the
/// host, on one thread, and in double for both element types. Products may run concurrently; each allocates O(n).
template <class T>
class DirectFactors final : public Preconditioner<T> {
 public:
  /// \param matrix square, on the host
  /// \throws DimensionError for a matrix that is not square; InvalidMatrix for NaN or infinity, and for cholesky of an
  ///         asymmetric matrix; SingularMatrix for a structurally singular one, and naming the column whose pivot is
  ///         zero, or whose pivot is smallest where solutions overflow; BudgetExceeded with the prediction, before it
  ///         allocates the factors, or where row exchanges fill them beyond the limit of memory; OutOfMemory
  explicit DirectFactors(const CsrView<T>& matrix, const DirectOptions& options = {});
  ~DirectFactors() override;
  DirectFactors(DirectFactors&&) noexcept;
  DirectFactors& operator=(DirectFactors&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override { return rows(); }
  [[nodiscard]] bool has_transpose() const override { return true; }
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override;
  [[nodiscard]] const DirectInfo& factors() const noexcept;

  /// Factorizes anew with the ordering kept. \throws as the constructor
  void refresh(const CsrView<T>& matrix) override;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  /// By the same factors.
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern template DirectPrediction predict_direct(const CsrView<float>&, DirectMethod, const DirectLimits&);
extern template DirectPrediction predict_direct(const CsrView<double>&, DirectMethod, const DirectLimits&);
extern template class DirectFactors<float>;
extern template class DirectFactors<double>;

}  // namespace tessera
