// Memory of each of several devices: the share of the matrix is counted, the rest bounded as for one device.
#include "device_forecast.hpp"

#include "summary_text.hpp"

#include "support/amg_prediction.hpp"
#include "support/machine.hpp"
#include "support/plan_memory.hpp"
#include "tessera/amg_several_devices.hpp"
#include "tessera/error.hpp"
#include "tessera/iterative_solver.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

namespace {

/// A prediction of multigrid holds to within this factor.
constexpr std::uint64_t uncertain = 2;
/// Bytes of an element with its number, between GPUs that reach each other's memory.
constexpr std::uint64_t word_bytes = 16;

/// Those of the group, each with what it may use.
[[nodiscard]] std::vector<DeviceForecast> devices_of(const DeviceGroup& group, const std::vector<DeviceShare>& shares,
                                                     std::uint64_t limit_bytes) {
  std::vector<DeviceForecast> devices(shares.size());
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const Device device = group.device(static_cast<int>(k));
    devices[k].device = fmt::format("{} (device {} of {})", device.name(), k + 1, devices.size());
    devices[k].share = shares[k];
    devices[k].halo_bytes = shares[k].halo_bytes + (group.has_peer_access() ? shares[k].peer_bytes : 0);
    if (limit_bytes > 0) {
      devices[k].available_bytes = limit_bytes;
    } else if (device.is_host()) {
      devices[k].available_bytes = support::memory_budget(0);
    } else if (const auto gpu = support::gpu_info(device)) {
      devices[k].available_bytes = gpu->memory_free_bytes;
    }
  }
  return devices;
}

/// Of a block: a bound on the host, on a GPU what one device is estimated to take too.
[[nodiscard]] std::uint64_t plan_bytes(const Device& device, SpmvAlgorithm algorithm, std::int64_t rows, offset_t nnz,
                                       std::size_t value_bytes) {
  if (nnz == 0 && rows == 0) return 0;
  const std::uint64_t bound = support::most_plan_bytes(algorithm, rows, nnz, value_bytes);
  return device.is_host() ? bound : std::max(bound, 2 * static_cast<std::uint64_t>(nnz) / 5);
}

/// Levels of one device, of which a device of a group keeps its part or all.
class HierarchyForecast {
 public:
  template <class T>
  HierarchyForecast(const AmgOptions& options, const CsrView<T>& matrix, const MatrixStatistics& facts)
      : element_(sizeof(T)), nnz_(facts.nnz), sweeps_(sweeps_of(options)) {
    const double neighbours = support::strong_neighbours(matrix, options.strength_threshold);
    for (const support::PredictedLevel& level : support::predict_amg(facts, neighbours, options).levels) {
      support::AmgPrediction alone;
      alone.levels = {level};
      levels_.push_back({level.rows, uncertain * support::predicted_bytes(alone, element_, options)});
    }
  }

  [[nodiscard]] std::uint64_t whole() const {
    std::uint64_t bytes = 0;
    for (const Level& level : levels_) bytes += level.bytes;
    return bytes;
  }

  /// Levels that are surely shared out count by the share of the device, others whole.
  [[nodiscard]] std::uint64_t of(const DeviceShare& share, bool are_peers) const {
    const DistributedAmgOptions sharing;
    double bytes = 0.0;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const std::int64_t rows = levels_[l].rows;
      // The rows of the finest level are counted, those of others predicted.
      const std::int64_t least = l == 0 ? sharing.least_rows : std::int64_t{uncertain} * sharing.least_rows;
      const bool is_shared = rows >= least;
      bytes += static_cast<double>(levels_[l].bytes) * (is_shared ? part_of(share) : 1.0);
      if (is_shared) bytes += static_cast<double>(halo_bytes(share, are_peers));
    }
    return static_cast<std::uint64_t>(bytes);
  }

 private:
  struct Level {
    std::int64_t rows = 0;
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] double part_of(const DeviceShare& share) const {
    const double by_rows = static_cast<double>(share.rows) / static_cast<double>(levels_.front().rows);
    const double by_entries = nnz_ > 0 ? static_cast<double>(share.nnz) / static_cast<double>(nnz_) : 0.0;
    return std::max(by_rows, by_entries);
  }

  /// Three vectors with a halo, and exchanges of it: two words per fetch of a cycle, or a list and two buffers.
  [[nodiscard]] std::uint64_t halo_bytes(const DeviceShare& share, bool are_peers) const {
    const std::uint64_t elements = uncertain * static_cast<std::uint64_t>(share.halo + share.sent);
    const std::uint64_t fetches = 2 * sweeps_ + 2;
    return elements * (5 * element_ + sizeof(index_t) + (are_peers ? 2 * fetches * word_bytes : 0));
  }

  [[nodiscard]] static std::uint64_t sweeps_of(const AmgOptions& options) {
    const int polynomial = options.smoother == AmgSmoother::chebyshev ? options.chebyshev_degree : 1;
    return static_cast<std::uint64_t>(options.sweeps) * static_cast<std::uint64_t>(polynomial);
  }

  std::size_t element_;
  offset_t nnz_;
  std::uint64_t sweeps_;
  std::vector<Level> levels_;
};

