/// Polynomial preconditioners.
///
/// Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., §12.3.
#include "solvers/polynomial.hpp"

#include "core/borrowed_csr.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/device/operands.hpp"
#include "core/enqueued_product.hpp"
#include "core/stopwatch.hpp"
#include "core/tolerance_text.hpp"
#include "core/workspace_pool.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/amg/spectral_radius.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/explicit_polynomial.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/jacobi.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

std::string_view to_string(PolynomialKind kind) { return kind == PolynomialKind::chebyshev ? "poly" : "neumann"; }

std::string polynomial_name(const PolynomialOptions& options) {
  std::string name = fmt::format("{}:{}", to_string(options.kind), options.degree);
  if (!options.explicit_matrix) return name;
  name += fmt::format(":explicit:{}", detail::tolerance_text(options.drop_tolerance));
  if (options.max_row_entries == std::numeric_limits<index_t>::max()) return name;
  return name + fmt::format(":{}", options.max_row_entries);
}

namespace detail {

namespace {

/// The power method estimates from below.
constexpr double power_margin = 1.1;
/// Upper end of the interval over λ, and 2 / ω over λ.
constexpr double interval_margin = 1.1;
/// Gershgorin's bound of an M-matrix whose rows sum to 0 or more is 2, but for rounding, and near λ. Up to there
/// Neumann's series converges.
constexpr double sharp_bound = 2.0 + 1e-5;

/// Power steps until two estimates, some steps apart, agree, or the limit.
template <class T>
double power_estimate(const Device& device, const CsrView<T>& a, const T* diagonal, int most_steps) {
  constexpr int steps_per_estimate = 5;
  constexpr double agreement = 0.01;
  PowerMethod<T> power(device, a.rows);
  double estimate = 0.0;
  for (int steps = 0; steps < most_steps; steps += steps_per_estimate) {
    const double before = estimate;
    estimate = power.estimate(a, whole_level(a), a.nnz(), diagonal, std::min(steps_per_estimate, most_steps - steps));
    if (std::abs(estimate - before) <= agreement * estimate) break;
  }
  return estimate;
}

template <class T>
bool is_symmetric(const Device& device, const CsrView<T>& a) {
  DeviceValue<AsymmetrySums> sums(device);
  transform_rows(device, all_rows(a), AsymmetryProbe<T>{.a = pointers_of(a)}, sums.data());
  return sums.get().is_rounding(static_cast<double>(std::numeric_limits<T>::epsilon()));
}

}  // namespace

std::vector<PolynomialStepWeights> polynomial_weights(const PolynomialOptions& options, PolynomialInfo& info) {
  const auto degree = static_cast<std::size_t>(options.degree);
  if (options.kind == PolynomialKind::neumann) {
    const bool converges = info.lambda_max <= sharp_bound;
    const double automatic = converges ? 1.0 : 2.0 / (interval_margin * info.lambda_max);
    info.damping = options.damping > 0.0 ? options.damping : automatic;
    return std::vector<PolynomialStepWeights>(degree + 1, {0.0, info.damping});
  }
  info.interval_low = info.lambda_max / options.interval_ratio;
  info.interval_high = interval_margin * info.lambda_max;
  const double center = (info.interval_high + info.interval_low) / 2.0;
  const double half_width = (info.interval_high - info.interval_low) / 2.0;
  const double sigma = center / half_width;
  double rho = 1.0 / sigma;
  std::vector<PolynomialStepWeights> weights{{0.0, 1.0 / center}};
  while (weights.size() < degree) {
    const double next = 1.0 / (2.0 * sigma - rho);
    weights.push_back({next * rho, 2.0 * next / half_width});
    rho = next;
  }
  return weights;
}

template <class T>
DiagonalSpectrum<T> diagonal_spectrum(const Device& device, const CsrView<T>& a, const PolynomialOptions& options,
                                      PolynomialInfo& info) {
  DiagonalSpectrum<T> result{Array<T>(a.rows, Init::none, device)};
  Array<T> diagonal(a.rows, Init::none, device);
  DeviceValue<DiagonalTotals> found(device);
  transform_rows(device, all_rows(a),
                 MeasureDiagonal<T>{.a = pointers_of(a), .diagonal = diagonal.data(), .inverse = result.inverse.data()},
                 found.data());
  const DiagonalTotals totals = found.get();
  if (totals.unfit.index >= 0) {
    const std::string name = polynomial_name(options);
    require_invertible_diagonal(a, device, name);
    throw InvalidMatrix(fmt::format("{} needs finite rows: row {} holds NaN or infinity, or its sum overflows", name,
                                    totals.unfit.index + 1));
  }
  info.gershgorin = totals.gershgorin;
  info.lambda_max = totals.gershgorin;
  if (options.power_steps > 0 && totals.negative == 0 && totals.gershgorin > sharp_bound) {
    const double estimate = power_margin * power_estimate(device, a, diagonal.data(), options.power_steps);
    if (estimate > 0.0) info.lambda_max = std::min(info.lambda_max, estimate);
  }
  result.is_symmetric = is_symmetric(device, a);
  return result;
}

namespace {

void require(bool condition, const char* name, double value, const char* range) {
  if (!condition) throw InvalidArgument(fmt::format("PolynomialOptions::{} must be {}, got {}", name, range, value));
}

void check_options(const PolynomialOptions& options) {
  require(options.degree >= 1 && options.degree <= 64, "degree", options.degree, "in [1, 64]");
  const double ratio = options.interval_ratio;
  require(ratio > 1.0 && std::isfinite(ratio), "interval_ratio", ratio, "finite and > 1");
  require(options.damping >= 0.0 && std::isfinite(options.damping), "damping", options.damping, "finite and >= 0");
  require(options.power_steps >= 0 && options.power_steps <= 1000, "power_steps", options.power_steps, "in [0, 1000]");
  require(options.drop_tolerance >= 0.0, "drop_tolerance", options.drop_tolerance, "at least 0");
  require(options.max_row_entries >= 1, "max_row_entries", options.max_row_entries, "at least 1");
}

}  // namespace

}  // namespace detail

