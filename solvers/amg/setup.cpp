/// Set-up of smoothed-aggregation AMG.
///
/// P. Vaněk, J. Mandel, M. Brezina, Algebraic Multigrid by Smoothed Aggregation for Second and Fourth Order Elliptic
/// Problems, Computing 56, 1996.
#include "solvers/amg/setup.hpp"

#include "core/borrowed_csr.hpp"
#include "core/interruption.hpp"
#include "solvers/amg/coarsest.hpp"
#include "solvers/amg/node_size.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/amg/spectral_radius.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

/// Coarsening ends where aggregation leaves more than this part of the nodes.
constexpr double least_coarsening = 0.8;
/// The bound of an M-matrix with rows that sum to zero or more is 2, and near ρ on the finest level. That of finite
/// elements can be 50 times too large.
constexpr double sharp_gershgorin = 2.0 + 1e-6;
/// Where D⁻¹ A maps the constant to at least this, nothing is left to a coarser level: mass matrices, short time steps.
constexpr double large_row_sum = 0.5;
/// The power method estimates from below.
constexpr double power_margin = 1.1;

std::string unfit_row(std::int64_t row, double diagonal) {
  return fmt::format("AMG needs finite rows with a positive diagonal: row {} has the diagonal {}{}", row + 1, diagonal,
                     diagonal > 0.0 ? " and an entry that is not finite or too large" : "");
}

std::string not_positive(std::size_t level, std::int64_t row, double diagonal) {
  return fmt::format(
      "AMG needs a matrix that is positive definite, or has a positive definite symmetric part: row {} of level {} has "
      "the diagonal {}",
      row + 1, level, diagonal);
}

}  // namespace

template <class T>
AmgSetup<T>::AmgSetup(const CsrView<T>& a, const AmgOptions& options, const Device& device)
    : options_(options), device_(device), ranks_(nullptr), rows_(a.rows) {
  if (!a.is_square()) throw DimensionError(fmt::format("AMG needs a square matrix, got {} x {}", a.rows, a.cols));
  check();
  build(&a);
}

template <class T>
AmgSetup<T>::AmgSetup(SetupRanks<T>& ranks, index_t rows, const AmgOptions& options, const Device& device)
    : options_(options), device_(device), ranks_(&ranks), rows_(rows) {
  check();
  build(nullptr);
}

template <class T>
void AmgSetup<T>::check() {
  if (rows_ > most_aggregated_rows) {
    throw NotSupported(fmt::format("AMG aggregates up to 2^30 rows, got {}", rows_));
  }
  check_amg_options(options_, rows_);
  filters_ = options_.block_size <= 1 && options_.near_nullspace.empty();
}

template <class T>
void AmgSetup<T>::refresh(const CsrView<T>& a) {
  if (a.rows != rows_ || a.cols != rows_) {
    throw DimensionError(fmt::format("AMG was set up for {0} x {0}, got {1} x {2}", rows_, a.rows, a.cols));
  }
  is_refresh_ = true;
  build(&a);
}

template <class T>
void AmgSetup<T>::build(const CsrView<T>* a) {
  clock_.emplace(device_);
  start(a);
  for (std::size_t level = 0;; ++level) {
    MeasuredRows<T> rows = measure(level);
    if (!is_last(level, level_rows_.rows) && coarsen(level, rows)) continue;
    if (level_rows_.is_shared()) take_all_rows(level, rows);
    invert_coarsest(rows);
    break;
  }
  if (options_.check) test_symmetry();
  finish_info();
}

template <class T>
void AmgSetup<T>::end_phase(PhaseClock::Phase phase) {
  clock_->end(phase);
  require_wanted();
}

/// The finest matrix is the caller's, unless plans keep its structure, or ranks take their rows of it.
template <class T>
void AmgSetup<T>::start(const CsrView<T>* a) {
  hierarchy_ = AmgHierarchy<T>{device_, {}, {}};
  hierarchy_.levels.emplace_back();
  if (a == nullptr) {
    hierarchy_.levels.back().a = gather_finest();
  } else {
    Csr<T> borrowed = borrow_csr(*a, device_);
    hierarchy_.levels.back().a =
        std::make_shared<const Csr<T>>(keeps_structures() && !is_refresh_ ? borrowed.to(device_) : std::move(borrowed));
    level_rows_ = whole_level(*a);
  }
  if (options_.block_size == 0) find_block_size();
  info_.block_size = options_.block_size;
  info_.levels.clear();
  info_.times = {};
  // A refresh ends where the first set-up did, for the same reason.
  if (!is_refresh_) info_.reason.clear();
  rounding_ = {};
  nullspace_ = NearNullspace<T>{};
  if (!filters_) find_nullspace(rows_);
}

/// A given near-nullspace has a vector per unknown of a node, or else nodes are rows.
template <class T>
void AmgSetup<T>::find_block_size() {
  options_.block_size = node_size(device_, hierarchy_.levels.back().a->view(), level_rows_);
  const auto vectors = options_.near_nullspace.size() / static_cast<std::size_t>(std::max<index_t>(rows_, 1));
  if (vectors > 0 && vectors < static_cast<std::size_t>(options_.block_size)) options_.block_size = 1;
  is_block_found_ = options_.block_size > 1;
  check();
  // Where nodes are aggregated, every rank has all rows.
  if (ranks_ != nullptr && is_block_found_) hierarchy_.levels.back().a = gather_finest();
}

/// A refresh that keeps T needs no near-nullspace.
template <class T>
void AmgSetup<T>::find_nullspace(index_t rows) {
  nullspace_.block = options_.block_size;
  nullspace_.vectors = options_.block_size;
  if (!options_.coordinates.empty()) nullspace_.vectors = options_.block_size == 2 ? 3 : 6;
  const auto n = static_cast<std::size_t>(rows);
  if (!options_.near_nullspace.empty()) nullspace_.vectors = static_cast<int>(options_.near_nullspace.size() / n);
  if (rows == 0 || (is_refresh_ && keeps_structures())) return;
  if (!options_.coordinates.empty()) {
    nullspace_.values = rigid_body_modes<T>(device_, options_.coordinates, options_.block_size);
  } else if (options_.near_nullspace.empty()) {
    nullspace_.values = Array<T>(std::int64_t{rows} * options_.block_size, Init::none, device_);
    fused::transform_reduce(device_, rows,
                            ConstantModes<T>{.block = options_.block_size, .modes = nullspace_.values.data()});
  } else {
    const auto vectors = static_cast<std::size_t>(nullspace_.vectors);
    std::vector<T> by_rows(n * vectors);
    for (std::size_t c = 0; c < vectors; ++c) {
      for (std::size_t i = 0; i < n; ++i) {
        by_rows[i * vectors + c] = static_cast<T>(options_.near_nullspace[c * n + i]);
      }
    }
    nullspace_.values = Array<T>::copy_of(by_rows, device_);
  }
}

template <class T>
bool AmgSetup<T>::is_last(std::size_t level, index_t rows) const {
  if (is_refresh_) return level >= structures_.size();
  return rows <= options_.coarsest_rows || static_cast<int>(level) + 1 >= options_.max_levels;
}

template <class T>
MeasuredRows<T> AmgSetup<T>::measure(std::size_t level) {
  MeasuredRows<T> rows = measure_held(level);
  end_phase(&AmgSetupTimes::strength);
  require_fit(level, rows);
  AmgLevelInfo info;
  info.rows = level_rows_.rows;
  info.nnz = level_rows_.nnz;
  info_.levels.push_back(std::move(info));
  return rows;
}