/// At most what a GPU needs that sets up the whole: those that reach each other hold less of the finer levels. Hosts
/// share one set-up, which is no memory of theirs.
template <class T>
void add_multigrid(const RunSettings& settings, const CsrView<T>& matrix, const MatrixStatistics& facts,
                   const DeviceGroup& group, std::vector<DeviceForecast>& devices) {
  const HierarchyForecast hierarchy(settings.precond.amg, matrix, facts);
  const std::uint64_t whole =
      matrix.row_offsets.size_bytes() + matrix.columns.size_bytes() + matrix.values.size_bytes();
  for (DeviceForecast& device : devices) {
    device.precond_bytes = hierarchy.of(device.share, group.has_peer_access());
    if (group.device(0).is_host()) continue;
    // And the products of the coarser levels beside it.
    device.passing_bytes = std::max(device.passing_bytes, whole + 2 * hierarchy.whole());
  }
}

[[nodiscard]] std::string fit_text(const DeviceForecast& device, bool is_limited) {
  if (device.available_bytes == 0) return "whether it fits is not known before";
  return fmt::format("{} {}: {}", size_text(device.available_bytes), is_limited ? "allowed by --mem-limit" : "free",
                     device.fits() ? "it fits" : "it does not fit");
}

[[nodiscard]] std::string parts_text(const DeviceForecast& device) {
  std::string text =
      fmt::format("matrix {}, plan {}, halo {}, vectors {}", size_text(device.share.matrix_bytes),
                  size_text(device.plan_bytes), size_text(device.halo_bytes), size_text(device.vector_bytes));
  if (device.precond_bytes > 0) text += ", precond " + size_text(device.precond_bytes);
  if (device.passing_bytes > 0) text += fmt::format(", and {} meanwhile", size_text(device.passing_bytes));
  return text;
}

}  // namespace

template <class T>
std::vector<DeviceForecast> forecast_of_devices(const RunSettings& settings, const CsrView<T>& matrix,
                                                const MatrixStatistics& facts, const Partition& partition,
                                                const DeviceGroup& group) {
  std::vector<DeviceForecast> devices =
      devices_of(group, device_shares(matrix, partition), settings.machine.memory_limit_bytes);
  const Device kind = group.device(0);
  const SpmvAlgorithm algorithm = settings.spmv.algorithm;
  const std::size_t value = matrix.is_pattern() ? 0 : sizeof(T);
  const double products = method_info(settings.method.iterative().value_or(IterativeMethod::cg)).products_with_a;
  for (DeviceForecast& device : devices) {
    const DeviceShare& share = device.share;
    device.plan_bytes = plan_bytes(kind, algorithm, share.rows, share.nnz - share.halo_nnz, value) +
                        plan_bytes(kind, algorithm, share.boundary_rows, share.halo_nnz, value);
    device.passing_bytes = device.plan_bytes;
    device.vector_bytes = vector_bytes(settings, settings.method, share.rows, sizeof(T));
    const auto rows = static_cast<std::uint64_t>(share.rows);
    if (sizeof(T) == sizeof(float)) device.vector_bytes += rows * sizeof(double);  // residuals are summed in double
    const Precond precond = settings.precond.precond;
    if (precond == Precond::automatic || precond == Precond::jacobi) device.precond_bytes = rows * sizeof(T);
    const double element = products * static_cast<double>(group.has_peer_access() ? word_bytes : sizeof(T));
    device.received_bytes = static_cast<std::uint64_t>(element * share.halo);
    device.sent_bytes = static_cast<std::uint64_t>(element * share.sent);
  }
  if (settings.precond.precond == Precond::amg) add_multigrid(settings, matrix, facts, group, devices);
  return devices;
}