template <class T>
struct PolynomialPreconditioner<T>::Impl final : detail::EnqueuedProduct<T> {
  Device device;
  PolynomialOptions options;
  std::int64_t n;
  bool owns_plan;                              ///< of A
  std::shared_ptr<const SpmvPlan<T>> a_plan;   ///< null where M is explicit
  std::unique_ptr<SpmvPlan<T>> explicit_plan;  ///< null where it is not
  std::vector<detail::PolynomialStepWeights> weights;
  Array<T> inverse;  ///< of the diagonal
  struct Workspace {
    Array<T> product;  ///< A z
    Array<T> other;    ///< every second z
  };
  detail::WorkspacePool<Workspace> spaces;
  PreconditionerInfo info;
  PolynomialInfo polynomial;

  Impl(const CsrView<T>& matrix, std::shared_ptr<const SpmvPlan<T>> shared, const PolynomialOptions& wanted,
       const Device& where)
      : device(where), options(wanted), n(matrix.rows), owns_plan(shared == nullptr) {
    const Stopwatch watch;
    detail::check_options(options);
    check_matrix(matrix);
    info.name = to_string(options.kind);
    if (!options.explicit_matrix) a_plan = std::move(shared);
    set_up(matrix, watch);
  }

  void check_matrix(const CsrView<T>& matrix) const {
    detail::require_square(matrix, polynomial_name(options));
    detail::require_same_place(matrix, device, polynomial_name(options));
  }

  void set_up(const CsrView<T>& matrix, const Stopwatch& watch) {
    PolynomialInfo found;
    auto spectrum = detail::diagonal_spectrum(device, matrix, options, found);
    weights = detail::polynomial_weights(options, found);
    found.spectrum_ms = watch.milliseconds();
    info.is_symmetric = spectrum.is_symmetric;
    if (options.explicit_matrix) {
      plan_explicit(detail::explicit_polynomial(device, matrix, spectrum, weights, options, found), matrix, found);
    } else {
      plan_implicit(matrix, std::move(spectrum.inverse), found);
    }
    polynomial = found;
    const Stopwatch check_watch;
    check();
    polynomial.plan_ms += check_watch.milliseconds();
    this->renew_recording_id();
    info.setup_ms = watch.milliseconds();
  }

  [[nodiscard]] SpmvOptions spmv_options() const { return {.device = device, .determinism = Determinism::run_to_run}; }

