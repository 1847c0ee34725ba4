/// \file
/// The table of kernels, and their names.
#include "spmv/registry.hpp"

#include "spmv/blocked/blocked.hpp"
#include "spmv/csr/csr.hpp"
#include "spmv/csr5/csr5.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merge/merge.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/sell/sell.hpp"
#include "spmv/streamed/streamed.hpp"
#include "spmv/tiles/tiles.hpp"
#include "tessera/error.hpp"
#include "tessera/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

constexpr std::string_view automatic_name = "auto";
constexpr std::string_view measured_name = "measured";

template <class Float, class Double>
SpmvBackend on_host(Float make_float, Double make_double) {
  return {Determinism::gpu_to_gpu, make_float, make_double};
}

using enum SpmvAlgorithm;

const std::array<SpmvKernelEntry, 12>& table() {
  static const std::array<SpmvKernelEntry, 12> entries{{
      {csr, "csr", "rows in parallel, no set-up; uneven when one row holds much of the matrix", false, false,
       on_host(host::make_csr_kernel<float>, host::make_csr_kernel<double>), cuda_backend(csr)},
      {merge, "merge", "equal shares of the merge path, found by searches; next to no set-up", false, false,
       on_host(host::make_merge_kernel<float>, host::make_merge_kernel<double>), cuda_backend(merge)},
      {merbit, "merbit", "merge-path tiles with bit-field lane descriptors, built once", true, true,
       on_host(host::make_merbit_kernel<float>, host::make_merbit_kernel<double>), cuda_backend(merbit)},
      {csr5, "csr5", "equal tiles of nonzeros, permuted, with bit-flag descriptors, built once", true, true,
       on_host(host::make_csr5_kernel<float>, host::make_csr5_kernel<double>), cuda_backend(csr5)},
      {csr_vector,
       "csr-vector",
       "part of a warp per row, by mean length; long rows split off",
       false,
       true,
       {},
       cuda_backend(csr_vector)},
      {tiles, "tiles", "8 x 8 tiles with bitmaps and packed values, for matrices of blocks; built once", false, true,
       on_host(host::make_tiles_kernel<float>, host::make_tiles_kernel<double>), cuda_backend(tiles)},
      {patterns, "patterns",
       "a byte per row names its relative columns, and values that repeat; for grids and stencils", false, true,
       on_host(host::make_patterns_kernel<float>, host::make_patterns_kernel<double>), cuda_backend(patterns)},
      {sell, "sell", "sliced ELL in few bytes: 16-bit columns, coded values; for ordered matrices of few values", false,
       true, on_host(host::make_sell_kernel<float>, host::make_sell_kernel<double>), cuda_backend(sell)},
      {blocked, "blocked",
       "x by blocks of columns to lists of segments, then the segments; for columns all over a large x", false, true,
       on_host(host::make_blocked_kernel<float>, host::make_blocked_kernel<double>), cuda_backend(blocked)},
      {streamed, "streamed",
       "slices of rows copied from the host for every product; for a matrix larger than the memory of a GPU", false,
       true, on_host(host::make_streamed_kernel<float>, host::make_streamed_kernel<double>), cuda_backend(streamed)},
      {vendor_csr, "vendor-csr", "cuSPARSE on CSR, prepared once", false, true, {}, cuda_backend(vendor_csr)},
      {vendor_coo, "vendor-coo", "cuSPARSE on COO", false, true, {}, cuda_backend(vendor_coo)},
  }};
  return entries;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names{automatic_name, measured_name};
  for (const auto& entry : table()) names.push_back(entry.name);
  return names;
}

}  // namespace

const SpmvKernelEntry& detail::spmv_kernel_entry(SpmvAlgorithm algorithm) {
  for (const auto& entry : table()) {
    if (entry.algorithm == algorithm) return entry;
  }
  throw InvalidArgument(fmt::format("no SpMV kernel has the number {}", static_cast<int>(algorithm)));
}

std::string_view to_string(SpmvAlgorithm algorithm) {
  if (algorithm == SpmvAlgorithm::automatic) return automatic_name;
  return algorithm == SpmvAlgorithm::measured ? measured_name : spmv_kernel_entry(algorithm).name;
}

std::string_view describe(SpmvAlgorithm algorithm) {
  if (algorithm == SpmvAlgorithm::automatic) return "chosen by row lengths and the number of products";
  if (algorithm == SpmvAlgorithm::measured) return "the fastest of those that suit the matrix, timed on it at set-up";
  return spmv_kernel_entry(algorithm).description;
}

SpmvAlgorithm parse_spmv_algorithm(std::string_view name) {
  if (name == automatic_name) return SpmvAlgorithm::automatic;
  if (name == measured_name) return SpmvAlgorithm::measured;
  for (const auto& entry : table()) {
    if (entry.name == name) return entry.algorithm;
  }
  const std::vector<std::string_view> names = all_names();
  throw InvalidArgument(
      fmt::format("unknown SpMV kernel '{}': known are {}{}", name, fmt::join(names, ", "), nearest_hint(name, names)));
}

std::span<const SpmvAlgorithm> spmv_algorithms(const Device& device) { return spmv_algorithms(device.kind()); }

std::span<const SpmvAlgorithm> spmv_algorithms(Device::Kind kind) {
  const auto offered_on = [](Device::Kind place) {
    std::vector<SpmvAlgorithm> result;
    for (const auto& entry : table()) {
      if ((place == Device::Kind::host ? entry.host : entry.cuda).offered()) result.push_back(entry.algorithm);
    }
    return result;
  };
  static const std::vector<SpmvAlgorithm> on_host = offered_on(Device::Kind::host);
  static const std::vector<SpmvAlgorithm> on_cuda = offered_on(Device::Kind::cuda);
  return kind == Device::Kind::host ? on_host : on_cuda;
}

std::span<const SpmvAlgorithm> known_spmv_algorithms() {
  static const std::vector<SpmvAlgorithm> all = [] {
    std::vector<SpmvAlgorithm> result;
    for (const auto& entry : table()) result.push_back(entry.algorithm);
    return result;
  }();
  return all;
}

std::string_view to_string(Determinism determinism) {
  switch (determinism) {
    case Determinism::not_guaranteed:
      return "not_guaranteed";
    case Determinism::run_to_run:
      return "run_to_run";
    case Determinism::gpu_to_gpu:
      return "gpu_to_gpu";
  }
  throw InvalidArgument(fmt::format("no determinism class has the number {}", static_cast<int>(determinism)));
}

}  // namespace tessera
