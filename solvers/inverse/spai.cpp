/// Sparse approximate inverse by rows (M. J. Grote, T. Huckle, SIAM J. Sci. Comput. 18(3), 1997; levels: O. Bröker, M.
/// J. Grote, Appl. Numer. Math. 41, 2002): norms, pattern, rows, and the operator z = M r.
#include "core/borrowed_csr.hpp"
#include "core/device/matrix_place.hpp"
#include "core/enqueued_product.hpp"
#include "core/stopwatch.hpp"
#include "solvers/factors/matrix_checks.hpp"
#include "solvers/inverse/kept_rows.hpp"
#include "solvers/inverse/spai_rows.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <vector>

namespace tessera {

namespace {

using detail::KeptRows;
using detail::pointers_of;
using detail::RowReport;
using detail::SharedReport;

void check_options(const SpaiOptions& options) {
  if (options.level != 0 && options.level != 1) {
    throw InvalidArgument(fmt::format("SpaiOptions::level is {}, expected 0 or 1", options.level));
  }
  if (options.max_row_entries < 1 || options.max_row_entries > detail::max_unknowns) {
    throw InvalidArgument(fmt::format("SpaiOptions::max_row_entries is {}, expected [1, {}]", options.max_row_entries,
                                      detail::max_unknowns));
  }
}

template <class T>
void require_square(const CsrView<T>& a) {
  if (!a.is_square()) throw DimensionError(fmt::format("spai needs a square matrix, got {} x {}", a.rows, a.cols));
}

/// The rows of A scaled to norm 1, which borrow the structure of A, and the scales.
struct UnitRows {
  Csr<double> matrix;
  Array<double> scale;
};

template <class T>
UnitRows unit_rows(const CsrView<T>& a, const Device& device) {
  SharedReport report(device);
  Array<double> scale(a.rows, Init::none, device);
  Array<double> values(a.nnz(), Init::none, device);
  detail::for_rows(device, a.rows, detail::SpaiUnitRows<T>{pointers_of(a), scale.data(), values.data(), report.data()});
  const int row = report.get().first_bad;
  if (row != RowReport::none) {
    detail::require_finite_values(detail::borrow_csr(a, device).to(Device{}).view(), Device{}, "spai needs");
    throw InvalidMatrix(fmt::format("spai needs rows whose norm has a finite inverse: row {} has not", row + 1));
  }
  return {detail::borrow_csr(a, device).template with_values<double>(std::move(values)), std::move(scale)};
}

void require_rows(const SharedReport& report, int level) {
  const int row = report.get().first_bad;
  if (row == RowReport::none) return;
  throw InvalidMatrix(level == 0 ? fmt::format("spai:0: m_ii of row {} would be 0 or not finite", row + 1)
                                 : fmt::format("spai: row {} of M would be 0 or not finite", row + 1));
}

/// M of either level.
template <class T>
struct Inverse {
  std::shared_ptr<const Csr<T>> m;
  std::unique_ptr<SpmvPlan<T>> product;
  SpaiInfo info;
};

/// M of level 0.
template <class T>
Csr<T> diagonal_of(const UnitRows& unit, const Device& device) {
  const index_t n = unit.matrix.rows();
  SharedReport report(device);
  Array<T> diagonal(n, Init::none, device);
  detail::for_rows(
      device, n,
      detail::SpaiDiagonal<T>{pointers_of(unit.matrix.view()), unit.scale.data(), diagonal.data(), report.data()});
  require_rows(report, 0);
  std::vector<offset_t> offsets(static_cast<std::size_t>(n) + 1);
  std::iota(offsets.begin(), offsets.end(), offset_t{0});
  std::vector<index_t> columns(static_cast<std::size_t>(n));
  std::iota(columns.begin(), columns.end(), index_t{0});
  return Csr<T>(n, n, Array<offset_t>::copy_of(offsets, device), Array<index_t>::copy_of(columns, device),
                std::move(diagonal), Check::trusted);
}

/// M with the pattern of a matrix.
template <class T>
Csr<T> rows_on(const UnitRows& unit, const Csr<double>& pattern, std::int64_t largest_row, const Device& device) {
  SharedReport report(device);
  Array<T> values(pattern.nnz(), Init::none, device);
  detail::for_rows(
      device, pattern.rows(),
      detail::SpaiSolve<T>{pointers_of(unit.matrix.view()), unit.scale.data(), pattern.row_offsets().data(),
                           pattern.columns().data(), values.data(), report.data()},
      static_cast<int>(largest_row));
  require_rows(report, 1);
  return pattern.with_values<T>(std::move(values));
}

/// The pattern of level 1. \param old of a refresh, whose pattern stays; null: none
template <class T>
KeptRows pattern_of(const UnitRows& unit, const SpaiOptions& options, const Inverse<T>* old, const Device& device) {
  if (old == nullptr) {
    return kept_rows(unit.matrix,
                     detail::LargestOfRow{{pointers_of(unit.matrix.view())}, options.max_row_entries, false});
  }
  return {old->m->template with_values<double>(Array<double>(old->m->nnz(), Init::none, device)),
          static_cast<int>(old->info.largest_row)};
}

template <class T>
Inverse<T> set_up(const CsrView<T>& a, const SpaiOptions& options, const Inverse<T>* old, const Device& device) {
  Inverse<T> result;
  SpaiInfo& info = result.info;
  const Stopwatch pattern_watch;
  const UnitRows unit = unit_rows(a, device);
  KeptRows pattern;
  if (options.level == 1) pattern = pattern_of(unit, options, old, device);
  info.pattern_ms = pattern_watch.milliseconds();

  const Stopwatch rows_watch;
  if (options.level == 0) {
    result.m = std::make_shared<const Csr<T>>(diagonal_of<T>(unit, device));
    info.largest_row = a.rows == 0 ? 0 : 1;
  } else {
    info.largest_row = pattern.largest_row;
    result.m = std::make_shared<const Csr<T>>(rows_on<T>(unit, pattern.matrix, info.largest_row, device));
  }
  info.rows_ms = rows_watch.milliseconds();
  info.nnz = result.m->nnz();
  info.fill = a.nnz() == 0 ? 0.0 : static_cast<double>(info.nnz) / static_cast<double>(a.nnz());

  // For the products of few solves: a kernel with a long set-up does not pay.
  constexpr std::int64_t applications = 200;
  const Stopwatch plan_watch;
  result.product = std::make_unique<SpmvPlan<T>>(
      result.m,
      SpmvOptions{.device = device, .determinism = Determinism::run_to_run, .expected_applications = applications});
  info.plan_ms = plan_watch.milliseconds();
  return result;
}

}  // namespace

std::string spai_name(const SpaiOptions& options) { return fmt::format("spai:{}", options.level); }

template <class T>
struct SpaiPreconditioner<T>::Impl {
  Device device;
  SpaiOptions options;
  index_t rows;
  Inverse<T> inverse;
  PreconditionerInfo info{.name = "spai"};

