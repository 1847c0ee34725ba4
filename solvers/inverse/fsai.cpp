/// Factorized sparse approximate inverse (L. Yu. Kolotilina, A. Yu. Yeremin, SIAM J. Matrix Anal. Appl. 14(1), 1993):
/// pattern, rows, post-filter, and the operator z = Gᵀ (G r).
#include "core/borrowed_csr.hpp"
#include "core/device/matrix_place.hpp"
#include "core/enqueued_product.hpp"
#include "core/stopwatch.hpp"
#include "core/workspace_pool.hpp"
#include "solvers/factors/matrix_checks.hpp"
#include "solvers/inverse/adaptive_rows.hpp"
#include "solvers/inverse/fsai_rows.hpp"
#include "solvers/inverse/kept_rows.hpp"
#include "tessera/approximate_inverse.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {

namespace {

using detail::KeptRows;
using detail::pointers_of;
using detail::RowReport;
using detail::SharedReport;

constexpr const char* who = "fsai needs";

/// Per row of an adaptive pattern: a warp of a GPU solves it.
constexpr int max_adaptive_entries = 64;

void check_options(const FsaiOptions& options) {
  if (options.power < 1 || options.power > 3) {
    throw InvalidArgument(fmt::format("FsaiOptions::power is {}, expected 1, 2 or 3", options.power));
  }
  if (options.max_row_entries < 1 || options.max_row_entries > detail::max_unknowns) {
    throw InvalidArgument(fmt::format("FsaiOptions::max_row_entries is {}, expected [1, {}]", options.max_row_entries,
                                      detail::max_unknowns));
  }
  constexpr int most_added = max_adaptive_entries - 1;
  if (options.adaptive_steps < 0 || options.adaptive_steps > most_added) {
    throw InvalidArgument(
        fmt::format("FsaiOptions::adaptive_steps is {}, expected [0, {}]", options.adaptive_steps, most_added));
  }
  if (options.step_entries < 1 || options.step_entries > most_added) {
    throw InvalidArgument(
        fmt::format("FsaiOptions::step_entries is {}, expected [1, {}]", options.step_entries, most_added));
  }
  for (const auto& [name, value] : {std::pair{"filter", options.filter}, {"post_filter", options.post_filter}}) {
    if (!(value >= 0.0 && value <= 1.0)) {
      throw InvalidArgument(fmt::format("FsaiOptions::{} is {}, expected [0, 1]", name, value));
    }
  }
}

template <class T>
void require_square(const CsrView<T>& a) {
  if (!a.is_square()) throw DimensionError(fmt::format("{} a square matrix, got {} x {}", who, a.rows, a.cols));
}

/// Names what is wrong with a matrix that a row refused. Copies it to the host.
template <class T>
[[noreturn]] void refuse(const CsrView<T>& a, const Device& device) {
  const Csr<T> copy = detail::borrow_csr(a, device).to(Device{});
  detail::require_finite_values(copy.view(), Device{}, who);
  detail::require_symmetric(copy.view(), who);
  detail::require_positive_diagonal(copy.view(), who);
  throw InvalidMatrix(fmt::format("{} a symmetric positive definite matrix", who));
}

/// Â, which borrows the structure of A, and s.
struct ScaledMatrix {
  Csr<double> matrix;
  Array<double> scale;
};

template <class T>
ScaledMatrix scaled(const CsrView<T>& a, const Device& device) {
  SharedReport report(device);
  Array<double> scale(a.rows, Init::none, device);
  detail::for_rows(device, a.rows, detail::FsaiCheck<T>{pointers_of(a), scale.data(), report.data()});
  if (report.get().first_bad != RowReport::none) refuse(a, device);
  Array<double> values(a.nnz(), Init::none, device);
  detail::for_rows(device, a.rows, detail::FsaiScale<T>{pointers_of(a), scale.data(), values.data()});
  return {detail::borrow_csr(a, device).template with_values<double>(std::move(values)), std::move(scale)};
}

void require_definite(const SharedReport& report) {
  const int row = report.get().first_bad;
  if (row == RowReport::none) return;
  throw InvalidMatrix(
      fmt::format("{} a positive definite matrix: the submatrix of the pattern of row {} is not", who, row + 1));
}

/// The pattern that grows with the rows.
KeptRows adaptive_pattern(const Csr<double>& a, const FsaiOptions& options, const Device& device) {
  const std::int64_t wanted = 1 + std::int64_t{options.adaptive_steps} * options.step_entries;
  const auto most = static_cast<int>(std::min(
      {wanted, options.max_row_entries, std::int64_t{max_adaptive_entries}, std::max<std::int64_t>(a.rows(), 1)}));
  const std::int64_t places = std::int64_t{a.rows()} * most;
  SharedReport report(device);
  Array<index_t> columns(places, Init::none, device);
  detail::for_rows(device, a.rows(),
                   detail::AdaptivePattern{pointers_of(a.view()), options.adaptive_steps, options.step_entries, most,
                                           columns.data(), report.data()},
                   most);
  require_definite(report);
  std::vector<offset_t> ends(static_cast<std::size_t>(a.rows()) + 1);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<offset_t>(i) * most;
  const Array<offset_t> offsets = Array<offset_t>::copy_of(ends, device);
  return kept_rows(a, detail::PresentColumns{{{offsets.data(), columns.data(), nullptr}}});
}

/// The pattern of G; its values are those of |Â|^power.
KeptRows pattern_of(const Csr<double>& a, const FsaiOptions& options, const Device& device) {
  if (options.adaptive_steps > 0) return adaptive_pattern(a, options, device);
  const auto limited = [&](const Csr<double>& power) {
    return kept_rows(power, detail::LargestOfRow{{pointers_of(power.view())}, options.max_row_entries, true});
  };
  const Csr<double> filtered = kept_rows(a, detail::AtLeast{{pointers_of(a.view())}, options.filter}).matrix;
  if (options.power == 1) return limited(filtered);
  SpgemmOptions product;
  product.device = device;
  // Where magnitudes nearly tie, bits decide: so the order of the products is fixed, too.
  product.determinism = Determinism::gpu_to_gpu;
  return limited(matrix_power(filtered, options.power, product, PowerOrder::binary).matrix);
}

/// Ĝ with the pattern of a triangle. \param largest_row of it
Csr<double> rows_on(const Csr<double>& a, const Csr<double>& pattern, int largest_row) {
  const Device& device = a.device();
  SharedReport report(device);
  Array<double> values(pattern.nnz(), Init::none, device);
  detail::for_rows(device, a.rows(),
                   detail::FsaiSolve{pointers_of(a.view()), pattern.row_offsets().data(), pattern.columns().data(),
                                     values.data(), report.data()},
                   largest_row);
  require_definite(report);
  return pattern.with_values<double>(std::move(values));
}

/// G and Gᵀ.
template <class T>
struct Factor {
  std::shared_ptr<const Csr<T>> g;
  int largest_row = 0;
  std::unique_ptr<SpmvPlan<T>> product;
  std::unique_ptr<SpmvPlan<T>> transposed;
  FsaiInfo info;

