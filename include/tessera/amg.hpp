/// \file
/// Algebraic multigrid by smoothed aggregation (P. Vaněk, J. Mandel, M. Brezina, Computing 56, 1996): a preconditioner
/// whose iterations hardly grow with the matrix. Set-up and cycle run on the host or wholly on a GPU, and give the same
/// hierarchy bit by bit.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/preconditioner.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// How a cycle visits the coarser level: once (V), twice (W), or by two steps of flexible CG (K: Y. Notay, P. S.
/// Vassilevski, Numer. Linear Algebra Appl. 15, 2008).
enum class AmgCycle { v, w, k };

/// Smoother x = x + ω diag(m) (b - A x).
enum class AmgSmoother {
  jacobi,     ///< m_i = 1 / a_ii, ω = 1.45 / ρ(D⁻¹ A)
  l1_jacobi,  ///< m_i = 1 / Σ_j |a_ij|, ω = 1: converges for every symmetric positive definite A
  spai0,      ///< m_i = a_ii / Σ_j a_ij², ω = 1 (O. Bröker, M. J. Grote, Appl. Numer. Math. 41, 2002)
  chebyshev,  ///< polynomial in D⁻¹ A of degree `chebyshev_degree`, as so many sweeps with ω from its roots
};

/// Element type of the hierarchy inside the cycle. Set-up computes in the type of the matrix.
enum class AmgPrecision {
  single,  ///< float: fewer bytes, and on the problems of bench/NOTES.md not an iteration more
  full,    ///< that of the matrix
};

[[nodiscard]] std::string_view to_string(AmgCycle cycle);          ///< "v", "w", "k"
[[nodiscard]] std::string_view to_string(AmgSmoother smoother);    ///< "jacobi", "l1-jacobi", "spai0", "chebyshev"
[[nodiscard]] std::string_view to_string(AmgPrecision precision);  ///< "single", "full"

struct AmgOptions {
  // Coarsening.
  /// θ: |a_ij| is strong if it is at least θ min(max_k |a_ik|, max_k |a_jk|), diagonals left out. Weak entries are
  /// added to the diagonal before the prolongator is smoothed. In [0, 1].
  double strength_threshold = 0.25;
  index_t coarsest_rows = 150;  ///< a level of at most so many rows is solved by its dense inverse; 1 to 1000
  int max_levels = 20;          ///< at least 1
  /// Unknowns per node, which are consecutive rows; nodes are aggregated, not rows. 1 to 16; 0: found from the
  /// positions of A, 1 to 6: rows of a node are equal there, and their columns come in whole nodes.
  int block_size = 0;
  /// Vectors that A maps nearly to 0, one after the other, of n elements each; their number is at least block_size.
  /// Empty: the constant of every unknown of a node, or rigid-body modes where there are coordinates.
  std::vector<double> near_nullspace = {};
  /// Of nodes, node after node, block_size (2 or 3) for each: rigid-body modes for elasticity.
  std::vector<double> coordinates = {};

  // Prolongator: P = (I - ω D⁻¹ A) T.
  double prolongator_damping = 4.0 / 3.0;  ///< ω = damping / ρ(D⁻¹ A); 0: P = T. In [0, 2)
  int power_steps =
      5;  ///< for ρ; the finest level takes Gershgorin's bound where it is at most 2; 0: the bound everywhere

  // Cycle.
  AmgCycle cycle = AmgCycle::v;
  AmgSmoother smoother = AmgSmoother::jacobi;
  double smoother_damping = 1.45;  ///< of `jacobi`: ω = damping / ρ. In (0, 2)
  int chebyshev_degree = 2;        ///< 1 to 8
  double chebyshev_ratio = 8.0;    ///< ρ over the lower end of the interval that is smoothed; > 1
  int sweeps = 1;                  ///< of the smoother, before and after the coarser level; 1 to 8
  AmgPrecision precision = AmgPrecision::single;