template <class T>
std::vector<DeviceForecast> forecast_of_devices(const PageRankSettings& settings, const TransitionMatrix<T>& transition,
                                                const Partition& partition, const DeviceGroup& group) {
  std::vector<DeviceForecast> devices =
      devices_of(group, rank_shares(transition, partition), settings.machine.memory_limit_bytes);
  const std::size_t value = transition.in_links()->is_pattern() ? 0 : sizeof(T);
  for (DeviceForecast& device : devices) {
    const DeviceShare& share = device.share;
    device.plan_bytes = plan_bytes(group.device(0), settings.pagerank.spmv.algorithm, share.rows, share.nnz, value);
    device.passing_bytes = device.plan_bytes;
    // Scaled ranks old and new with the halo; ranks, the second output of the product, the distribution of jumps.
    const auto rows = static_cast<std::uint64_t>(share.rows);
    const auto with_halo = rows + static_cast<std::uint64_t>(share.halo);
    device.vector_bytes = (2 * with_halo + 4 * rows) * sizeof(T);
    device.received_bytes = static_cast<std::uint64_t>(share.halo) * sizeof(T);
    device.sent_bytes = static_cast<std::uint64_t>(share.sent) * sizeof(T);
  }
  return devices;
}

void require_devices_hold(const std::vector<DeviceForecast>& devices) {
  for (const DeviceForecast& device : devices) {
    if (!device.fits()) throw OutOfMemory(device.bytes(), device.available_bytes, "the share of " + device.device);
  }
}

std::string device_forecast_lines(const std::vector<DeviceForecast>& devices, bool is_limited) {
  std::string text;
  for (const DeviceForecast& device : devices) {
    const DeviceShare& share = device.share;
    std::string halo = "no halo";
    if (share.halo > 0) {
      halo = fmt::format("halo {} from {}: {} in and {} out per iteration", counted(share.halo, "element"),
                         counted(share.neighbours, "device"), size_text(device.received_bytes),
                         size_text(device.sent_bytes));
    }
    text += line("device", fmt::format("{}: rows {} to {}, {} nonzeros, {}", device.device, share.first_row + 1,
                                       share.first_row + share.rows, share.nnz, halo));
    text += line("", fmt::format("at most {}: {}; {}", size_text(device.bytes()), parts_text(device),
                                 fit_text(device, is_limited)));
  }
  return text;
}

Json device_forecast_json(const std::vector<DeviceForecast>& devices) {
  Json json = Json::array();
  for (const DeviceForecast& device : devices) {
    const DeviceShare& share = device.share;
    json.push_back({{"device", device.device},
                    {"first_row", share.first_row},
                    {"rows", share.rows},
                    {"nnz", share.nnz},
                    {"halo", share.halo},
                    {"halo_nnz", share.halo_nnz},
                    {"boundary_rows", share.boundary_rows},
                    {"neighbours", share.neighbours},
                    {"received_bytes", device.received_bytes},
                    {"sent_bytes", device.sent_bytes},
                    {"matrix_bytes", share.matrix_bytes},
                    {"plan_bytes", device.plan_bytes},
                    {"halo_bytes", device.halo_bytes},
                    {"vector_bytes", device.vector_bytes},
                    {"precond_bytes", device.precond_bytes},
                    {"passing_bytes", device.passing_bytes},
                    {"bytes", device.bytes()},
                    {"available", device.available_bytes > 0 ? Json(device.available_bytes) : Json(nullptr)},
                    {"fits", device.available_bytes > 0 ? Json(device.fits()) : Json(nullptr)}});
  }
  return json;
}

template std::vector<DeviceForecast> forecast_of_devices(const RunSettings&, const CsrView<float>&,
                                                         const MatrixStatistics&, const Partition&, const DeviceGroup&);
template std::vector<DeviceForecast> forecast_of_devices(const RunSettings&, const CsrView<double>&,
                                                         const MatrixStatistics&, const Partition&, const DeviceGroup&);
template std::vector<DeviceForecast> forecast_of_devices(const PageRankSettings&, const TransitionMatrix<float>&,
                                                         const Partition&, const DeviceGroup&);
template std::vector<DeviceForecast> forecast_of_devices(const PageRankSettings&, const TransitionMatrix<double>&,
                                                         const Partition&, const DeviceGroup&);

}  // namespace tessera::cli
