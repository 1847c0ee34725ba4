/// The next level of smoothed aggregation: P = (I - ω D⁻¹ A_f) T, R = Pᵀ and R (A P), whole or the rows of a rank.
#include "core/borrowed_csr.hpp"
#include "core/interruption.hpp"
#include "core/row_slice.hpp"
#include "core/value_passes.hpp"
#include "solvers/amg/galerkin_rows.hpp"
#include "solvers/amg/galerkin_size.hpp"
#include "solvers/amg/setup.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::detail {

namespace {

/// Operator complexity at which coarsening ends. Meshes stay below 2.
constexpr double most_complexity = 3.0;
/// A level with this part of A's entries is small whatever the others are.
constexpr double small_level = 0.1;

SpgemmOptions product_options(const Device& device) {
  SpgemmOptions options;
  options.device = device;
  options.determinism = Determinism::gpu_to_gpu;
  options.asynchronous = true;
  options.short_rows = true;
  return options;
}

}  // namespace

template <class T>
std::shared_ptr<const Csr<T>> AmgProduct<T>::multiply(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                                                      bool keeps) {
  const SpgemmOptions options = product_options(a->device());
  if (!keeps) return std::make_shared<const Csr<T>>(spgemm(*a, *b, options).matrix);
  if (!plan_) plan_.emplace(a, b, options);
  if (kept_bytes_ == 0) kept_bytes_ = plan_->bytes() + a->bytes() + b->bytes();
  return std::make_shared<const Csr<T>>(plan_->multiply(*a, *b));
}

/// P = (I - ω D⁻¹ A_f) T. Short rows need no sparse product on a GPU, unless its structure is to be kept.
/// \param rows of P that are needed; the others stay empty where there are ranks
template <class T>
std::shared_ptr<const Csr<T>> AmgSetup<T>::smooth(std::size_t level, std::int64_t longest_row,
                                                  std::shared_ptr<const Csr<T>> smoothed, const T* diagonal,
                                                  double omega, RowRange rows) {
  AmgLevelStructure<T>& kept = structures_[level];
  const bool keeps = keeps_structures();
  if (filters_ && !keeps && omega != 0.0 && !device_.is_host() && longest_row <= longest_short_row) {
    return std::make_shared<const Csr<T>>(
        cuda::smooth_short_rows(device_, smoothed->view(), rows, kept.aggregates, diagonal, omega));
  }
  std::optional<Tentative<T>> made;
  if (!kept.tentative) made = tentative_prolongator(device_, smoothed->rows(), kept.aggregates, nullspace_);
  Tentative<T>& tentative = kept.tentative ? *kept.tentative : *made;
  auto p =
      std::make_shared<const Csr<T>>(omega == 0.0 ? tentative.matrix.template with_value_type<T>()
                                                  : smooth_rows(level, smoothed, tentative, diagonal, omega, rows));
  // The near-nullspace of the next level; a refresh that keeps T does not ask for it.
  nullspace_ = std::move(tentative.next);
  if (keeps && made) kept.tentative = std::move(made);
  return p;
}

/// Rows of P by the product A_f T.
template <class T>
Csr<T> AmgSetup<T>::smooth_rows(std::size_t level, const std::shared_ptr<const Csr<T>>& smoothed,
                                const Tentative<T>& tentative, const T* diagonal, double omega, RowRange rows) {
  AmgLevelStructure<T>& kept = structures_[level];
  const auto t = std::make_shared<const Csr<T>>(borrow_csr(tentative.matrix.view(), device_));
  if (rows.size() == smoothed->rows()) {
    const auto products = kept.smoothing.multiply(smoothed, t, keeps_structures());
    return smooth_prolongator(device_, *products, kept.aggregates, tentative, nullspace_, diagonal, omega);
  }
  const RowSlice<T> slice = slice_rows(smoothed->view(), device_, rows.first, rows.size());
  const Csr<T> products = spgemm(borrow_csr(slice.view, device_), *t, product_options(device_)).matrix;
  const auto part = std::make_shared<const Csr<T>>(
      smooth_prolongator(device_, products, kept.aggregates, tentative, nullspace_, diagonal, omega, rows.first));
  return place_rows(device_, part, 0, rows, smoothed->rows());
}