  /// Keep the structures of all products, so that refresh() computes values alone. Takes the memory of the structures
  /// of A P and R A P.
  bool prepare_refresh = false;
  /// Apply the cycle to a random vector: M must be finite. Find out is_symmetric, and whether M is positive then.
  bool check = true;
};

/// One level of a hierarchy, the finest first.
struct AmgLevelInfo {
  index_t rows = 0;
  offset_t nnz = 0;
  double strong = 1.0;           ///< part of the entries that is kept for aggregation; 1 on the coarsest
  index_t aggregates = 0;        ///< 0 on the coarsest
  int rounds = 0;                ///< of the maximal independent set
  double spectral_radius = 0.0;  ///< estimate of ρ(D⁻¹ A)
  std::string layout;            ///< of A in the cycle: "row-templates", "row-patterns", "sliced-ell", "csr", "dense"
  std::uint64_t bytes = 0;       ///< in the cycle: A, P, R and vectors
};

/// Where the time of a set-up went, milliseconds. On a GPU measured between events of its stream.
struct AmgSetupTimes {
  double strength = 0.0;     ///< statistics of rows, strong entries
  double eigenvalues = 0.0;  ///< power steps
  double aggregation = 0.0;
  double prolongator = 0.0;
  double restriction = 0.0;  ///< R = Pᵀ
  double products = 0.0;     ///< A P and R (A P)
  double coarsest = 0.0;     ///< dense inverse
  double layout = 0.0;       ///< of matrices in the cycle
  double check = 0.0;
};

/// What set-up built.
struct AmgInfo {
  std::vector<AmgLevelInfo> levels;
  int block_size = 1;                ///< unknowns per node, given or found
  double operator_complexity = 1.0;  ///< entries of all levels over those of A
  double grid_complexity = 1.0;      ///< rows of all levels over those of A
  AmgSetupTimes times;
  /// False when the matrix has more than `coarsest_rows` rows and aggregation joined hardly any of them: M is then
  /// little more than its smoother. `reason` says so.
  bool coarsens = true;
  std::string reason;  ///< one sentence: why coarsening ended
};

/// Smoothed-aggregation AMG for matrices with a positive diagonal: M is one cycle from the guess 0. Symmetric where A
/// is. Also for semidefinite A (Neumann problems) with a consistent right-hand side, and for nonsymmetric A with
/// BiCGSTAB. Mᵀ is the cycle of Aᵀ with the same P, R and smoothers; its first product forms the transposes of all
/// levels where A is not symmetric. Products of several threads take turns: a hierarchy has one set of vectors.
template <class T>
class Amg final : public Preconditioner<T> {
 public:
  /// \param matrix on `device`; read during set-up alone
  /// \throws InvalidMatrix naming the first row whose diagonal entry is missing, not positive or not finite, or saying
  ///         that a cycle gave NaN or infinity; DimensionError for a matrix that is not square, or sizes of
  ///         near_nullspace, coordinates and block_size that do not fit it; InvalidArgument for options out of range;
  ///         NotSupported for a level of 2^31 entries or more on a GPU; OutOfMemory
  /// O(nnz) work per level; levels shrink geometrically.
  explicit Amg(const CsrView<T>& matrix, const AmgOptions& options = {}, const Device& device = Device{});
  ~Amg() override;
  Amg(Amg&&) noexcept;
  Amg& operator=(Amg&&) noexcept;

  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t cols() const override { return rows(); }
  [[nodiscard]] Device device() const override;
  /// Where M is symmetric; else on the host, of the linear cycles V and W.
  [[nodiscard]] bool has_transpose() const override;
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override;
  [[nodiscard]] const AmgInfo& hierarchy() const noexcept;

  /// Keeps aggregates and strong entries, and computes P, R A P and the smoothers anew. \throws as the constructor; M
  /// may be used again after a refresh() that did not throw
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

extern template class Amg<float>;
extern template class Amg<double>;

}  // namespace tessera
