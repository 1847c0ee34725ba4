/// \file
/// SpmvPlan: matrix, kernel and transpose on one device.
#include "core/cuda/memory.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/enqueued_product.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "spmv/break_even.hpp"
#include "spmv/common/enqueue_product.hpp"
#include "spmv/common/kernel.hpp"
#include "spmv/multi_vector/csr_product.hpp"
#include "spmv/multi_vector/operands.hpp"
#include "spmv/multi_vector/panel_product.hpp"
#include "spmv/plan_internals.hpp"
#include "spmv/plan_values.hpp"
#include "spmv/residual/float_residual.hpp"
#include "spmv/same_structure.hpp"
#include "spmv/selection.hpp"
#include "spmv/streamed/streamed.hpp"
#include "spmv/transposed_operator.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

/// Never 0, which DualBuffer uses for "no plan".
std::uint64_t next_plan_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// The matrix where it is needed: itself if it lies there, else a copy. Work on the device waits for what another
/// context does to it.
template <class T>
std::shared_ptr<const Csr<T>> on_device(const std::shared_ptr<const Csr<T>>& matrix, const Device& device) {
  if (!(matrix->device() == device)) return std::make_shared<const Csr<T>>(matrix->to(device));
  if (!matrix->device().shares_context_with(device)) cuda::order(matrix->device(), device);
  return matrix;
}

}  // namespace

template <class T>
struct SpmvPlan<T>::Impl final : detail::EnqueuedProduct<T> {
  std::shared_ptr<const Csr<T>> matrix;  ///< in its place
  Array<T> updated_values;               ///< in that place; empty until the values differ from those of the matrix
  Device device;
  Device place;  ///< of the matrix: the device, or the host where it is streamed to a GPU
  bool rounds_values = false;
  std::unique_ptr<SpmvKernel<T>> kernel;
  SpmvOptions transpose_options;  ///< of Aᵀ
  std::mutex transpose_mutex;     ///< while it is planned
  std::optional<TransposedProduct<T>> transposed;
  std::atomic<bool> has_transpose = false;  ///< for products that run while it is planned
  PlanInfo info;
  bool is_free = false;  ///< nobody asked for this kernel
  std::uint64_t id = next_plan_id();
  std::optional<cuda::PanelForm> panel_form;  ///< of products with several columns on a GPU, where a name asks for it
  mutable std::mutex panels_mutex;            ///< of what follows
  mutable std::unique_ptr<cuda::PanelProduct<T>> panels;  ///< null until the first of those products

  Impl(std::shared_ptr<const Csr<T>> source, const SpmvOptions& given) : device(given.device), place(given.device) {
    if (!source) throw InvalidArgument("SpmvPlan needs a matrix, got a null pointer");
    check_spmv_options(given);
    SpmvOptions options = given;
    const std::optional<Streaming> streaming = choose_streaming(*source, options);
    if (streaming) {
      place = Device{};
      options.algorithm = SpmvAlgorithm::streamed;
      options.memory_limit_bytes = streaming->memory_bytes / (options.with_transpose ? 2 : 1);
    }
    rounds_values = options.fp32_values && std::is_same_v<T, double> && !source->is_pattern();
    const Stopwatch uploading;
    matrix = on_device(source, place);
    if (matrix != source) info.upload_ms = uploading.milliseconds();
    const Stopwatch watch;
    if (rounds_values) keep_values(place, matrix->view().values, true, updated_values);
    PlannedKernel<T> planned = plan_kernel(view(), view(), options);
    kernel = std::move(planned.kernel);
    info.algorithm = planned.algorithm;
    info.reason = streaming ? streaming->reason : std::move(planned.reason);
    kernel->describe(info);
    panel_form = cuda::panel_form_of(options.algorithm);
    is_free = options.algorithm == SpmvAlgorithm::automatic || options.algorithm == SpmvAlgorithm::measured;
    synchronize(device);
    info.build_ms = watch.milliseconds();
    transpose_options = options;
    if (options.with_transpose) plan_transpose();
  }

