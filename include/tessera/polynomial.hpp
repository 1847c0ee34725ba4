/// \file
/// Polynomial preconditioners M = p(D⁻¹ A) D⁻¹, D the diagonal of A: products with A and vector operations alone, or
/// the polynomial as one sparse matrix.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace tessera {

/// Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §12.3.
enum class PolynomialKind {
  chebyshev,  ///< `degree` steps of Chebyshev iteration from 0 (algorithm 12.1): 1 - λ p(λ) = T_k((θ - λ)/δ) / T_k(θ/δ)
  neumann,  ///< Σ_{i=0..degree} (I - ω D⁻¹ A)^i ω: 1 - λ p(λ) = (1 - ω λ)^(degree + 1)
};

[[nodiscard]] std::string_view to_string(PolynomialKind kind);  ///< "poly", "neumann", as the command line names them

struct PolynomialOptions {
  PolynomialKind kind = PolynomialKind::chebyshev;
  /// 1 to 64. chebyshev: k, the steps, which take k - 1 products with A, so that p has degree k - 1. neumann: K, the
  /// products with A, which is also the degree of p.
  int degree = 4;
  /// chebyshev: the interval is [λ / ratio, 1.1 λ], λ the estimate of the largest eigenvalue of D⁻¹ A. Larger than 1.
  /// On the matrices of docs/polynomials.md no ratio from 4 to 300 is better for all degrees.
  double interval_ratio = 30.0;
  /// neumann: ω > 0, or 0: 1 where the estimate λ is at most 2, so that the series converges; else 2 / (1.1 λ).
  double damping = 0.0;
  /// At most, for λ; 0: Gershgorin's bound, which is also taken where it is at most 2, and so near λ.
  int power_steps = 60;
  /// Form M as a sparse matrix, so that an application is one product.
  bool explicit_matrix = false;
  /// Of the explicit matrix: after every product an entry is dropped where |m_ij| < τ (|m_ii| |m_jj|)^½, which neither
  /// scaling of A nor transposition changes. At least 0; 0 keeps all.
  double drop_tolerance = 1e-3;
  /// Of the explicit matrix: an entry stays only if it is, by |m_ij| / (|m_ii| |m_jj|)^½, among so many of the largest
  /// off-diagonal entries of its row and (of a symmetric matrix) of its column. Of equals at the limit none stays. At
  /// least 1.
  index_t max_row_entries = std::numeric_limits<index_t>::max();
  std::uint64_t memory_limit_bytes = 0;  ///< of a product of the explicit matrix, as SpgemmOptions; 0: none
};

/// "poly:4", "neumann:3:explicit:1e-3": as the command line names such polynomials.
[[nodiscard]] std::string polynomial_name(const PolynomialOptions& options);

struct PolynomialInfo {
  double gershgorin = 0.0;     ///< max_i Σ_j |a_ij| / |a_ii|, which no eigenvalue of D⁻¹ A exceeds
  double lambda_max = 0.0;     ///< min(gershgorin, 1.1 times the estimate of the power method)
  double interval_low = 0.0;   ///< of chebyshev, else 0
  double interval_high = 0.0;  ///< of chebyshev, else 0
  double damping = 0.0;        ///< ω of neumann, else 0
  int products = 0;            ///< with A per application; with M, once, where it is explicit
  offset_t explicit_nnz = 0;   ///< of the explicit matrix, else 0
  double fill = 0.0;           ///< explicit_nnz over the entries of A
  // Times of set-up, milliseconds.
  double spectrum_ms = 0.0;  ///< diagonal, bound, power method, test of symmetry
  double products_ms = 0.0;  ///< sparse products of the explicit matrix
  double drop_ms = 0.0;      ///< its sums and the entries that are dropped
  double plan_ms = 0.0;      ///< plan of the products in an application, and one application as a test
};

/// M = p(D⁻¹ A) D⁻¹. Symmetric where A is; positive definite, too, if A is and no eigenvalue of D⁻¹ A exceeds
/// interval_low + interval_high (chebyshev) or 2 / ω (neumann with odd degree), as long as no entry of an explicit
/// matrix is dropped. An application of degree k reads A once per product and 5 vectors per step.
///
/// Where D has negative entries λ is Gershgorin's bound. For A that is not symmetric the interval is a guess, which
/// holds as far as eigenvalues are real and positive.
///
/// Mᵀ = p(D⁻¹ Aᵀ) D⁻¹ is the polynomial with Aᵀ in place of A, or the explicit matrix transposed. Its first product
/// forms that matrix, unless it belongs to a shared plan.
///
/// Products may run concurrently, each with vectors of its own, which M keeps: they never allocate, apart from those
/// with α or β, and those that run beside more others than ever before.
template <class T>
class PolynomialPreconditioner final : public Preconditioner<T> {
 public:
  /// Multiplies by the plan of the solver, whose ownership M shares, unless M is explicit: then the plan is read during
  /// set-up alone. After SpmvPlan::update_values() M has to be refreshed with SpmvPlan::matrix().
  /// \throws as below; InvalidArgument for a null pointer
  explicit PolynomialPreconditioner(std::shared_ptr<const SpmvPlan<T>> plan, const PolynomialOptions& options = {});

  /// Multiplies by a plan of its own, of a copy of the matrix, unless M is explicit. \param matrix on `device`; read
  /// during set-up alone
  /// \throws InvalidMatrix naming the first row whose diagonal entry is missing, zero or without a finite inverse, or
  ///         which is not finite, and where M gives NaN or infinity; DimensionError for a matrix that is not square;
  ///         InvalidArgument for options out of range; OutOfMemory
  /// O(nnz) work per power step; explicit: sparse products of A with polynomials of growing degree.
  explicit PolynomialPreconditioner(const CsrView<T>& matrix, const PolynomialOptions& options = {},
                                    const Device& device = Device{});
  ~PolynomialPreconditioner() override;
  PolynomialPreconditioner(PolynomialPreconditioner&&) noexcept;
  PolynomialPreconditioner& operator=(PolynomialPreconditioner&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override { return rows(); }
  [[nodiscard]] Device device() const override;
  /// Not with a shared plan that has no transpose.
  [[nodiscard]] bool has_transpose() const override;
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override;
  [[nodiscard]] const PolynomialInfo& polynomial() const noexcept;
  /// The explicit matrix, on the device of M; 0 x 0 where M is not explicit.
  [[nodiscard]] CsrView<T> matrix() const noexcept;

  /// Estimates λ anew, and forms an explicit matrix anew. Of an M with a shared plan that is not explicit `matrix` is
  /// SpmvPlan::matrix() of that plan. \throws as the constructor; InvalidMatrix for another structure; InvalidArgument
  /// for another matrix than that of a shared plan. M may be used again after a refresh() that did not throw
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

extern template class PolynomialPreconditioner<float>;
extern template class PolynomialPreconditioner<double>;

}  // namespace tessera
