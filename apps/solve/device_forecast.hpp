/// \file
/// Memory of each of several devices, at most, before anything of a run lies there: for --dry-run and --mem-limit.
#pragma once

#include "report_json.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/device_shares.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::cli {

/// Bytes are at most.
struct DeviceForecast {
  std::string device;  ///< "cuda:1 (device 2 of 2)"
  DeviceShare share;
  std::uint64_t plan_bytes = 0;
  std::uint64_t halo_bytes = 0;  ///< with what GPUs that reach each other keep for it
  std::uint64_t vector_bytes = 0;
  std::uint64_t precond_bytes = 0;
  std::uint64_t passing_bytes = 0;   ///< besides, while plan or preconditioner are made
  std::uint64_t received_bytes = 0;  ///< per iteration, by products with A
  std::uint64_t sent_bytes = 0;
  std::uint64_t available_bytes = 0;  ///< allowed by --mem-limit, else free; 0: not known

  /// At once.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return share.matrix_bytes + plan_bytes + halo_bytes + vector_bytes + precond_bytes + passing_bytes;
  }
  [[nodiscard]] bool fits() const noexcept { return available_bytes == 0 || bytes() <= available_bytes; }
};

/// Of a solve. \param matrix in the numbering that is shared out, on the host \param facts of it
template <class T>
[[nodiscard]] std::vector<DeviceForecast> forecast_of_devices(const RunSettings& settings, const CsrView<T>& matrix,
                                                              const MatrixStatistics& facts, const Partition& partition,
                                                              const DeviceGroup& group);
/// Of a ranking. \param transition on the host
template <class T>
[[nodiscard]] std::vector<DeviceForecast> forecast_of_devices(const PageRankSettings& settings,
                                                              const TransitionMatrix<T>& transition,
                                                              const Partition& partition, const DeviceGroup& group);

/// \throws OutOfMemory naming the first device whose share does not fit, and both sizes
void require_devices_hold(const std::vector<DeviceForecast>& devices);

/// Two lines of a forecast per device.
[[nodiscard]] std::string device_forecast_lines(const std::vector<DeviceForecast>& devices, bool is_limited);
[[nodiscard]] Json device_forecast_json(const std::vector<DeviceForecast>& devices);

}  // namespace tessera::cli