  void plan_explicit(Csr<T> matrix, const CsrView<T>& a, PolynomialInfo& found) {
    const Stopwatch watch;
    found.products = 1;
    found.explicit_nnz = matrix.nnz();
    found.fill = a.nnz() > 0 ? static_cast<double>(matrix.nnz()) / static_cast<double>(a.nnz()) : 0.0;
    const std::uint64_t bytes = matrix.bytes();
    explicit_plan = std::make_unique<SpmvPlan<T>>(std::move(matrix), spmv_options());
    info.bytes = bytes + explicit_plan->info().bytes;
    found.plan_ms = watch.milliseconds();
  }

  void plan_implicit(const CsrView<T>& a, Array<T> diagonal, PolynomialInfo& found) {
    const Stopwatch watch;
    found.products = static_cast<int>(weights.size()) - 1;
    inverse = std::move(diagonal);
    if (a_plan == nullptr) {
      // A plan of a borrowed matrix would read the caller's memory in every product.
      a_plan = std::make_shared<const SpmvPlan<T>>(detail::borrow_csr(a, device).to(device), spmv_options());
    }
    const auto vectors = borrow();
    info.bytes = inverse.bytes() + vectors->product.bytes() + vectors->other.bytes();
    if (owns_plan) info.bytes += a_plan->info().bytes + detail::borrow_csr(a, device).bytes();
    found.plan_ms = watch.milliseconds();
  }

  [[nodiscard]] auto borrow() const {
    return spaces.borrow([this] {
      return Workspace{Array<T>(weights.size() > 1 ? n : 0, Init::none, device),
                       Array<T>(uses_other() ? n : 0, Init::none, device)};
    });
  }

  /// A step of Neumann's series needs no z but the last one.
  [[nodiscard]] bool uses_other() const { return options.kind == PolynomialKind::chebyshev && weights.size() > 1; }

  void check() const {
    if (n == 0) return;
    Array<T> u(n, Init::none, device);
    Array<T> mu(n, Init::none, device);
    fused::transform_reduce(device, n, detail::ProbeVector<T>{.x = u.data()});
    run(planned(), std::as_const(u).span(), mu.span());
    if (std::isfinite(fused::dot<T>(device, std::as_const(u).span(), std::as_const(mu).span()))) return;
    throw InvalidMatrix(fmt::format("{} of this matrix gives NaN or infinity", polynomial_name(options)));
  }

  /// The operand of an application: M where it is explicit, else A.
  [[nodiscard]] const SpmvPlan<T>& planned() const { return explicit_plan ? *explicit_plan : *a_plan; }

  [[nodiscard]] std::shared_ptr<const FusedOperator<T>> planned_transpose() const {
    // A plan of M's own may change; a shared one has its transpose.
    if (explicit_plan || owns_plan) const_cast<SpmvPlan<T>&>(planned()).prepare_transpose();
    return transposed(planned());
  }

  /// z = M r, or z = Mᵀ r \param operand planned(), or its transpose
  void run(const LinearOperator<T>& operand, std::span<const T> r, std::span<T> z) const {
    if (explicit_plan) return operand.apply(r, z);
    const std::size_t steps = weights.size();
    const auto vectors = borrow();
    Array<T>& product = vectors->product;
    Array<T>& other = vectors->other;
    // The last step writes z.
    T* here = uses_other() && steps % 2 == 0 ? other.data() : z.data();
    T* before = uses_other() ? (here == z.data() ? other.data() : z.data()) : here;
    fused::transform_reduce(
        device, n,
        detail::PolynomialStart<T>{
            .beta = static_cast<T>(weights[0].beta), .inverse = inverse.data(), .r = r.data(), .z = here});
    for (std::size_t k = 1; k < steps; ++k) {
      operand.apply(std::span<const T>(here, r.size()), product.span());
      fused::transform_reduce(device, n,
                              detail::PolynomialStep<T>{.alpha = static_cast<T>(weights[k].alpha),
                                                        .beta = static_cast<T>(weights[k].beta),
                                                        .inverse = inverse.data(),
                                                        .r = r.data(),
                                                        .product = product.data(),
                                                        .z = here,
                                                        .before = k == 1 || !uses_other() ? nullptr : before,
                                                        .next = before});
      std::swap(here, before);
    }
  }

  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    run(planned(), x, y);
    cuda::enqueue_dots<T>(device, y, w, sums);
  }

  [[nodiscard]] const detail::EnqueuedProduct<T>* enqueued() const noexcept {
    if (explicit_plan) return detail::EnqueuedProduct<T>::of(*explicit_plan);
    return device.is_host() ? nullptr : this;
  }

  void refresh(const CsrView<T>& matrix) {
    const Stopwatch watch;
    check_matrix(matrix);
    if (matrix.rows != n) {
      throw DimensionError(
          fmt::format("{0} was made for {1} x {1}, got {2} x {2}", polynomial_name(options), n, matrix.rows));
    }
    if (!options.explicit_matrix) take_values(matrix);
    set_up(matrix, watch);
  }

  void take_values(const CsrView<T>& matrix) {
    if (!owns_plan) {
      const CsrView<T> planned = a_plan->matrix();
      if (planned.columns.data() == matrix.columns.data() && planned.values.data() == matrix.values.data()) return;
      throw InvalidArgument(
          fmt::format("{} shares a plan: SpmvPlan::update_values() first, then refresh() with "
                      "SpmvPlan::matrix()",
                      polynomial_name(options)));
    }
    if (matrix.is_pattern()) {
      a_plan.reset();
      return;
    }
    // Nobody else holds the plan that M made.
    const_cast<SpmvPlan<T>&>(*a_plan).update_values(matrix);
  }
};

