/// \file
/// One kernel of a benchmark on a GPU: set up, checked, timed.
#pragma once

#include "bench/report.hpp"
#include "bench/zoo.hpp"
#include "tessera/error.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::bench {

/// The kernel that all others are held against, where it is there.
inline constexpr std::string_view vendor_name = "vendor-csr";
inline constexpr std::string_view plain_name = "csr-vector";

/// One kernel with the options that choose it.
struct NamedKernel {
  std::string name;
  SpmvOptions options;
};

/// A kernel on one matrix, from its check to its times.
template <class T>
struct KernelRun {
  std::string kernel;
  bool pattern = false;
  std::unique_ptr<FusedOperator<T>> product;
  PlanInfo info;  ///< of another product than a plan: bytes and set-up alone
  std::optional<DualBuffer<T>> out;
  std::string failure;   ///< empty: it may be timed
  bool refused = false;  ///< the kernel does not offer it: no failure of the run
  double error_over_bound = 0.0;
  double setup_ms = 0.0;
  TimingSummary time;
  std::vector<double> samples;
};

/// Matrix, input and what has to come out, for one storage.
template <class T>
struct Case {
  std::shared_ptr<const Csr<T>> matrix;  ///< on the device
  Reference reference;
  bool pattern = false;
  double least_bytes = 0.0;
};

/// The bytes that any product must move: matrix with 32-bit offsets, all of x and y once. \param value_bytes of a
/// nonzero
template <class T>
double least_bytes(const Csr<T>& a, std::size_t value_bytes) {
  const double per_nonzero = static_cast<double>(sizeof(index_t) + (a.is_pattern() ? 0 : value_bytes));
  return per_nonzero * static_cast<double>(a.nnz()) + 4.0 * (a.rows() + 1.0) +
         static_cast<double>(sizeof(T)) * (static_cast<double>(a.rows()) + static_cast<double>(a.cols()));
}

template <class T>
void check_output(const Reference& reference, const Device& device, std::span<const T> y, KernelRun<T>& entry) {
  std::vector<T> found(y.size());
  detail::copy_bytes(Device{}, found.data(), device, y.data(), y.size_bytes());
  entry.error_over_bound = std::max(entry.error_over_bound, error_over_bound<T>(reference, found));
  if (!(entry.error_over_bound <= 1.0)) {
    entry.failure = fmt::format("WRONG: error {:.3g} times what rounding explains", entry.error_over_bound);
  }
}

/// Into the output that repeated products use, every element NaN before, twice: both vectors of a dual buffer count.
template <class T>
void check(const Case<T>& given, const Array<T>& x, const Array<T>& nans, KernelRun<T>& entry) {
  const Device& device = x.device();
  entry.out.emplace(entry.product->make_output());
  for (int pass = 0; pass < 2 && entry.failure.empty(); ++pass) {
    detail::copy_bytes(device, entry.out->current().data(), device, nans.data(), nans.bytes());
    if (pass == 0)
      detail::copy_bytes(device, entry.out->next().data(), device, nans.data(), entry.out->next().size_bytes());
    entry.product->apply(x.span(), *entry.out);
    check_output<T>(given.reference, device, std::as_const(*entry.out).current(), entry);
  }
}

/// \param make sets the product, and what is known of it
template <class T, class Make>
KernelRun<T> prepare_product(std::string name, const Case<T>& given, const Array<T>& x, const Array<T>& nans,
                             Make&& make) {
  KernelRun<T> entry;
  entry.kernel = std::move(name);
  entry.pattern = given.pattern;
  try {
    make(entry);
    check(given, x, nans, entry);
  } catch (const NotSupported& error) {
    entry.failure = error.what();
    entry.refused = true;
  } catch (const Error& error) {
    entry.failure = error.what();
  }
  if (!entry.failure.empty()) entry.product.reset();
  return entry;
}

template <class T>
KernelRun<T> prepare(const NamedKernel& kernel_of, const Case<T>& given, const Array<T>& x, const Array<T>& nans) {
  constexpr int setups = 3;
  return prepare_product<T>(kernel_of.name, given, x, nans, [&](KernelRun<T>& entry) {
    std::vector<double> setup_ms;
    for (int i = 0; i < setups; ++i) {
      entry.product.reset();
      auto plan = std::make_unique<SpmvPlan<T>>(given.matrix, kernel_of.options);
      entry.info = plan->info();
      setup_ms.push_back(entry.info.build_ms);
      entry.product = std::move(plan);
    }
    entry.setup_ms = summarise(setup_ms).median;
  });
}

/// All that may be timed, in turn. \returns GB/s of the copy
template <class T>
double time_all(std::vector<KernelRun<T>>& entries, const Array<T>& x, compare::CopyYardstick& copy, int rounds) {
  std::vector<TimingCandidate> candidates{{"copy", [&copy] { copy(); }, {}}};
  std::vector<KernelRun<T>*> timed;
  for (KernelRun<T>& entry : entries) {
    if (!entry.failure.empty()) continue;
    timed.push_back(&entry);
    candidates.push_back({entry.kernel, [&entry, &x] { entry.product->apply(x.span(), *entry.out); }, {}});
  }
  TimingOptions options;
  options.warmup = 3;
  options.min_rounds = rounds;
  options.max_rounds = rounds;
  options.min_seconds = 0.0;
  options.min_sample_ms = 1.0;  // so that the start of the work after the first event is a small part
  options.clock = timing_clock(x.device());
  const TimingSamples samples = time_interleaved(candidates, options);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    timed[i]->samples = samples[i + 1];
    timed[i]->time = summarise(samples[i + 1]);
  }
  return compare::gbytes_per_second(copy.bytes(), summarise(samples[0]).median);
}

/// The product after the last timed one has to be as right as the first.
template <class T>
void check_again(std::vector<KernelRun<T>>& entries, const std::vector<Case<T>>& cases, const Array<T>& x) {
  for (KernelRun<T>& entry : entries) {
    if (entry.time.count == 0) continue;
    const auto own = std::find_if(cases.begin(), cases.end(),
                                  [&entry](const Case<T>& each) { return each.pattern == entry.pattern; });
    entry.product->apply(x.span(), *entry.out);
    check_output<T>(own->reference, x.device(), std::as_const(*entry.out).current(), entry);
    if (!entry.failure.empty()) entry.time = {};
  }
}

/// The weighted product that all are held against; null where it failed.
template <class T>
const KernelRun<T>* baseline_of(const std::vector<KernelRun<T>>& entries, std::string_view name) {
  for (const KernelRun<T>& entry : entries) {
    if (entry.kernel == name && !entry.pattern && entry.time.count > 0) return &entry;
  }
  return nullptr;
}

/// Products after which the set-up beyond that of the baseline is won back; nothing: never.
template <class T>
std::optional<std::int64_t> break_even(const KernelRun<T>& entry, const KernelRun<T>& baseline) {
  const double extra = entry.setup_ms - baseline.setup_ms;
  const double gain = baseline.time.median - entry.time.median;
  if (extra <= 0.0 && gain >= 0.0) return 0;
  if (gain <= 0.0) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(extra / gain));
}

}  // namespace tessera::bench
