/// Smoothed-aggregation AMG as a preconditioner: set-up, then a cycle.
#include "tessera/amg.hpp"

#include "core/device/matrix_place.hpp"
#include "core/device/operands.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/cycle.hpp"
#include "solvers/amg/probe.hpp"
#include "solvers/amg/setup.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tessera {

template <class T>
struct Amg<T>::Impl {
  Device device;
  AmgOptions options;
  index_t rows;
  std::unique_ptr<detail::AmgSetup<T>> setup;
  std::unique_ptr<detail::AmgCycleOperator<T>> cycle;
  PreconditionerInfo info{.name = "amg"};

  Impl(const CsrView<T>& matrix, AmgOptions wanted, const Device& where)
      : device(where), options(std::move(wanted)), rows(matrix.rows) {
    const Stopwatch watch;
    setup = std::make_unique<detail::AmgSetup<T>>(matrix, options, device);
    complete(watch);
  }

  void refresh(const CsrView<T>& matrix) {
    const Stopwatch watch;
    setup->refresh(matrix);
    complete(watch);
  }

  void complete(const Stopwatch& watch) {
    AmgSetupTimes& times = setup->info().times;
    detail::PhaseClock clock(device);
    if (cycle && setup->keeps_structures()) {
      cycle->refresh(setup->hierarchy());
    } else {
      cycle.reset();
      cycle = device.is_host() ? host::make_amg_cycle(setup->hierarchy(), options)
                               : cuda::make_amg_cycle(setup->hierarchy(), options);
    }
    setup->release_matrices();
    clock.end(&AmgSetupTimes::layout);
    if (options.check && rows > 0) check();
    clock.end(&AmgSetupTimes::check);
    clock.add_to(times);
    note_layouts();
    info.setup_ms = watch.milliseconds();
  }

  void note_layouts() {
    info.bytes = setup->bytes();
    std::vector<AmgLevelInfo>& levels = setup->info().levels;
    const std::vector<detail::AmgLayout>& layouts = cycle->layouts();
    for (std::size_t i = 0; i < levels.size() && i < layouts.size(); ++i) {
      levels[i].layout = layouts[i].name;
      levels[i].bytes = layouts[i].bytes;
      info.bytes += layouts[i].bytes;
    }
  }

  /// M is finite, and positive definite as far as one vector can tell.
  void check() {
    Array<T> u(rows, Init::none, device);
    Array<T> mu(rows, Init::none, device);
    fused::transform_reduce(device, rows, detail::ProbeVector<T>{.x = u.data()});
    cycle->apply(std::as_const(u).span(), mu.span());
    const double product = fused::dot<T>(device, std::as_const(u).span(), std::as_const(mu).span());
    info.is_symmetric = setup->is_symmetric();
    detail::require_sound_cycle(product, info.is_symmetric);
  }
};

template <class T>
Amg<T>::Amg(const CsrView<T>& matrix, const AmgOptions& options, const Device& device)
    : impl_((detail::require_within_reach(matrix, device, "AMG"), std::make_unique<Impl>(matrix, options, device))) {}
template <class T>
Amg<T>::~Amg() = default;
template <class T>
Amg<T>::Amg(Amg&&) noexcept = default;
template <class T>
Amg<T>& Amg<T>::operator=(Amg&&) noexcept = default;

template <class T>
std::int64_t Amg<T>::rows() const {
  return impl_->rows;
}
template <class T>
Device Amg<T>::device() const {
  return impl_->device;
}
template <class T>
const PreconditionerInfo& Amg<T>::info() const noexcept {
  return impl_->info;
}
template <class T>
const AmgInfo& Amg<T>::hierarchy() const noexcept {
  return impl_->setup->info();
}
template <class T>
void Amg<T>::refresh(const CsrView<T>& matrix) {
  impl_->refresh(matrix);
}

template <class T>
bool Amg<T>::has_transpose() const {
  return impl_->info.is_symmetric || (impl_->device.is_host() && impl_->options.cycle != AmgCycle::k);
}

template <class T>
void Amg<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  const auto product = [this](std::span<const T> r, std::span<T> z) { impl_->cycle->apply(r, z); };
  detail::apply_overwriting(impl_->device, product, alpha, x, beta, y);
}

template <class T>
void Amg<T>::do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  if (impl_->info.is_symmetric) return do_apply(alpha, x, beta, y);
  const auto product = [this](std::span<const T> r, std::span<T> z) { impl_->cycle->apply_transposed(r, z); };
  detail::apply_overwriting(impl_->device, product, alpha, x, beta, y);
}

template <class T>
std::string_view Amg<T>::transpose_remedy() const {
  return "the cycles V and W have one on the host, and every cycle of a symmetric matrix";
}

template <class T>
const detail::EnqueuedProduct<T>* Amg<T>::enqueued_product() const noexcept {
  return impl_->cycle->enqueued();
}

template class Amg<float>;
template class Amg<double>;

}  // namespace tessera