template <class T>
MeasuredRows<T> AmgSetup<T>::measure_held(std::size_t level) {
  AmgLevel<T>& here = hierarchy_.levels[level];
  const T* const rounding = rounding_.empty() ? nullptr : rounding_.data();
  MeasuredRows<T> rows = measure_rows(device_, here.a->view(), level_rows_, options_.smoother, rounding);
  here.rho = rows.totals.gershgorin;
  here.smoother = std::move(rows.smoother);
  return rows;
}

namespace {

/// A diagonal entry, as far as a rank has it.
struct KnownDiagonal {
  double value = 0.0;
  bool is_known = false;
  KnownDiagonal& operator+=(const KnownDiagonal& other) noexcept {
    if (other.is_known) *this = other;
    return *this;
  }
};

}  // namespace

template <class T>
void AmgSetup<T>::require_fit(std::size_t level, const MeasuredRows<T>& rows) const {
  const std::int64_t unfit = rows.totals.unfit.index;
  if (unfit < 0) return;
  KnownDiagonal known;
  if (level_rows_.own.contains(unfit)) {
    T diagonal{};
    copy_bytes(Device{}, &diagonal, device_, rows.diagonal.data() + unfit, sizeof(T));
    known = {static_cast<double>(diagonal), true};
  }
  const double diagonal = level_rows_.sum(known).value;
  throw InvalidMatrix(level == 0 ? unfit_row(unfit, diagonal) : not_positive(level, unfit, diagonal));
}

template <class T>
bool AmgSetup<T>::coarsen(std::size_t level, MeasuredRows<T>& rows) {
  if (level == 0 && (filters_ || is_block_found_) && !is_refresh_ && rows.totals.least_row_sum >= large_row_sum) {
    info_.reason = fmt::format("every row sums to at least {:.2f} of its diagonal entry: the smoother is enough",
                               rows.totals.least_row_sum);
    return false;
  }
  if (!is_refresh_) structures_.emplace_back();
  const bool coarsened = filters_ ? coarsen_filtered(level, rows) : coarsen_nodes(level, rows);
  if (!coarsened) structures_.pop_back();
  return coarsened;
}

/// The second matrix of a level needs half the steps.
template <class T>
double AmgSetup<T>::spectral_radius(std::size_t level, PowerMethod<T>& power, const CsrView<T>& a, offset_t entries,
                                    const T* diagonal, double gershgorin) {
  const bool is_sharp = level == 0 && filters_ && gershgorin <= sharp_gershgorin;
  if (options_.power_steps == 0 || is_sharp) return gershgorin;
  const int steps = power.is_warm() ? (options_.power_steps + 1) / 2 : options_.power_steps;
  const double estimate = power_margin * power.estimate(a, level_rows_, entries, diagonal, steps);
  return estimate > 0.0 ? std::min(gershgorin, estimate) : gershgorin;
}

template <class T>
FilteredMatrix<T> AmgSetup<T>::find_strong(std::size_t level, const MeasuredRows<T>& rows) {
  AmgLevelStructure<T>& kept = structures_[level];
  FilteredMatrix<T> filtered = filter(device_, hierarchy_.levels[level].a->view(), level_rows_, rows,
                                      options_.strength_threshold, keeps_structures() ? &kept.strength : nullptr);
  kept.strength.decided = true;
  info_.levels[level].strong =
      static_cast<double>(filtered.nnz) / static_cast<double>(std::max<offset_t>(level_rows_.nnz, 1));
  return filtered;
}

