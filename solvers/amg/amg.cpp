/// Smoothed-aggregation AMG as a preconditioner: set-up, then a cycle.
#include "tessera/amg.hpp"

#include "core/device/matrix_place.hpp"
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

/// Products with α and β are rare: solvers ask for M r alone.
template <class T>
void Amg<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  if (alpha == T{1} && beta == T{0}) return impl_->cycle->apply(x, y);
  Array<T> z(rows(), Init::none, device());
  impl_->cycle->apply(x, z.span());
  IdentityOperator<T>(rows(), device()).apply(alpha, z.span(), beta, y);
}

template <class T>
const detail::EnqueuedProduct<T>* Amg<T>::enqueued_product() const noexcept {
  return impl_->cycle->enqueued();
}

template class Amg<float>;
template class Amg<double>;

}  // namespace tessera
