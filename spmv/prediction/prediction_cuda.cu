/// \file
/// Calibration of a GPU for predicted times (bandwidths, gathers, launch, latency), and the sample of a matrix there.
#include "core/cuda/check.hpp"
#include "core/cuda/device_query.hpp"
#include "core/cuda/launch.cuh"
#include "spmv/prediction/device_figures.hpp"
#include "spmv/prediction/matrix_sample.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace tessera::cuda {

namespace {

using detail::CalibrationSizes;
using detail::GpuAttributes;

constexpr int threads = 256;

[[nodiscard]] std::int64_t ask(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, ordinal) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return value;
}

// Calibration

/// A grid-stride loop of loads of 16 bytes that pass by the first-level cache, `passes` times.
__global__ void __launch_bounds__(threads)
    read_kernel(const double2* data, std::int64_t count, int passes, double* sink) {
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  double sum = 0.0;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += stride) {
      const double2 both = __ldcg(data + i);
      sum += both.x + both.y;
    }
  }
  if (sum != 0.0) *sink = sum;  // all data are 0: keeps the loads
}

inline constexpr int gathers_in_flight = 8;

/// Reads x at places that a hash gives, gathers_in_flight per thread at a time.
__global__ void __launch_bounds__(threads) gather_kernel(const double* x, unsigned entries, int batches, double* sink) {
  const unsigned thread = blockIdx.x * threads + threadIdx.x;
  double sum = 0.0;
  for (int batch = 0; batch < batches; ++batch) {
#pragma unroll
    for (int k = 0; k < gathers_in_flight; ++k) {
      // The finalizer of MurmurHash3 (A. Appleby).
      unsigned h = (thread * static_cast<unsigned>(batches) + static_cast<unsigned>(batch)) * gathers_in_flight +
                   static_cast<unsigned>(k);
      h = (h ^ h >> 16) * 0x85ebca6bU;
      h = (h ^ h >> 13) * 0xc2b2ae35U;
      h ^= h >> 16;
      sum += x[static_cast<std::uint64_t>(h) * entries >> 32];
    }
  }
  if (sum != 0.0) *sink = sum;
}

/// next[i] = i + step, modulo `count`.
__global__ void __launch_bounds__(threads) link_kernel(unsigned* next, unsigned count, unsigned step) {
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  if (i < count) next[i] = (i + step) % count;
}

/// One thread follows a chain of loads.
__global__ void chase_kernel(const unsigned* next, int loads, unsigned* sink) {
  unsigned place = 0;
  for (int k = 0; k < loads; ++k) place = __ldcg(next + place);
  *sink = place;
}

__global__ void empty_kernel() {}

/// Medians of times on one GPU.
class Calibration {
 public:
  Calibration(const Device& device, const CalibrationSizes& sizes)
      : device_(device), context_(Context::of(device)), sizes_(sizes), clock_(event_clock(device)) {}

  [[nodiscard]] DeviceFigures measure() const {
    const DeviceGuard current(device_);
    DeviceFigures figures;
    figures.multiprocessors = context_.limits().multiprocessors;
    figures.l2_bytes = static_cast<double>(ask(cudaDevAttrL2CacheSize, device_.ordinal()));
    {
      const Array<double> x(sizes_.cache_bytes / 8, Init::zero, device_);
      figures.l2_gathers_per_ns = gathers_per_ns(x);
      figures.l2_gbytes_per_s = read_gbytes_per_s(x);
    }
    const Array<double> x(sizes_.memory_bytes / 8, Init::zero, device_);
    figures.memory_gathers_per_ns = misses_per_ns(gathers_per_ns(x), x.bytes(), figures);
    figures.copy_gbytes_per_s = copy_gbytes_per_s(x);
    figures.launch_us = launch_us();
    figures.latency_ns = latency_ns();
    return figures;
  }

 private:
  /// Once before, as a warm-up.
  [[nodiscard]] double milliseconds(const std::function<void()>& work) const {
    work();
    std::vector<double> samples;
    for (int round = 0; round < sizes_.rounds; ++round) samples.push_back(clock_(work));
    std::sort(samples.begin(), samples.end());
    return std::max(samples[samples.size() / 2], 1e-6);
  }

  [[nodiscard]] double copy_gbytes_per_s(const Array<double>& from) const {
    Array<double> to(from.size(), Init::none, device_);
    const double ms = milliseconds([&] { detail::copy_bytes(device_, to.data(), device_, from.data(), from.bytes()); });
    return 2e-6 * static_cast<double>(from.bytes()) / ms;
  }

  [[nodiscard]] double read_gbytes_per_s(const Array<double>& x) const {
    Array<double> sink(1, Init::zero, device_);
    const auto blocks = static_cast<unsigned>(4 * context_.limits().multiprocessors);
    const double ms = milliseconds([&] {
      launch("reading the second-level cache", context_, Grid{blocks, threads}, read_kernel,
             reinterpret_cast<const double2*>(x.data()), x.size() / 2, sizes_.passes, sink.data());
    });
    return 1e-6 * static_cast<double>(x.bytes()) * sizes_.passes / ms;
  }

  [[nodiscard]] double gathers_per_ns(const Array<double>& x) const {
    Array<double> sink(1, Init::zero, device_);
    constexpr int batches = 8;
    constexpr int per_block = threads * batches * gathers_in_flight;
    const unsigned blocks = blocks_for(sizes_.gathers, per_block);
    const double ms = milliseconds([&] {
      launch("gathers", context_, Grid{blocks, threads}, gather_kernel, x.data(), static_cast<unsigned>(x.size()),
             batches, sink.data());
    });
    return 1e-6 * static_cast<double>(blocks) * per_block / ms;
  }

  /// The rate of gathers that all miss, from that of gathers of an x of which the cache holds a part.
  [[nodiscard]] static double misses_per_ns(double rate, std::uint64_t x_bytes, const DeviceFigures& figures) {
    const double held = detail::useful_part_of_cache * figures.l2_bytes / static_cast<double>(x_bytes);
    const double ns_of_misses = 1.0 / rate - held / figures.l2_gathers_per_ns;
    if (held > 0.5 || ns_of_misses <= 0.0) return rate;  // x is too small to tell
    return (1.0 - held) / ns_of_misses;
  }

  [[nodiscard]] double launch_us() const {
    const double ms = milliseconds([&] {
      for (int k = 0; k < sizes_.launches; ++k) launch("an empty kernel", context_, Grid{1, warp_size}, empty_kernel);
    });
    return 1e3 * ms / sizes_.launches;
  }

  [[nodiscard]] double latency_ns() const {
    constexpr unsigned step = 32 * 33 + 1;  // lines of 128 bytes apart, every one once
    const auto count = static_cast<unsigned>(sizes_.cache_bytes / 8);
    Array<unsigned> next(count, Init::none, device_);
    Array<unsigned> sink(1, Init::none, device_);
    launch("linking a chain", context_, Grid{blocks_for(count, threads), threads}, link_kernel, next.data(), count,
           step);
    const double ms = milliseconds([&] {
      launch("a chain of loads", context_, Grid{1, 1}, chase_kernel, next.data(), sizes_.chain, sink.data());
    });
    return 1e6 * ms / sizes_.chain;
  }

  Device device_;
  const Context& context_;
  CalibrationSizes sizes_;
  TimingClock clock_;
};

// Samples

/// One block per part: its items to consecutive places.
template <class Item>
__global__ void __launch_bounds__(threads)
    copy_parts_kernel(const Item* from, detail::SampleParts parts, std::int64_t length, Item* to) {
  const std::int64_t begin = parts.begin(blockIdx.x);
  for (std::int64_t i = threadIdx.x; i < length; i += threads) to[blockIdx.x * length + i] = from[begin + i];
}

template <class Item>
void copy_parts(std::span<const Item> from, const detail::SampleParts& parts, std::int64_t length, const Device& device,
                std::span<Item> into) {
  if (into.empty()) return;
  Array<Item> gathered(static_cast<std::int64_t>(into.size()), Init::none, device);
  launch("sample of a matrix", Context::of(device), Grid{static_cast<unsigned>(parts.count), threads},
         copy_parts_kernel<Item>, from.data(), parts, length, gathered.data());
  detail::copy_bytes(Device{}, into.data(), device, gathered.data(), into.size_bytes());
}

}  // namespace

GpuAttributes gpu_attributes(int ordinal) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "device properties");
  GpuAttributes gpu{properties.name,
                    properties.multiProcessorCount,
                    static_cast<std::int64_t>(properties.l2CacheSize),
                    ask(cudaDevAttrMemoryClockRate, ordinal),
                    ask(cudaDevAttrGlobalMemoryBusWidth, ordinal),
                    0,
                    0};
  check(cudaDriverGetVersion(&gpu.driver_version), "driver version");
  check(cudaRuntimeGetVersion(&gpu.runtime_version), "runtime version");
  return gpu;
}

DeviceFigures measure_figures(const Device& device, const CalibrationSizes& sizes) {
  return Calibration(device, sizes).measure();
}

void copy_sample(std::span<const offset_t> row_offsets, std::span<const index_t> columns, const Device& device,
                 detail::MatrixSample& sample) {
  const DeviceGuard current(device);
  copy_parts<index_t>(columns, sample.strips, sample.strips.length, device, sample.columns);
  copy_parts<offset_t>(row_offsets, sample.groups, sample.groups.length + 1, device, sample.row_offsets);
}

}  // namespace tessera::cuda