/// Few steps reach everything in a graph with hubs: the product of a small level may be full, and is not formed then.
template <class T>
bool AmgSetup<T>::is_too_complex(std::size_t level) {
  if (is_refresh_) return false;
  const AmgLevel<T>& here = hierarchy_.levels[level];
  const auto finest = static_cast<double>(info_.levels.front().nnz);
  double entries = 0.0;
  for (const AmgLevelInfo& each : info_.levels) entries += static_cast<double>(each.nnz);
  const auto coarse_rows = static_cast<double>(here.p->cols());
  const double allowed = std::max(most_complexity * finest - entries, small_level * finest);
  if (coarse_rows * coarse_rows <= allowed) return false;
  const bool is_shared = level < shared_levels_;
  const RowRange rows = is_shared ? ranks_->rows(level + 1) : RowRange{0, here.r->rows()};
  EntryCount next{galerkin_size(device_, here.r->view(), here.a->view(), here.p->view(), rows)};
  if (is_shared) next = ranks_->communicator().sum(ranks_->number(), next);
  const auto predicted = static_cast<double>(next.entries);
  if (predicted <= allowed) return false;
  info_.reason =
      fmt::format("level {} would have about {:.2g} entries, and all levels {:.1f} times those of A: more than {:.0f}",
                  level + 1, predicted, (entries + predicted) / finest, most_complexity);
  return true;
}

/// P, R and the Galerkin product. \param smoothed the matrix that smooths T
template <class T>
bool AmgSetup<T>::add_level(std::size_t level, const MeasuredRows<T>& rows, std::shared_ptr<const Csr<T>> smoothed,
                            const T* diagonal, double rho) {
  AmgLevel<T>& here = hierarchy_.levels[level];
  const double omega = rho > 0.0 ? options_.prolongator_damping / rho : 0.0;
  here.p = smooth(level, rows.totals.longest, std::move(smoothed), diagonal, omega, prolongator_rows_);
  end_phase(&AmgSetupTimes::prolongator);
  restrict_to_coarse(level);
  end_phase(&AmgSetupTimes::restriction);
  if (is_too_complex(level)) {
    here.p = here.r = nullptr;
    return false;
  }
  rounding_ = Array<T>(here.r->rows(), Init::none, device_);
  transform_rows(device_, all_rows(here.r->view()),
                 DiagonalRounding<T>{
                     .r = pointers_of(here.r->view()), .diagonal = rows.diagonal.data(), .rounding = rounding_.data()});
  if (level < shared_levels_) ranks_->complete(rounding_.span(), ranks_->partition(level + 1));
  AmgLevel<T> next;
  next.a = multiply_galerkin(level);
  end_phase(&AmgSetupTimes::products);
  hierarchy_.levels.push_back(std::move(next));
  return true;
}

/// R = Pᵀ. Of a shared level the own rows, which alone are whole.
template <class T>
void AmgSetup<T>::restrict_to_coarse(std::size_t level) {
  AmgLevelStructure<T>& kept = structures_[level];
  AmgLevel<T>& here = hierarchy_.levels[level];
  if (!keeps_structures()) {
    here.r = std::make_shared<const Csr<T>>(transpose(here.p->view(), device_));
    if (level < shared_levels_) {
      const RowRange own = ranks_->rows(level + 1);
      here.r = std::make_shared<const Csr<T>>(place_rows(device_, here.r, own.first, own, here.r->rows()));
    }
    return;
  }
  if (!is_refresh_) kept.restriction = transpose_map(here.p->view(), device_);
  Array<T> values(here.p->nnz(), Init::none, device_);
  gather_values(device_, kept.restriction.positions.span(), here.p->values().span(), values.span());
  here.r = std::make_shared<const Csr<T>>(kept.restriction.structure.with_values(std::move(values)));
}

/// R (A P). Of a shared level every rank forms its rows.
template <class T>
std::shared_ptr<const Csr<T>> AmgSetup<T>::multiply_galerkin(std::size_t level) {
  AmgLevelStructure<T>& kept = structures_[level];
  const AmgLevel<T>& here = hierarchy_.levels[level];
  if (level < shared_levels_) {
    const RowRange own = ranks_->rows(level + 1);
    return gather_rows(level + 1,
                       galerkin_rows(*here.r, *here.a, *here.p, own.first, own.last, product_options(device_)));
  }
  const auto a_p = kept.a_p.multiply(here.a, here.p, keeps_structures());
  require_wanted();
  auto next = kept.r_ap.multiply(here.r, a_p, keeps_structures());
  level_rows_ = whole_level(next->view());
  return next;
}

template class AmgProduct<float>;
template class AmgProduct<double>;
template bool AmgSetup<float>::add_level(std::size_t, const MeasuredRows<float>&, std::shared_ptr<const Csr<float>>,
                                         const float*, double);
template bool AmgSetup<double>::add_level(std::size_t, const MeasuredRows<double>&, std::shared_ptr<const Csr<double>>,
                                          const double*, double);

}  // namespace tessera::detail