  [[nodiscard]] std::uint64_t bytes() const {
    return g->bytes() + product->info().bytes + g->bytes() + transposed->info().bytes;
  }
};

template <class T>
Array<T> unscaled(const Csr<double>& g, const Array<double>& scale) {
  Array<T> values(g.nnz(), Init::none, g.device());
  detail::for_rows(g.device(), g.rows(), detail::FsaiUnscale<T>{pointers_of(g.view()), scale.data(), values.data()});
  return values;
}

template <class T>
void plan_products(Factor<T>& factor, const Device& device) {
  // Products of few solves: a kernel with a long set-up does not pay.
  constexpr std::int64_t applications = 200;
  const SpmvOptions options{
      .device = device, .determinism = Determinism::run_to_run, .expected_applications = applications};
  const Stopwatch watch;
  factor.product = std::make_unique<SpmvPlan<T>>(factor.g, options);
  factor.transposed = std::make_unique<SpmvPlan<T>>(transpose(factor.g->view(), device), options);
  factor.info.plan_ms = watch.milliseconds();
}

template <class T>
Factor<T> set_up(const CsrView<T>& a, const FsaiOptions& options, const Device& device) {
  Factor<T> result;
  FsaiInfo& info = result.info;
  const Stopwatch pattern_watch;
  const ScaledMatrix scaled_a = scaled(a, device);
  KeptRows pattern = pattern_of(scaled_a.matrix, options, device);
  info.pattern_nnz = pattern.matrix.nnz();
  info.largest_row = pattern.largest_row;
  info.pattern_ms = pattern_watch.milliseconds();

  const Stopwatch rows_watch;
  Csr<double> g = rows_on(scaled_a.matrix, pattern.matrix, pattern.largest_row);
  if (options.post_filter > 0.0) {
    pattern = kept_rows(g, detail::AtLeastOfDiagonal{{pointers_of(g.view())}, options.post_filter});
    if (pattern.matrix.nnz() < g.nnz()) g = rows_on(scaled_a.matrix, pattern.matrix, pattern.largest_row);
  }
  result.g = std::make_shared<const Csr<T>>(g.with_values<T>(unscaled<T>(g, scaled_a.scale)));
  result.largest_row = pattern.largest_row;
  synchronize(device);
  info.rows_ms = rows_watch.milliseconds();
  info.nnz = g.nnz();
  info.dropped = info.pattern_nnz - info.nnz;
  const offset_t triangle = (a.nnz() + a.rows) / 2;
  info.fill = a.rows == 0 ? 0.0 : static_cast<double>(info.nnz) / static_cast<double>(triangle);
  plan_products(result, device);
  return result;
}

template <class T>
Factor<T> renewed(const Factor<T>& old, const CsrView<T>& a, const Device& device) {
  const Stopwatch watch;
  Factor<T> result;
  result.info = old.info;
  result.info.pattern_ms = 0.0;
  result.largest_row = old.largest_row;
  const ScaledMatrix scaled_a = scaled(a, device);
  const Csr<double> pattern = old.g->template with_values<double>(Array<double>(old.g->nnz(), Init::none, device));
  const Csr<double> g = rows_on(scaled_a.matrix, pattern, old.largest_row);
  result.g = std::make_shared<const Csr<T>>(g.with_values<T>(unscaled<T>(g, scaled_a.scale)));
  synchronize(device);
  result.info.rows_ms = watch.milliseconds();
  plan_products(result, device);
  return result;
}

}  // namespace