/// The constant is the near-nullspace: weak entries are lumped, so that A_f maps it to what A maps it to.
template <class T>
bool AmgSetup<T>::coarsen_filtered(std::size_t level, MeasuredRows<T>& rows) {
  AmgLevel<T>& here = hierarchy_.levels[level];
  FilteredMatrix<T> filtered = find_strong(level, rows);
  end_phase(&AmgSetupTimes::strength);
  const auto aggregated = filtered.is_all ? here.a->view() : filtered.matrix.view();
  if (!find_aggregates(level, aggregated, filtered.nnz)) return false;
  share_next_level(level);
  const RowCount lacking{level_rows_.with_columns().contains(prolongator_rows_) ? 0 : 1};
  if (level_rows_.sum(lacking).rows > 0) {
    take_all_rows(level, rows);
    filtered = find_strong(level, rows);
  }
  const CsrView<T> a = here.a->view();
  const auto strong = filtered.is_all ? here.a : std::make_shared<const Csr<T>>(std::move(filtered.matrix));
  PowerMethod<T> power(device_, a.rows);
  const double rho =
      spectral_radius(level, power, strong->view(), filtered.nnz, filtered.diagonal.data(), filtered.gershgorin);
  const bool needs_rho = options_.smoother == AmgSmoother::jacobi || options_.smoother == AmgSmoother::chebyshev;
  if (filtered.is_all) {
    here.rho = rho;
  } else if (needs_rho) {
    here.rho = spectral_radius(level, power, a, level_rows_.nnz, rows.diagonal.data(), here.rho);
  }
  end_phase(&AmgSetupTimes::eigenvalues);
  return add_level(level, rows, strong, filtered.diagonal.data(), rho);
}

/// Nodes are aggregated by the norms of their blocks. The prolongator is smoothed by A itself, since lumping is right
/// for the constant alone.
template <class T>
bool AmgSetup<T>::coarsen_nodes(std::size_t level, const MeasuredRows<T>& rows) {
  AmgLevel<T>& here = hierarchy_.levels[level];
  const CsrView<T> a = here.a->view();
  if (!is_refresh_) {
    std::shared_ptr<const Csr<T>> nodes = here.a;
    if (nullspace_.block > 1) nodes = std::make_shared<const Csr<T>>(node_graph(device_, a, nullspace_.block));
    const LevelRows all = whole_level(nodes->view());
    const MeasuredRows<T> of_nodes = measure_rows(device_, nodes->view(), all, AmgSmoother::jacobi);
    FilteredMatrix<T> filtered = filter<T>(device_, nodes->view(), all, of_nodes, options_.strength_threshold, nullptr);
    info_.levels[level].strong =
        static_cast<double>(filtered.nnz) / static_cast<double>(std::max<offset_t>(nodes->nnz(), 1));
    end_phase(&AmgSetupTimes::strength);
    if (!find_aggregates(level, filtered.is_all ? nodes->view() : filtered.matrix.view(), filtered.nnz)) return false;
  } else if (!find_aggregates(level, a, a.nnz())) {
    return false;
  }
  share_next_level(level);
  PowerMethod<T> power(device_, a.rows);
  here.rho = spectral_radius(level, power, a, a.nnz(), rows.diagonal.data(), here.rho);
  end_phase(&AmgSetupTimes::eigenvalues);
  return add_level(level, rows, here.a, rows.diagonal.data(), here.rho);
}

/// \returns whether there is a coarser level
template <class T>
bool AmgSetup<T>::find_aggregates(std::size_t level, const CsrView<T>& graph, offset_t entries) {
  Aggregates& aggregates = structures_[level].aggregates;
  if (!is_refresh_) {
    // Where ranks do not share a large level, one aggregates it for all: others may still get the matrix.
    const bool of_first = ranks_ != nullptr && !level_rows_.is_shared() && level_rows_.rows >= ranks_->least_rows();
    if (level_rows_.is_shared()) {
      aggregates = aggregate(device_, graph, level_rows_, entries);
    } else if (!of_first || ranks_->number() == 0) {
      aggregates = aggregate(device_, graph, whole_level(graph), entries);
    }
    if (of_first) ranks_->take_from_first(aggregates);
    end_phase(&AmgSetupTimes::aggregation);
  }
  info_.levels[level].aggregates = aggregates.count;
  info_.levels[level].rounds = aggregates.rounds;
  const auto nodes = static_cast<double>(aggregates.of_row.size());
  const auto count = static_cast<double>(aggregates.count);
  const bool coarsens = count > 0 && count <= least_coarsening * nodes;
  if (!coarsens) {
    info_.reason = count == 0 ? "no row has a neighbour"
                              : fmt::format("aggregation left {} of {} nodes of level {}", aggregates.count,
                                            aggregates.of_row.size(), level);
  }
  return coarsens;
}

