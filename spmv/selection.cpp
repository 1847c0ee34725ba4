/// \file
/// From options to a kernel: checks, set-up, and another choice where the matrix does not keep what a sample promised.
#include "spmv/selection.hpp"

#include "spmv/measured_choice.hpp"
#include "spmv/merbit/merbit_plan.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "spmv/registry.hpp"
#include "spmv/selection_rules.hpp"
#include "spmv/sell/sell.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// On a GPU, nonzeros from which the reason has predicted times: they take a sample, of a few tenths of a millisecond,
/// and where MERBIT would look for hub columns passes over an eighth of the nonzeros.
constexpr offset_t least_predicted = 10'000'000;

template <class T>
std::unique_ptr<SpmvKernel<T>> make_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  const SpmvBackend& backend = spmv_kernel_entry(options.algorithm).on(options.device);
  if constexpr (std::is_same_v<T, float>) {
    return backend.make_float(a, options);
  } else {
    return backend.make_double(a, options);
  }
}

std::vector<std::string_view> kernel_names(const Device& device) {
  std::vector<std::string_view> names;
  for (const SpmvAlgorithm algorithm : spmv_algorithms(device)) names.push_back(to_string(algorithm));
  return names;
}

/// The kernel of a choice; of sliced ELL, and of row patterns on the host, only in a layout that the choice was made
/// for.
template <class T>
std::unique_ptr<SpmvKernel<T>> make_chosen_kernel(const CsrView<T>& a, const SpmvOptions& options,
                                                  const SpmvSelection& selection) {
  if (selection.promised) return cuda::make_promised_sell_kernel(a, options, *selection.promised);
  if (selection.algorithm == SpmvAlgorithm::patterns && options.device.is_host()) {
    return host::make_promised_patterns_kernel(a, options);
  }
  return make_kernel(a, options);
}

/// The predicted times of the kernel that `automatic` took and of the fastest other one; empty where the matrix is not
/// worth them, or there is no memory for the sample.
template <class T>
std::string predicted_times(const PlannedKernel<T>& planned, const CsrView<T>& a, const SpmvOptions& options) try {
  if (options.device.is_host() || a.nnz() < least_predicted) return {};
  PlanInfo info;
  planned.kernel->describe(info);
  ProductTraits traits = with_plan_bytes(sampled_traits(a, options), planned.algorithm, info.bytes);
  traits.hubs = cuda::forecast_hubs(a, options);
  std::vector<PredictedProduct> predicted = predict_products(traits, device_figures(options.device));
  std::erase_if(predicted,
                [&](const PredictedProduct& each) { return !gpu_kernel_keeps_class(each.algorithm, options); });
  return describe_prediction(predicted, planned.algorithm);
} catch (const OutOfMemory&) {
  return {};
}

template <class T>
PlannedKernel<T> with_prediction(PlannedKernel<T> planned, const CsrView<T>& a, const SpmvOptions& options) {
  const std::string text = predicted_times(planned, a, options);
  if (!text.empty()) planned.reason += "; " + text;
  return planned;
}

void check_named_kernel(const SpmvOptions& options) {
  const SpmvKernelEntry& entry = spmv_kernel_entry(options.algorithm);
  const SpmvBackend& backend = entry.on(options.device);
  if (!backend.offered()) {
    throw NotSupported(fmt::format("kernel {} does not run on {}: known there are {}", entry.name,
                                   options.device.name(), fmt::join(kernel_names(options.device), ", ")));
  }
  if (backend.strongest < options.determinism) {
    throw NotSupported(fmt::format("kernel {} keeps {} at most, asked for {}", entry.name, to_string(backend.strongest),
                                   to_string(options.determinism)));
  }
  if (!entry.has_descriptors && (options.sigma != 0 || options.descriptor_bits != 0)) {
    throw NotSupported(fmt::format("kernel {} has no descriptors: sigma and descriptor_bits do not apply", entry.name));
  }
}

}  // namespace

template <class T>
SpmvSelection select_spmv_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return options.device.is_host() ? select_for_host(a, options, {}) : select_for_gpu(a, options, {});
}

template SpmvSelection select_spmv_kernel(const CsrView<float>&, const SpmvOptions&);
template SpmvSelection select_spmv_kernel(const CsrView<double>&, const SpmvOptions&);

void check_spmv_options(const SpmvOptions& options) {
  if (spmv_algorithms(options.device).empty()) {
    throw DeviceUnavailable(fmt::format("this build has no SpMV kernels for {}", options.device.name()));
  }
  if (options.sigma < 0) throw InvalidArgument(fmt::format("sigma must not be negative, got {}", options.sigma));
  if (options.descriptor_bits != 0 && options.descriptor_bits != 32 && options.descriptor_bits != 64) {
    throw InvalidArgument(fmt::format("descriptor_bits must be 32, 64 or 0, got {}", options.descriptor_bits));
  }
  if (options.expected_applications < 0) {
    throw InvalidArgument(
        fmt::format("expected_applications must not be negative, got {}", options.expected_applications));
  }
  if (options.algorithm != SpmvAlgorithm::automatic && options.algorithm != SpmvAlgorithm::measured) {
    check_named_kernel(options);
  } else if (options.sigma != 0 || options.descriptor_bits != 0) {
    throw NotSupported(
        fmt::format("sigma and descriptor_bits belong to the kernels merbit and csr5: name one, {} may take another",
                    options.algorithm == SpmvAlgorithm::automatic ? "automatic" : "measured"));
  }
}

template <class T>
PlannedKernel<T> plan_kernel(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options) {
  if (options.algorithm == SpmvAlgorithm::measured) return measure_kernels(a, on_host, options);
  if (options.algorithm != SpmvAlgorithm::automatic) {
    return {make_kernel(a, options), options.algorithm, "named by the caller"};
  }
  SpmvOptions chosen = options;
  SpmvSelection selection = select_spmv_kernel(options.device.is_host() ? on_host : a, options);
  chosen.algorithm = selection.algorithm;
  // The strongest class costs nothing on the host: whoever leaves the choice to us gets reproducible results.
  if (options.device.is_host()) chosen.determinism = spmv_kernel_entry(selection.algorithm).host.strongest;
  check_named_kernel(chosen);
  RefusedKernels refused;
  while (refused.add(selection.algorithm)) {
    try {
      return with_prediction<T>({make_chosen_kernel(a, chosen, selection), chosen.algorithm, selection.reason}, a,
                                chosen);
    } catch (const NotSupported&) {  // the matrix does not keep what its sample promised
    } catch (const OutOfMemory&) {   // for the matrix once more
    }
    selection =
        options.device.is_host() ? select_for_host(on_host, options, refused) : select_for_gpu(a, options, refused);
    chosen.algorithm = selection.algorithm;
  }
  return with_prediction<T>({make_kernel(a, chosen), chosen.algorithm, std::move(selection.reason)}, a, chosen);
}

template PlannedKernel<float> plan_kernel(const CsrView<float>&, const CsrView<float>&, const SpmvOptions&);
template PlannedKernel<double> plan_kernel(const CsrView<double>&, const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::detail
