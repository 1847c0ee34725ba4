/// \file
/// Figures of a GPU that predicted times of products are made of: bandwidths, rates of gathers, the cost of a launch.
/// Built in for an NVIDIA H200, derived from attributes of other GPUs, or measured by calibrate() and kept as text, as
/// the wisdom of FFTW (M. Frigo, S. G. Johnson, Proc. IEEE 93(2), 2005).
#pragma once

#include "tessera/device.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// Where figures come from.
enum class FigureSource {
  built_in,    ///< recorded measurements on a GPU of this name (bench/NOTES.md)
  derived,     ///< from attributes of the GPU, by ratios that an H200 has
  calibrated,  ///< measured by calibrate()
};

/// "built in", "derived", "calibrated".
[[nodiscard]] std::string_view to_string(FigureSource source);

struct DeviceFigures {
  int multiprocessors = 0;
  double l2_bytes = 0.0;               ///< of the second-level cache
  double copy_gbytes_per_s = 0.0;      ///< of memory, bytes read and written, 10^9 a second
  double l2_gbytes_per_s = 0.0;        ///< read from the second-level cache
  double memory_gathers_per_ns = 0.0;  ///< of an x far larger than the cache: reads that miss all caches
  double l2_gathers_per_ns = 0.0;      ///< of an x that the second-level cache holds
  double launch_us = 0.0;              ///< of a kernel among others in a stream
  double latency_ns = 0.0;             ///< of one dependent load from the second-level cache

  FigureSource source = FigureSource::derived;
  std::string date = {};  ///< of the calibration, "2026-11-26T20:30:00Z"; else empty
};

/// Figures in use for a GPU: those of calibrate() or import_device_figures() in this process, else built-in or derived.
/// \throws InvalidArgument for the host; DeviceUnavailable, CudaError
[[nodiscard]] DeviceFigures device_figures(const Device& device);

/// Measures the figures of a GPU by copies, gathers, a chain of loads and empty kernels, and uses them from now on.
/// Takes memory of 12 times the second-level cache; the GPU should do nothing else.
/// \throws NotSupported for the host, whose products are not predicted; OutOfMemory, CudaError
DeviceFigures calibrate(const Device& device);

/// All calibrations that this process has: a line for the format, then one per GPU with a checksum. A calibration is
/// that of one model of a GPU, driver, and version of the library.
[[nodiscard]] std::string export_device_figures();

struct ImportedFigures {
  std::int64_t read = 0;
  std::int64_t outdated = 0;  ///< of another version of the library, passed over
  std::int64_t damaged = 0;   ///< lines whose checksum does not fit, or with figures out of range, passed over
};

/// Adds the calibrations of a text; what this process measured itself stays. They change predictions and the order in
/// which kernels are tried, never a result.
/// \param name of the text in messages, a path say
/// \throws ParseError for a text that export_device_figures() of this version did not begin
ImportedFigures import_device_figures(std::string_view text, std::string_view name = "device figures");

/// Forgets all calibrations.
void forget_device_figures() noexcept;

}  // namespace tessera
