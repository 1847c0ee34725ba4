/// \file
/// ReorderedPlan: a plan of P A Pᵀ between a gather of x and one that brings y back.
#include "tessera/reordered_plan.hpp"

#include "core/borrowed_csr.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/vector_ops.hpp"
#include "core/device/operands.hpp"
#include "core/enqueued_product.hpp"
#include "core/stopwatch.hpp"
#include "core/value_passes.hpp"
#include "preprocess/permuted.hpp"
#include "spmv/plan_values.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

/// P A Pᵀ, the permutation, and its inverse, all in one place.
template <class T>
struct Reordered {
  Array<index_t> order;
  Array<index_t> position;
  std::shared_ptr<const Csr<T>> matrix;
};

/// \param matrix on `place`
template <class T>
Reordered<T> reorder(const CsrView<T>& matrix, const Device& place, Ordering kind, ReorderedPlanInfo& info) {
  Reordered<T> result;
  const Stopwatch ordering_watch;
  result.order = ordering(matrix, kind, place);
  synchronize(place);
  info.ordering_ms = ordering_watch.milliseconds();
  const Stopwatch permute_watch;
  result.position = inverse_permutation(result.order.span(), place);
  result.matrix =
      std::make_shared<const Csr<T>>(permuted_by<T>(matrix, result.order.span(), result.position.span(), place));
  synchronize(place);
  info.permute_ms = permute_watch.milliseconds();
  return result;
}

/// The matrix on the device of the plan.
template <class T>
Reordered<T> reorder_there(const Csr<T>& matrix, const Device& device, Ordering kind, ReorderedPlanInfo& info) {
  if (matrix.device() == device) {
    if (!matrix.device().shares_context_with(device)) cuda::order(matrix.device(), device);
    return reorder(matrix.view(), device, kind, info);
  }
  const Stopwatch watch;
  const Csr<T> copy = matrix.to(device);
  info.upload_ms = watch.milliseconds();
  return reorder(copy.view(), device, kind, info);
}

/// On the host where a GPU streams the matrix or has no room for it twice.
template <class T>
Reordered<T> reorder(const Csr<T>& matrix, const SpmvOptions& options, Ordering kind, ReorderedPlanInfo& info) {
  const bool may_stream = options.algorithm == SpmvAlgorithm::streamed || options.memory_limit_bytes > 0;
  if (!matrix.device().is_host() || options.device.is_host()) {
    return reorder_there(matrix, options.device, kind, info);
  }
  if (!may_stream) {
    try {
      return reorder_there(matrix, options.device, kind, info);
    } catch (const OutOfMemory&) {
      info.upload_ms = 0.0;
    }
  }
  return reorder(matrix.view(), Device{}, kind, info);
}

/// to[i] = from[positions[i]] + β to[i]; the old elements are not read when β = 0.
template <class T>
void gather_onto(const Device& device, std::span<const index_t> positions, std::span<const T> from, T beta,
                 std::span<T> to) {
  if (beta == T{0}) return gather_values(device, positions, from, to);
  gather_and_add(device, positions, from, beta, to);
}

[[nodiscard]] Array<index_t> moved_to(const Device& device, Array<index_t> array) {
  if (array.device() == device) return array;
  return array.to(device);
}

}  // namespace

template <class T>
struct ReorderedPlan<T>::Impl final : EnqueuedProduct<T> {
  ReorderedPlanInfo info;
  Device device;
  Array<index_t> order;     ///< row k of P A Pᵀ is row order[k] of A
  Array<index_t> position;  ///< its inverse
  std::optional<SpmvPlan<T>> plan;
  Array<index_t> positions;  ///< in A, of every entry of P A Pᵀ; empty until values are updated. Where that lies
  mutable std::mutex scratch_mutex;  ///< of what follows
  mutable Array<T> inner_x;
  mutable Array<T> inner_y;
  mutable Array<T> inner_b;  ///< of float

  Impl(const Csr<T>& matrix, Ordering kind, const SpmvOptions& options) : device(options.device) {
    info.ordering = kind;
    Reordered<T> reordered = reorder(matrix, options, kind, info);
    order = moved_to(device, std::move(reordered.order));
    position = moved_to(device, std::move(reordered.position));
    info.matrix_bytes = reordered.matrix->bytes();
    plan.emplace(std::move(reordered.matrix), options);
    info.build_ms = plan->info().upload_ms + plan->info().build_ms;
    if (plan->info().transpose) info.build_ms += plan->info().transpose->build_ms;
    inner_x = Array<T>(order.size(), Init::none, device);
    inner_y = Array<T>(order.size(), Init::none, device);
    inner_b = Array<T>(std::is_same_v<T, float> ? order.size() : 0, Init::none, device);
    info.vector_bytes = inner_x.bytes() + inner_y.bytes() + inner_b.bytes();
    count_bytes();
  }

  void count_bytes() {
    info.bytes = order.bytes() + position.bytes() + positions.bytes() + plan->info().bytes;
    if (plan->info().transpose) info.bytes += plan->info().transpose->bytes;
  }

  /// product(inner x, inner y), then y = inner y + β y.
  template <class Product>
  void multiply(std::span<const T> x, T beta, std::span<T> y, const Product& product) const {
    const std::scoped_lock lock(scratch_mutex);
    gather_values<T>(device, order.span(), x, inner_x.span());
    product(std::as_const(inner_x).span(), inner_y.span());
    gather_onto<T>(device, position.span(), std::as_const(inner_y).span(), beta, y);
  }

