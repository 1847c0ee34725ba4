/// \file
/// Set-up of smoothed-aggregation AMG: levels from the finest to the coarsest, on the host or a GPU. Both compute the
/// same bits: rows are summed in one order (row_ops.hpp), and products keep the class gpu_to_gpu.
///
/// Per level: measure rows, filter weak entries, aggregate, T, P = (I - ω D⁻¹ A_f) T, R = Pᵀ, A P, R (A P).
#pragma once

#include "preprocess/transpose_map.hpp"
#include "solvers/amg/hierarchy.hpp"
#include "solvers/amg/level_rows.hpp"
#include "solvers/amg/phase_clock.hpp"
#include "solvers/amg/prolongator.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "solvers/amg/spectral_radius.hpp"
#include "solvers/amg/strength.hpp"
#include "tessera/amg.hpp"
#include "tessera/spgemm.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::detail {

/// \throws InvalidArgument naming the first option out of range; DimensionError
void check_amg_options(const AmgOptions& options, index_t rows);

/// A sparse product whose structure may be kept.
template <class T>
class AmgProduct {
 public:
  /// The first product. \param keeps its structure
  [[nodiscard]] std::shared_ptr<const Csr<T>> multiply(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                                                       bool keeps);
  /// Of the plan and its factors, which several products may share; 0 where nothing is kept.
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  std::uint64_t kept_bytes_ = 0;
  std::optional<SpgemmPlan<T>> plan_;
};

/// What a level keeps for refresh().
template <class T>
struct AmgLevelStructure {
  Aggregates aggregates;
  // Only with AmgOptions::prepare_refresh.
  KeptStrength<T> strength;
  std::optional<Tentative<T>> tentative;
  TransposeMap<T> restriction;
  AmgProduct<T> smoothing;  ///< A_f T
  AmgProduct<T> a_p;
  AmgProduct<T> r_ap;
};

template <class T>
class AmgSetup {
 public:
  /// \param a on `device` \throws as Amg
  AmgSetup(const CsrView<T>& a, const AmgOptions& options, const Device& device);
  /// By several ranks at once, without prepare_refresh. \param rows of A \param device of this rank \throws as Amg
  AmgSetup(SetupRanks<T>& ranks, index_t rows, const AmgOptions& options, const Device& device);

  /// New values, with the aggregates of the first set-up. \throws as Amg
  void refresh(const CsrView<T>& a);
  /// Whether a refresh leaves all structures as they are.
  [[nodiscard]] bool keeps_structures() const noexcept { return options_.prepare_refresh; }

  /// Frees the matrices of the hierarchy, once the cycle has its copies.
  void release_matrices();

  [[nodiscard]] const AmgHierarchy<T>& hierarchy() const noexcept { return hierarchy_; }
  /// The hierarchy of a set-up that is not needed any more.
  [[nodiscard]] AmgHierarchy<T> take_hierarchy() noexcept { return std::move(hierarchy_); }
  [[nodiscard]] const std::vector<AmgLevelStructure<T>>& structures() const noexcept { return structures_; }
  [[nodiscard]] AmgInfo& info() noexcept { return info_; }
  /// Whether the Galerkin product of the first level is symmetric, to rounding.
  [[nodiscard]] bool is_symmetric() const noexcept { return is_symmetric_; }
  /// Beside the hierarchy: what is kept for refresh(), at most (factors that products share count in each).
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  void check();
  /// \param a null: of the ranks
  void build(const CsrView<T>* a);
  void start(const CsrView<T>* a);
  void find_block_size();
  void find_nullspace(index_t rows);
  [[nodiscard]] bool is_last(std::size_t level, index_t rows) const;
  /// A of a level that ranks have formed, as far as this one holds it.
  [[nodiscard]] std::shared_ptr<const Csr<T>> gather_finest();
  [[nodiscard]] std::shared_ptr<const Csr<T>> gather_rows(std::size_t level, const Csr<T>& own);
  /// \param bandwidth of A, asked for if ranks may share the level
  template <class FindBandwidth>
  void find_rows(std::size_t level, offset_t nnz, const FindBandwidth& bandwidth);
  MeasuredRows<T> measure(std::size_t level);
  [[nodiscard]] MeasuredRows<T> measure_held(std::size_t level);
  void require_fit(std::size_t level, const MeasuredRows<T>& rows) const;
  void take_all_rows(std::size_t level, MeasuredRows<T>& rows);
  bool coarsen(std::size_t level, MeasuredRows<T>& rows);
  bool coarsen_filtered(std::size_t level, MeasuredRows<T>& rows);
  bool coarsen_nodes(std::size_t level, const MeasuredRows<T>& rows);
  [[nodiscard]] FilteredMatrix<T> find_strong(std::size_t level, const MeasuredRows<T>& rows);
  /// \param entries of the graph, over all ranks
  bool find_aggregates(std::size_t level, const CsrView<T>& graph, offset_t entries);
  /// \returns whether the level has as few entries as it may
  bool add_level(std::size_t level, const MeasuredRows<T>& rows, std::shared_ptr<const Csr<T>> smoothed,
                 const T* diagonal, double rho);
  [[nodiscard]] bool is_too_complex(std::size_t level);
  /// Counts the work since the last phase; an interruption point.
  void end_phase(PhaseClock::Phase phase);
  /// \param entries of `a`, over all ranks
  [[nodiscard]] double spectral_radius(std::size_t level, PowerMethod<T>& power, const CsrView<T>& a, offset_t entries,
                                       const T* diagonal, double gershgorin);
  [[nodiscard]] std::shared_ptr<const Csr<T>> smooth(std::size_t level, std::int64_t longest_row,
                                                     std::shared_ptr<const Csr<T>> smoothed, const T* diagonal,
                                                     double omega, RowRange rows);
  [[nodiscard]] Csr<T> smooth_rows(std::size_t level, const std::shared_ptr<const Csr<T>>& smoothed,
                                   const Tentative<T>& tentative, const T* diagonal, double omega, RowRange rows);
  void share_next_level(std::size_t level);
  void restrict_to_coarse(std::size_t level);
  [[nodiscard]] std::shared_ptr<const Csr<T>> multiply_galerkin(std::size_t level);
  void test_symmetry();
  void invert_coarsest(const MeasuredRows<T>& rows);
  void finish_info();

  AmgOptions options_;
  Device device_;
  SetupRanks<T>* ranks_;
  bool filters_;                 ///< plain aggregation of rows: the constant is the near-nullspace
  bool is_block_found_ = false;  ///< from the positions of A
  bool is_refresh_ = false;
  bool is_symmetric_ = false;
  index_t rows_;
  std::size_t shared_levels_ = 0;  ///< from the finest on; of these each rank forms its rows of P and R
  LevelRows level_rows_;           ///< of the level that is being coarsened
  RowRange prolongator_rows_;      ///< of it, those that are needed
  NearNullspace<T> nullspace_;     ///< of the level that is being coarsened
  Array<T> rounding_;              ///< of its diagonal; empty on the finest level
  AmgHierarchy<T> hierarchy_;
  std::vector<AmgLevelStructure<T>> structures_;
  AmgInfo info_;
  std::optional<PhaseClock> clock_;
};

}  // namespace tessera::detail