std::string fsai_name(const FsaiOptions& options) {
  std::string name = fmt::format("fsai:{}", options.power);
  if (options.filter != FsaiOptions{}.filter) name += fmt::format(":{}", options.filter);
  return name;
}

template <class T>
struct FsaiPreconditioner<T>::Impl final : detail::EnqueuedProduct<T> {
  Device device;
  FsaiOptions options;
  Factor<T> factor;
  PreconditionerInfo info{.name = "fsai", .is_symmetric = true};
  detail::WorkspacePool<Array<T>> between;  ///< G r

  Impl(const CsrView<T>& matrix, const FsaiOptions& wanted, const Device& where) : device(where), options(wanted) {
    const Stopwatch watch;
    check_options(options);
    require_square(matrix);
    detail::require_within_reach(matrix, device, "fsai");
    factor = set_up(matrix, options, device);
    note(watch);
  }

  void refresh(const CsrView<T>& matrix) {
    const Stopwatch watch;
    require_square(matrix);
    if (matrix.rows != factor.g->rows()) {
      throw DimensionError(fmt::format("fsai was made for {0} x {0}, got {1} x {1}", factor.g->rows(), matrix.rows));
    }
    factor = renewed(factor, matrix, device);
    this->renew_recording_id();
    note(watch);
  }

  void note(const Stopwatch& watch) {
    info.bytes = factor.bytes() + borrow()->bytes();
    info.setup_ms = watch.milliseconds();
  }

  void apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
    const auto gx = first_product(x);
    factor.transposed->apply(alpha, gx->span(), beta, y);
  }
  [[nodiscard]] auto borrow() const {
    return between.borrow([this] { return Array<T>(factor.g->rows(), Init::zero, device); });
  }
  /// G x, as long as it is lent.
  [[nodiscard]] auto first_product(std::span<const T> x) const {
    auto gx = borrow();
    factor.product->apply(x, gx->span());
    return gx;
  }

  // EnqueuedProduct. On a GPU no product waits.

  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    const auto gx = first_product(x);
    detail::EnqueuedProduct<T>::of(*factor.transposed)->enqueue(gx->span(), y, w, sums);
  }
  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> x, std::span<T> y, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* halted) const override {
    const auto gx = first_product(x);
    return detail::EnqueuedProduct<T>::of(*factor.transposed)->enqueue_parts(gx->span(), y, w, sums, halted);
  }
};

template <class T>
FsaiPreconditioner<T>::FsaiPreconditioner(const CsrView<T>& matrix, const FsaiOptions& options, const Device& device)
    : impl_(std::make_unique<Impl>(matrix, options, device)) {}
template <class T>
FsaiPreconditioner<T>::~FsaiPreconditioner() = default;
template <class T>
FsaiPreconditioner<T>::FsaiPreconditioner(FsaiPreconditioner&&) noexcept = default;
template <class T>
FsaiPreconditioner<T>& FsaiPreconditioner<T>::operator=(FsaiPreconditioner&&) noexcept = default;

template <class T>
std::int64_t FsaiPreconditioner<T>::rows() const {
  return impl_->factor.g->rows();
}
template <class T>
Device FsaiPreconditioner<T>::device() const {
  return impl_->device;
}
template <class T>
const PreconditionerInfo& FsaiPreconditioner<T>::info() const noexcept {
  return impl_->info;
}
template <class T>
const FsaiInfo& FsaiPreconditioner<T>::factor() const noexcept {
  return impl_->factor.info;
}
template <class T>
CsrView<T> FsaiPreconditioner<T>::g() const noexcept {
  return impl_->factor.g->view();
}
template <class T>
void FsaiPreconditioner<T>::refresh(const CsrView<T>& matrix) {
  impl_->refresh(matrix);
}
template <class T>
void FsaiPreconditioner<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->apply(alpha, x, beta, y);
}
template <class T>
const detail::EnqueuedProduct<T>* FsaiPreconditioner<T>::enqueued_product() const noexcept {
  return impl_->device.is_host() ? nullptr : impl_.get();
}

template class FsaiPreconditioner<float>;
template class FsaiPreconditioner<double>;

}  // namespace tessera