  double residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
    const std::scoped_lock lock(scratch_mutex);
    gather_values<T>(device, order.span(), b, inner_b.span());
    gather_values<T>(device, order.span(), x, inner_x.span());
    const double squares = plan->residual(exponent, inner_b.span(), inner_x.span(), inner_y.span());
    gather_values<T>(device, position.span(), std::as_const(inner_y).span(), r);
    return squares;
  }

  void update(std::span<const T> values) {
    const Device place = plan->matrix_device();
    if (positions.empty()) {
      const Array<index_t> order_there = place == device ? Array<index_t>() : order.to(place);
      const Array<index_t> position_there = place == device ? Array<index_t>() : position.to(place);
      const auto here = [&](const Array<index_t>& own, const Array<index_t>& copy) {
        return place == device ? own.span() : copy.span();
      };
      // A is P' (P A P') P: that gives the position in P A P' of every entry of A, whose inverse is wanted.
      const Array<index_t> inner =
          permuted_positions(plan->matrix(), here(position, position_there), here(order, order_there), place);
      positions = inverse_permutation(inner.span(), place);
      count_bytes();
    }
    const Device given = location_of(device, values.data());
    Array<T> fetched(given == place ? 0 : std::ssize(values), Init::none, place);
    if (!fetched.empty()) copy_bytes(place, fetched.data(), given, values.data(), values.size_bytes());
    Array<T> permuted_values(std::ssize(values), Init::none, place);
    gather_values<T>(place, positions.span(), fetched.empty() ? values : std::as_const(fetched).span(),
                     permuted_values.span());
    const auto* const product = EnqueuedProduct<T>::of(*plan);
    const std::uint64_t before = product == nullptr ? 0 : product->recording_id();
    plan->update_values(permuted_values.span());
    if (product != nullptr && product->recording_id() != before) this->renew_recording_id();
    count_bytes();
  }

  void enqueue(std::span<const T> x, std::span<T> y, std::span<const T> w, ProductDots* sums) const override {
    multiply(x, T{0}, y, [this](std::span<const T> from, std::span<T> to) { plan->apply(from, to); });
    cuda::enqueue_dots<T>(device, y, w, sums);
  }
};

template <class T>
ReorderedPlan<T>::ReorderedPlan(const Csr<T>& matrix, Ordering ordering, const SpmvOptions& options)
    : impl_(std::make_unique<Impl>(matrix, ordering, options)) {}

template <class T>
ReorderedPlan<T>::ReorderedPlan(const CsrView<T>& matrix, const Device& place, Ordering ordering,
                                const SpmvOptions& options)
    : ReorderedPlan(borrow_csr(matrix, place), ordering, options) {}

template <class T>
ReorderedPlan<T>::~ReorderedPlan() = default;
template <class T>
ReorderedPlan<T>::ReorderedPlan(ReorderedPlan&&) noexcept = default;
template <class T>
ReorderedPlan<T>& ReorderedPlan<T>::operator=(ReorderedPlan&&) noexcept = default;

template <class T>
std::int64_t ReorderedPlan<T>::rows() const {
  return impl_->plan->rows();
}

template <class T>
std::int64_t ReorderedPlan<T>::cols() const {
  return impl_->plan->cols();
}

template <class T>
Device ReorderedPlan<T>::device() const {
  return impl_->device;
}

template <class T>
bool ReorderedPlan<T>::has_transpose() const {
  return impl_->plan->has_transpose();
}

template <class T>
const ReorderedPlanInfo& ReorderedPlan<T>::info() const noexcept {
  return impl_->info;
}

template <class T>
const SpmvPlan<T>& ReorderedPlan<T>::plan() const noexcept {
  return *impl_->plan;
}

template <class T>
std::span<const index_t> ReorderedPlan<T>::order() const noexcept {
  return impl_->order.span();
}

template <class T>
void ReorderedPlan<T>::gather(std::span<const T> outer, std::span<T> inner) const {
  check_operands<T>(*this, outer, inner);
  gather_values<T>(impl_->device, impl_->order.span(), outer, inner);
}

template <class T>
void ReorderedPlan<T>::scatter(std::span<const T> inner, std::span<T> outer) const {
  check_operands<T>(*this, inner, outer);
  gather_values<T>(impl_->device, impl_->position.span(), inner, outer);
}

template <class T>
void ReorderedPlan<T>::update_values(std::span<const T> values) {
  const CsrView<T> planned = impl_->plan->matrix();
  if (planned.is_pattern()) throw InvalidArgument("a pattern matrix has no values to update");
  if (values.size() != planned.values.size()) {
    throw DimensionError(fmt::format("the planned matrix has {} values, got {}", planned.values.size(), values.size()));
  }
  impl_->update(values);
}

template <class T>
void ReorderedPlan<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->multiply(x, beta, y,
                  [&](std::span<const T> from, std::span<T> to) { impl_->plan->apply(alpha, from, T{0}, to); });
}

template <class T>
void ReorderedPlan<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  impl_->multiply(x, beta, y, [&](std::span<const T> from, std::span<T> to) {
    impl_->plan->apply_transposed(alpha, from, T{0}, to);
  });
}

template <class T>
std::string_view ReorderedPlan<T>::transpose_remedy() const {
  return "make the plan with SpmvOptions::with_transpose";
}

template <class T>
double ReorderedPlan<T>::do_residual(int exponent, std::span<const T> b, std::span<const T> x, std::span<T> r) const {
  if constexpr (std::is_same_v<T, float>) return impl_->residual(exponent, b, x, r);
  return FusedOperator<T>::do_residual(exponent, b, x, r);
}

template <class T>
const EnqueuedProduct<T>* ReorderedPlan<T>::enqueued_product() const noexcept {
  return EnqueuedProduct<T>::of(*impl_->plan) == nullptr ? nullptr : impl_.get();
}

template class ReorderedPlan<float>;
template class ReorderedPlan<double>;

}  // namespace tessera
