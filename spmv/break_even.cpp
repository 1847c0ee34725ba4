/// \file
/// Break-even of a kernel's set-up: timed in turn with a kernel without set-up.
#include "spmv/break_even.hpp"

#include "core/stopwatch.hpp"
#include "spmv/registry.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::detail {

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
}

namespace {

/// The kernel without tiles that products are compared with.
template <class T>
std::unique_ptr<SpmvKernel<T>> make_reference(const Device& device, const CsrView<T>& a) {
  SpmvOptions options;
  options.device = device;
  options.algorithm = device.is_host() ? SpmvAlgorithm::csr : SpmvAlgorithm::csr_vector;
  const SpmvBackend& backend = spmv_kernel_entry(options.algorithm).on(device);
  if constexpr (std::is_same_v<T, float>) {
    return backend.make_float(a, options);
  } else {
    return backend.make_double(a, options);
  }
}

}  // namespace

template <class T>
BreakEven measure_break_even(const Device& device, const Device& place, const SpmvKernel<T>& kernel,
                             const CsrView<T>& a, const PlanInfo& info, int repetitions) {
  if (repetitions < 1 || repetitions > 1000) {
    throw InvalidArgument(fmt::format("repetitions must be in [1, 1000], got {}", repetitions));
  }
  const auto reference = make_reference(place, a);
  const std::vector<T> ones(static_cast<std::size_t>(a.cols), T{1});
  const bool is_apart = !(device == place);
  const auto x = Array<T>::copy_of(ones, device);
  const auto reference_x = is_apart ? Array<T>::copy_of(ones, place) : Array<T>();
  Array<T> y(a.rows, Init::zero, device);
  Array<T> reference_y(is_apart ? a.rows : 0, Init::zero, place);
  const auto milliseconds = [&](const SpmvKernel<T>& of) {
    const bool at_place = is_apart && &of == reference.get();
    const Stopwatch watch;
    of.apply(a, T{1}, at_place ? reference_x.span() : x.span(), T{0}, at_place ? reference_y.span() : y.span());
    synchronize(device);
    return watch.milliseconds();
  };
  static_cast<void>(milliseconds(kernel));  // warm-up
  static_cast<void>(milliseconds(*reference));
  std::vector<double> own;
  std::vector<double> others;
  for (int i = 0; i < repetitions; ++i) {
    // In turn, and first in turn, so that what disturbs the machine disturbs both alike.
    if (i % 2 == 0) own.push_back(milliseconds(kernel));
    others.push_back(milliseconds(*reference));
    if (i % 2 != 0) own.push_back(milliseconds(kernel));
  }
  BreakEven result{median(std::move(own)), median(std::move(others)), std::nullopt};
  if (!spmv_kernel_entry(info.algorithm).has_setup) {
    result.applications = 0;
  } else if (result.apply_ms < result.reference_ms) {
    const double count = std::ceil(info.build_ms / (result.reference_ms - result.apply_ms));
    // A difference far below the clock's resolution would not fit an integer.
    if (count < 1e18) result.applications = static_cast<std::int64_t>(count);
  }
  return result;
}

template BreakEven measure_break_even(const Device&, const Device&, const SpmvKernel<float>&, const CsrView<float>&,
                                      const PlanInfo&, int);
template BreakEven measure_break_even(const Device&, const Device&, const SpmvKernel<double>&, const CsrView<double>&,
                                      const PlanInfo&, int);

}  // namespace tessera::detail
