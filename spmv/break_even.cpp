#include "spmv/break_even.hpp"

#include "core/stopwatch.hpp"
#include "spmv/csr/csr.hpp"
#include "spmv/registry.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {

namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class T>
double time_product(const SpmvKernel<T>& kernel, const CsrView<T>& a, std::span<const T> x, std::span<T> y) {
  const Stopwatch watch;
  kernel.apply(a, T{1}, x, T{0}, y);
  return watch.milliseconds();
}

}  // namespace

template <class T>
BreakEven measure_break_even(const Device& device, const SpmvKernel<T>& kernel, const CsrView<T>& a,
                             const PlanInfo& info, int repetitions) {
  if (repetitions < 1 || repetitions > 1000) {
    throw InvalidArgument(fmt::format("repetitions must be in [1, 1000], got {}", repetitions));
  }
  SpmvOptions plain;
  plain.device = device;
  const auto reference = make_csr_kernel(a, plain);
  Array<T> x(a.cols);
  std::fill(x.begin(), x.end(), T{1});
  Array<T> y(a.rows);
  std::vector<double> own_ms;
  std::vector<double> reference_ms;
  for (int i = 0; i <= repetitions; ++i) {
    const double own = time_product<T>(kernel, a, x.span(), y.span());
    const double other = time_product<T>(*reference, a, x.span(), y.span());
    if (i == 0) continue;  // warm-up
    own_ms.push_back(own);
    reference_ms.push_back(other);
  }
  BreakEven result{median(own_ms), median(reference_ms), std::nullopt};
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

}  // namespace tessera