  /// Of several columns.
  [[nodiscard]] const cuda::PanelProduct<T>& panel_product() const {
    const std::scoped_lock lock(panels_mutex);
    if (panels == nullptr) panels = cuda::make_panel_product(device, view(), {panel_form, {}, 0, 0});
    return *panels;
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  /// A matrix of another context may be freed there at once, so that context waits for the products.
  ~Impl() override {
    if (matrix == nullptr || matrix->device().shares_context_with(device)) return;
    try {
      cuda::order(device, matrix->device());
    } catch (...) {
      return;  // the device has failed; nothing reads the matrix any more
    }
  }

  void plan_transpose() {
    const std::scoped_lock lock(transpose_mutex);
    if (has_transpose) return;
    const Stopwatch watch;
    transposed.emplace(place, view());
    PlannedKernel<T> planned = plan_kernel(transposed->view(), transposed->view(), transpose_options);
    PlanInfo facts;
    planned.kernel->describe(facts);
    transposed->set_kernel(std::move(planned.kernel));
    synchronize(device);
    info.transpose = TransposeInfo{planned.algorithm, transposed->bytes() + facts.bytes, watch.milliseconds()};
    has_transpose = true;
  }

  [[nodiscard]] CsrView<T> view() const noexcept {
    CsrView<T> result = matrix->view();
    if (!updated_values.empty()) result.values = updated_values.span();
    return result;
  }

  [[nodiscard]] bool is_streamed() const noexcept { return !device.is_host() && place.is_host(); }

  /// Where to work on host data: with as many threads as the plan was given.
  [[nodiscard]] Device host() const { return device.is_host() ? device : Device{}; }

  [[nodiscard]] static bool passes_facts(SpmvAlgorithm algorithm) noexcept {
    return algorithm == SpmvAlgorithm::sell || algorithm == SpmvAlgorithm::patterns;
  }

  void update(std::span<const T> values) {
    const std::uint64_t allocations = device.is_host() ? 0 : cuda::counts_of(device).allocations;
    replace_values(values);
    if (device.is_host()) return;
    // Memory moves by an allocation; two kernels also pass facts of the values as arguments.
    const bool pass_facts = passes_facts(info.algorithm) || (info.transpose && passes_facts(info.transpose->algorithm));
    if (pass_facts || cuda::counts_of(device).allocations != allocations) this->renew_recording_id();
  }

  /// Whatever can throw comes first.
  void replace_values(std::span<const T> values) {
    if (has_transpose) return update_both(values);
    keep_values(place, values, rounds_values, updated_values);
    kernel->update_values(updated_values.span());
  }

  void update_both(std::span<const T> values) {
    const std::uint64_t before = transposed->bytes();
    if (transposed->prepare_map(view())) {
      keep_values(place, values, rounds_values, updated_values);
      transposed->gather(view());
    } else {
      Array<T> fresh;
      keep_values(place, values, rounds_values, fresh);
      CsrView<T> updated = matrix->view();
      updated.values = fresh.span();
      transposed->form_anew(updated);
      updated_values = std::move(fresh);
    }
    info.transpose->bytes += transposed->bytes() - before;
    kernel->update_values(updated_values.span());
  }

  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    enqueue_product(device, *kernel, view(), x, y, w, sums);
  }

  [[nodiscard]] std::span<const ProductDots> enqueue_parts(std::span<const T> x, std::span<T> y, std::span<const T> w,
                                                           ProductDots* sums,
                                                           const std::int32_t* /*halted*/) const override {
    return enqueue_product_parts(device, *kernel, view(), x, y, w, sums);
  }

  /// Arguments arrive checked; Y is not empty.
  void apply_many(T alpha, const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) const {
    if (alpha != T{0}) {
      if (kernel->apply_many(view(), alpha, x, beta, y)) return;
      if (is_one_vector(x, y)) return kernel->apply(view(), alpha, x.column(0), beta, y.column(0));
    }
    if (device.is_host()) return host::csr_product(device, view(), alpha, x, beta, y);
    if (alpha == T{0}) return cuda::scale_columns(device, beta, y);
    panel_product().multiply(view(), alpha, x, beta, y);
  }