template <class T>
PolynomialPreconditioner<T>::PolynomialPreconditioner(std::shared_ptr<const SpmvPlan<T>> plan,
                                                      const PolynomialOptions& options) {
  if (!plan) throw InvalidArgument("PolynomialPreconditioner needs a plan, got a null pointer");
  const CsrView<T> matrix = plan->matrix();
  const Device device = plan->device();
  impl_ = std::make_unique<Impl>(matrix, std::move(plan), options, device);
}
template <class T>
PolynomialPreconditioner<T>::PolynomialPreconditioner(const CsrView<T>& matrix, const PolynomialOptions& options,
                                                      const Device& device)
    : impl_(std::make_unique<Impl>(matrix, nullptr, options, device)) {}
template <class T>
PolynomialPreconditioner<T>::~PolynomialPreconditioner() = default;
template <class T>
PolynomialPreconditioner<T>::PolynomialPreconditioner(PolynomialPreconditioner&&) noexcept = default;
template <class T>
PolynomialPreconditioner<T>& PolynomialPreconditioner<T>::operator=(PolynomialPreconditioner&&) noexcept = default;

template <class T>
std::int64_t PolynomialPreconditioner<T>::rows() const {
  return impl_->n;
}
template <class T>
Device PolynomialPreconditioner<T>::device() const {
  return impl_->device;
}
template <class T>
const PreconditionerInfo& PolynomialPreconditioner<T>::info() const noexcept {
  return impl_->info;
}
template <class T>
const PolynomialInfo& PolynomialPreconditioner<T>::polynomial() const noexcept {
  return impl_->polynomial;
}
template <class T>
CsrView<T> PolynomialPreconditioner<T>::matrix() const noexcept {
  return impl_->explicit_plan ? impl_->explicit_plan->matrix() : CsrView<T>{};
}
template <class T>
void PolynomialPreconditioner<T>::refresh(const CsrView<T>& matrix) {
  impl_->refresh(matrix);
}

template <class T>
bool PolynomialPreconditioner<T>::has_transpose() const {
  return impl_->explicit_plan || impl_->owns_plan || impl_->a_plan->has_transpose();
}

template <class T>
void PolynomialPreconditioner<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  const auto product = [this](std::span<const T> from, std::span<T> to) { impl_->run(impl_->planned(), from, to); };
  detail::apply_overwriting(device(), product, alpha, x, beta, y);
}

template <class T>
void PolynomialPreconditioner<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  const auto operand = impl_->planned_transpose();
  const auto product = [&](std::span<const T> from, std::span<T> to) { impl_->run(*operand, from, to); };
  detail::apply_overwriting(device(), product, alpha, x, beta, y);
}

template <class T>
std::string_view PolynomialPreconditioner<T>::transpose_remedy() const {
  return "make the plan that it shares with SpmvOptions::with_transpose";
}

template <class T>
const detail::EnqueuedProduct<T>* PolynomialPreconditioner<T>::enqueued_product() const noexcept {
  return impl_->enqueued();
}

template class PolynomialPreconditioner<float>;
template class PolynomialPreconditioner<double>;

}  // namespace tessera
