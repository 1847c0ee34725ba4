#include "spmv/break_even.hpp"

#include "spmv/registry.hpp"
#include "tessera/error.hpp"
#include "tessera/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// As many products as asked for, each a sample of its own.
TimingOptions timing_of(int repetitions) {
  TimingOptions timing;
  timing.warmup = 1;
  timing.min_rounds = timing.max_rounds = repetitions;
  timing.min_sample_ms = 0.0;
  return timing;
}

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
BreakEven measure_break_even(const Device& device, const SpmvKernel<T>& kernel, const CsrView<T>& a,
                             const PlanInfo& info, int repetitions) {
  if (repetitions < 1 || repetitions > 1000) {
    throw InvalidArgument(fmt::format("repetitions must be in [1, 1000], got {}", repetitions));
  }
  const auto reference = make_reference(device, a);
  const std::vector<T> ones(static_cast<std::size_t>(a.cols), T{1});
  const auto x = Array<T>::copy_of(ones, device);
  Array<T> y(a.rows, Init::zero, device);
  const auto product = [&](const SpmvKernel<T>& of) {
    of.apply(a, T{1}, x.span(), T{0}, y.span());
    synchronize(device);
  };
  const std::array<TimingCandidate, 2> candidates{
      {{"plan", [&] { product(kernel); }, {}}, {"reference", [&] { product(*reference); }, {}}}};
  const TimingSamples samples = time_interleaved(candidates, timing_of(repetitions));
  BreakEven result{summarise(samples[0]).median, summarise(samples[1]).median, std::nullopt};
  if (!spmv_kernel_entry(info.algorithm).has_setup) {
    result.applications = 0;
  } else if (result.apply_ms < result.reference_ms) {
    const double count = std::ceil(info.build_ms / (result.reference_ms - result.apply_ms));
    // A difference far below the clock's resolution would not fit an integer.
    if (count < 1e18) result.applications = static_cast<std::int64_t>(count);
  }
  return result;
}

template BreakEven measure_break_even(const Device&, const SpmvKernel<float>&, const CsrView<float>&, const PlanInfo&,
                                      int);
template BreakEven measure_break_even(const Device&, const SpmvKernel<double>&, const CsrView<double>&, const PlanInfo&,
                                      int);

}  // namespace tessera::detail