  /// One product into `out`, by product(y) or, where both sides can, by dual_product(y, other).
  template <class Product, class DualProduct>
  ProductDots apply_buffered(DualBuffer<T>& out, Product&& product, DualProduct&& dual_product) const {
    constexpr auto dual = DualBuffer<T>::Mode::dual;
    if (kernel->output_mode() != dual || out.mode() != dual) {
      out.set_prepared_for(0);
      return product(out.current());
    }
    if (out.prepared_for() != id) kernel->prepare_dual(out.next());
    // Until the product is complete nobody may rely on the shared rows.
    out.set_prepared_for(0);
    const ProductDots dots = dual_product(out.next(), out.current());
    out.swap();
    out.set_prepared_for(id);
    return dots;
  }
};

template <class T>
SpmvPlan<T>::SpmvPlan(Csr<T> matrix, const SpmvOptions& options)
    : SpmvPlan(std::make_shared<const Csr<T>>(std::move(matrix)), options) {}

template <class T>
SpmvPlan<T>::SpmvPlan(std::shared_ptr<const Csr<T>> matrix, const SpmvOptions& options)
    : impl_(std::make_unique<Impl>(std::move(matrix), options)) {}

template <class T>
SpmvPlan<T>::~SpmvPlan() = default;
template <class T>
SpmvPlan<T>::SpmvPlan(SpmvPlan&&) noexcept = default;
template <class T>
SpmvPlan<T>& SpmvPlan<T>::operator=(SpmvPlan&&) noexcept = default;

template <class T>
std::int64_t SpmvPlan<T>::rows() const {
  return impl_->matrix->rows();
}

template <class T>
std::int64_t SpmvPlan<T>::cols() const {
  return impl_->matrix->cols();
}

template <class T>
Device SpmvPlan<T>::device() const {
  return impl_->device;
}

template <class T>
DualBuffer<T> SpmvPlan<T>::make_output() const {
  return DualBuffer<T>(rows(), impl_->kernel->output_mode(), impl_->device);
}

template <class T>
bool SpmvPlan<T>::has_transpose() const {
  return impl_->has_transpose;
}

template <class T>
void SpmvPlan<T>::prepare_transpose() {
  impl_->plan_transpose();
}

template <class T>
const detail::EnqueuedProduct<T>* SpmvPlan<T>::enqueued_product() const noexcept {
  return impl_->place.is_host() ? nullptr : impl_.get();
}

template <class T>
const PlanInfo& SpmvPlan<T>::info() const noexcept {
  return impl_->info;
}

template <class T>
CsrView<T> SpmvPlan<T>::matrix() const noexcept {
  return impl_->view();
}

template <class T>
Device SpmvPlan<T>::matrix_device() const {
  return impl_->place;
}

template <class T>
void SpmvPlan<T>::update_values(std::span<const T> values) {
  const CsrView<T> planned = impl_->view();
  if (planned.is_pattern()) throw InvalidArgument("a pattern matrix has no values to update");
  if (values.size() != planned.values.size()) {
    throw DimensionError(fmt::format("the planned matrix has {} values, got {}", planned.values.size(), values.size()));
  }
  if (!impl_->is_streamed() || location_of(impl_->device, values.data()).is_host()) return impl_->update(values);
  Array<T> fetched(std::ssize(values), Init::none);
  copy_bytes(Device{}, fetched.data(), impl_->device, values.data(), values.size_bytes());
  impl_->update(fetched.span());
}

template <class T>
void SpmvPlan<T>::update_values(const CsrView<T>& matrix) {
  const Device given = location_of(impl_->device, matrix.row_offsets.data());
  const Device& at = given.is_host() ? impl_->host() : given;
  const std::shared_ptr<const Csr<T>> planned = on_device(impl_->matrix, at);
  require_same_structure(at, planned->view(), matrix);
  update_values(matrix.values);
}

template <class T>
void SpmvPlan<T>::apply_many(T alpha, const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y) const {
  check_multi_vectors(impl_->view(), x, y);
  if (!y.empty()) impl_->apply_many(alpha, x, beta, y);
}