  Impl(const CsrView<T>& matrix, const SpaiOptions& wanted, const Device& where)
      : device(where), options(wanted), rows(matrix.rows) {
    const Stopwatch watch;
    check_options(options);
    require_square(matrix);
    info.is_symmetric = options.level == 0;
    take(set_up<T>(matrix, options, nullptr, device), watch);
  }

  void refresh(const CsrView<T>& matrix) {
    const Stopwatch watch;
    require_square(matrix);
    if (matrix.rows != rows) {
      throw DimensionError(fmt::format("spai was made for {0} x {0}, got {1} x {1}", rows, matrix.rows));
    }
    take(set_up<T>(matrix, options, &inverse, device), watch);
  }

  void take(Inverse<T> made, const Stopwatch& watch) {
    inverse = std::move(made);
    info.bytes = inverse.m->bytes() + inverse.product->info().bytes;
    info.setup_ms = watch.milliseconds();
  }
};

template <class T>
SpaiPreconditioner<T>::SpaiPreconditioner(const CsrView<T>& matrix, const SpaiOptions& options, const Device& device)
    : impl_((detail::require_within_reach(matrix, device, "spai"), std::make_unique<Impl>(matrix, options, device))) {}
template <class T>
SpaiPreconditioner<T>::~SpaiPreconditioner() = default;
template <class T>
SpaiPreconditioner<T>::SpaiPreconditioner(SpaiPreconditioner&&) noexcept = default;
template <class T>
SpaiPreconditioner<T>& SpaiPreconditioner<T>::operator=(SpaiPreconditioner&&) noexcept = default;

template <class T>
std::int64_t SpaiPreconditioner<T>::rows() const {
  return impl_->rows;
}
template <class T>
Device SpaiPreconditioner<T>::device() const {
  return impl_->device;
}
template <class T>
std::optional<std::span<const T>> SpaiPreconditioner<T>::diagonal() const {
  if (impl_->options.level != 0) return std::nullopt;
  return impl_->inverse.m->values().span();
}
template <class T>
const PreconditionerInfo& SpaiPreconditioner<T>::info() const noexcept {
  return impl_->info;
}
template <class T>
const SpaiInfo& SpaiPreconditioner<T>::inverse() const noexcept {
  return impl_->inverse.info;
}
template <class T>
CsrView<T> SpaiPreconditioner<T>::m() const noexcept {
  return impl_->inverse.m->view();
}
template <class T>
void SpaiPreconditioner<T>::refresh(const CsrView<T>& matrix) {
  impl_->refresh(matrix);
}
template <class T>
void SpaiPreconditioner<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->inverse.product->apply(alpha, x, beta, y);
}
template <class T>
void SpaiPreconditioner<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  if (impl_->info.is_symmetric) return do_apply(alpha, x, beta, y);
  impl_->inverse.product->prepare_transpose();
  impl_->inverse.product->apply_transposed(alpha, x, beta, y);
}
template <class T>
const detail::EnqueuedProduct<T>* SpaiPreconditioner<T>::enqueued_product() const noexcept {
  return detail::EnqueuedProduct<T>::of(*impl_->inverse.product);
}

template class SpaiPreconditioner<float>;
template class SpaiPreconditioner<double>;

}  // namespace tessera