template <class T>
void AmgSetup<T>::invert_coarsest(const MeasuredRows<T>& rows) {
  const AmgLevel<T>& coarsest = hierarchy_.levels.back();
  const bool is_small = coarsest.a->rows() <= std::max(options_.coarsest_rows, most_inverted_rows / 2);
  if (is_small && coarsest.a->rows() > 0) {
    hierarchy_.coarsest_inverse = device_.is_host()
                                      ? host::dense_inverse(coarsest.a->view(), rows.diagonal.data())
                                      : cuda::dense_inverse(device_, coarsest.a->view(), rows.diagonal.data());
  }
  end_phase(&AmgSetupTimes::coarsest);
}

/// <A u, v> = <u, A v> for random u and v. R A P is cheaper to test than A, and hardly ever symmetric where A is not.
template <class T>
void AmgSetup<T>::test_symmetry() {
  const std::size_t level = hierarchy_.levels.size() > 1 ? 1 : 0;
  const CsrView<T> a = hierarchy_.levels[level].a->view();
  LevelRows rows = whole_level(a);
  rows.nnz = info_.levels[level].nnz;
  if (level < shared_levels_) {
    rows.own = ranks_->rows(level);
    rows.ranks = ranks_;
  }
  DeviceValue<AsymmetrySums> sums(device_);
  transform_rows(device_, rows.set(rows.own, rows.nnz), AsymmetryProbe<T>{.a = pointers_of(a)}, sums.data());
  is_symmetric_ = rows.sum(sums.get()).is_rounding(static_cast<double>(std::numeric_limits<T>::epsilon()));
  end_phase(&AmgSetupTimes::check);
}

template <class T>
void AmgSetup<T>::finish_info() {
  offset_t nnz = 0;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < hierarchy_.levels.size(); ++i) {
    nnz += info_.levels[i].nnz;
    rows += info_.levels[i].rows;
    info_.levels[i].spectral_radius = hierarchy_.levels[i].rho;
  }
  const AmgLevelInfo& finest = info_.levels.front();
  const AmgLevelInfo& coarsest = info_.levels.back();
  info_.operator_complexity = finest.nnz > 0 ? static_cast<double>(nnz) / static_cast<double>(finest.nnz) : 1.0;
  info_.grid_complexity = finest.rows > 0 ? static_cast<double>(rows) / static_cast<double>(finest.rows) : 1.0;
  info_.coarsens = hierarchy_.levels.size() > 1 || finest.rows <= options_.coarsest_rows || options_.max_levels == 1;
  if (info_.reason.empty()) {
    info_.reason = coarsest.rows <= options_.coarsest_rows
                       ? fmt::format("the coarsest level has {} rows", coarsest.rows)
                       : fmt::format("the limit of {} levels", options_.max_levels);
  }
  clock_->add_to(info_.times);
  clock_.reset();
}

template <class T>
void AmgSetup<T>::release_matrices() {
  rounding_ = {};
  nullspace_ = {};
  hierarchy_.coarsest_inverse = {};
  for (AmgLevel<T>& level : hierarchy_.levels) {
    level.a = level.p = level.r = nullptr;
    level.smoother = {};
  }
}

template <class T>
std::uint64_t AmgSetup<T>::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const AmgLevelStructure<T>& level : structures_) {
    bytes += level.aggregates.of_row.bytes() + level.strength.decisions.bytes() + level.restriction.positions.bytes() +
             level.smoothing.kept_bytes() + level.a_p.kept_bytes() + level.r_ap.kept_bytes();
  }
  return bytes;
}

template class AmgSetup<float>;
template class AmgSetup<double>;

}  // namespace tessera::detail