template <class T>
BreakEven SpmvPlan<T>::measure_break_even(int repetitions) const {
  return detail::measure_break_even(impl_->device, impl_->place, *impl_->kernel, impl_->view(), impl_->info,
                                    repetitions);
}

template <class T>
void SpmvPlan<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->kernel->apply(impl_->view(), alpha, x, beta, y);
}

template <class T>
ProductDots SpmvPlan<T>::do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const {
  return impl_->kernel->apply_and_dot(impl_->view(), x, y, w);
}

template <class T>
double SpmvPlan<T>::do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  if constexpr (std::is_same_v<T, float>) {
    return float_residual(impl_->device, impl_->place, impl_->view(), exponent, b, x, r);
  }
  return FusedOperator<T>::do_residual(exponent, b, x, r);
}

template <class T>
void SpmvPlan<T>::do_apply_buffered(std::span<const T> x, DualBuffer<T>& out) const {
  impl_->apply_buffered(
      out,
      [&](std::span<T> y) -> ProductDots {
        impl_->kernel->apply(impl_->view(), T{1}, x, T{0}, y);
        return {};
      },
      [&](std::span<T> y, std::span<T> other) -> ProductDots {
        impl_->kernel->apply_dual(impl_->view(), x, y, other);
        return {};
      });
}

template <class T>
ProductDots SpmvPlan<T>::do_apply_and_dot_buffered(std::span<const T> x, DualBuffer<T>& out,
                                                   std::span<const T> w) const {
  return impl_->apply_buffered(
      out, [&](std::span<T> y) { return impl_->kernel->apply_and_dot(impl_->view(), x, y, w); },
      [&](std::span<T> y, std::span<T> other) {
        return impl_->kernel->apply_dual_and_dot(impl_->view(), x, y, other, w);
      });
}

template <class T>
void SpmvPlan<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->transposed->kernel().apply(impl_->transposed->view(), alpha, x, beta, y);
}

template <class T>
std::string_view SpmvPlan<T>::transpose_remedy() const {
  return "make the plan with SpmvOptions::with_transpose, or call its prepare_transpose()";
}

template <class T>
void PlanInternals::prepare_columns(const SpmvPlan<T>& plan) {
  typename SpmvPlan<T>::Impl& impl = *plan.impl_;
  const bool has_own = impl.info.algorithm == SpmvAlgorithm::tiles || impl.is_streamed();
  if (impl.device.is_host() || impl.matrix->rows() == 0 || has_own || impl.panels != nullptr) return;
  impl.info.bytes += impl.panel_product().bytes();
  synchronize(impl.device);
}

template <class T>
const SpmvKernel<T>& PlanInternals::kernel(const SpmvPlan<T>& plan) noexcept {
  return *plan.impl_->kernel;
}

template <class T>
std::optional<CsrView<T>> PlanInternals::free_matrix(const SpmvPlan<T>& plan) noexcept {
  if (!plan.impl_->is_free) return std::nullopt;
  return plan.impl_->view();
}

template <class T>
std::shared_ptr<const FusedOperator<T>> PlanInternals::transposed(const SpmvPlan<T>& plan) {
  return std::make_shared<const TransposedOperator<T>>(*plan.impl_->transposed, plan.impl_->device, plan.impl_->place);
}

template class SpmvPlan<float>;
template class SpmvPlan<double>;

template void PlanInternals::prepare_columns(const SpmvPlan<float>&);
template void PlanInternals::prepare_columns(const SpmvPlan<double>&);
template const SpmvKernel<float>& PlanInternals::kernel(const SpmvPlan<float>&) noexcept;
template const SpmvKernel<double>& PlanInternals::kernel(const SpmvPlan<double>&) noexcept;
template std::optional<CsrView<float>> PlanInternals::free_matrix(const SpmvPlan<float>&) noexcept;
template std::optional<CsrView<double>> PlanInternals::free_matrix(const SpmvPlan<double>&) noexcept;
template std::shared_ptr<const FusedOperator<float>> PlanInternals::transposed(const SpmvPlan<float>&);
template std::shared_ptr<const FusedOperator<double>> PlanInternals::transposed(const SpmvPlan<double>&);

}  // namespace tessera
