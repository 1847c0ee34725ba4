#include "spmv/planned_kernel.hpp"

#include "spmv/registry.hpp"
#include "spmv/selection.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

namespace {

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
  if (options.algorithm != SpmvAlgorithm::automatic) {
    check_named_kernel(options);
  } else if (options.sigma != 0 || options.descriptor_bits != 0) {
    throw NotSupported(
        "sigma and descriptor_bits belong to the kernels merbit and csr5: name one, automatic may take another");
  }
}

template <class T>
PlannedKernel<T> plan_kernel(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options) {
  SpmvOptions chosen = options;
  std::string reason = "named by the caller";
  if (options.algorithm == SpmvAlgorithm::automatic) {
    SpmvSelection selection = select_spmv_kernel(options.device.is_host() ? on_host : a, options);
    chosen.algorithm = selection.algorithm;
    // The strongest class costs nothing on the host: whoever leaves the choice to us gets reproducible results.
    if (options.device.is_host()) chosen.determinism = spmv_kernel_entry(selection.algorithm).host.strongest;
    reason = std::move(selection.reason);
    check_named_kernel(chosen);
  }
  return {make_kernel(a, chosen), chosen.algorithm, std::move(reason)};
}

template PlannedKernel<float> plan_kernel(const CsrView<float>&, const CsrView<float>&, const SpmvOptions&);
template PlannedKernel<double> plan_kernel(const CsrView<double>&, const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera
