/// \file
/// Figures of a GPU: built in, derived, and how they are measured.
#pragma once

#include "tessera/device_figures.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::detail {

/// What of the second-level cache serves reads of x beside the stream of the matrix.
inline constexpr double useful_part_of_cache = 0.6;

/// What figures are derived from; 0 where the driver does not tell.
struct GpuAttributes {
  std::string name;
  int multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_clock_khz = 0;
  std::int64_t bus_bits = 0;
  int driver_version = 0;   ///< 1000 * major + 10 * minor
  int runtime_version = 0;  ///< the same
};

/// Of an H200, as recorded there; else by its ratios: copies at 88 % of the peak of the memory, the cache and gathers
/// from it by multiprocessors, gathers from memory by the copies.
[[nodiscard]] DeviceFigures figures_of(const GpuAttributes& gpu);

/// "NVIDIA H200, CUDA 13000 on 13000": what a calibration is valid for.
[[nodiscard]] std::string gpu_key(const GpuAttributes& gpu);

/// Whether all figures are finite and within a factor of 10^4 of those of an H200.
[[nodiscard]] bool are_plausible(const DeviceFigures& figures) noexcept;

/// Asked of the driver once per process and GPU. \throws DeviceUnavailable, CudaError
[[nodiscard]] GpuAttributes attributes_of(const Device& gpu);

/// Sizes of a calibration.
struct CalibrationSizes {
  std::int64_t memory_bytes = 0;  ///< of each of two arrays, far beyond the cache
  std::int64_t cache_bytes = 0;   ///< of an array within it
  std::int64_t gathers = 0;
  int passes = 0;  ///< over the array in the cache
  int launches = 0;
  int chain = 0;   ///< dependent loads
  int rounds = 0;  ///< of which the median counts
};
[[nodiscard]] CalibrationSizes calibration_sizes(std::int64_t l2_bytes) noexcept;

/// The calibration in this process, by gpu_key().
[[nodiscard]] std::optional<DeviceFigures> recall_figures(const std::string& key);
void remember_figures(std::string key, DeviceFigures figures);

/// A line of export_device_figures() with its checksum. \param rest of the line, without a newline
[[nodiscard]] std::string checked_figure_line(std::string_view rest);

}  // namespace tessera::detail

namespace tessera::cuda {

/// Asks the driver. \throws CudaError
[[nodiscard]] detail::GpuAttributes gpu_attributes(int ordinal);

/// Source and date are left to the caller. \throws OutOfMemory, CudaError
[[nodiscard]] DeviceFigures measure_figures(const Device& device, const detail::CalibrationSizes& sizes);

}  // namespace tessera::cuda
