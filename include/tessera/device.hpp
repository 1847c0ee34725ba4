/// \file
/// Device: the host or one GPU, on which data lies and work runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

namespace cuda {
class Context;
}
namespace detail {
struct GroupRank;
struct RankAccess;
}  // namespace detail

/// Threads that the host gets by default, and why.
struct HostThreads {
  int count = 1;
  std::string reason;  ///< e.g. "2 of 2 CPUs", "CPU quota of the container, 1.5 of 8 CPUs", "OMP_NUM_THREADS"
};

/// As many as this process may run at once: CPUs of its affinity mask, at most the CPU quota of its control group
/// (rounded up), at most OMP_NUM_THREADS. Asks the system once.
[[nodiscard]] HostThreads default_host_threads();

/// Fixes what default_host_threads() says from now on, for the whole process; what has its Device already keeps it.
/// \param threads 0: the choice above again \throws InvalidArgument when negative or above 4096
void set_default_host_threads(int threads);

/// The threads of the host, or one GPU. A small value, cheap to copy and to compare. On a GPU it also stands for the
/// stream and the memory of a Context: those of the library, or those of the Context that it comes from.
class Device {
 public:
  enum class Kind { host, cuda };

  /// The host with default_host_threads().
  Device();

  /// The host with a fixed number of threads. \param threads at least 1; 0 means all
  /// \throws InvalidArgument when negative or above 4096
  [[nodiscard]] static Device host(int threads = 0);

  /// GPU number `ordinal`, counted from 0.
  /// \throws DeviceUnavailable when this build has no CUDA backend or none for that GPU, or the machine no such GPU
  [[nodiscard]] static Device cuda(int ordinal = 0);

  /// The meaning of "auto" in the library: the host with all threads. A GPU must be named, since small systems are
  /// solved faster on the host. The command line chooses by the size of the matrix instead.
  [[nodiscard]] static Device best();

  /// Reads "auto", "host", "cuda" or "cuda:N". \throws InvalidArgument for other text, DeviceUnavailable as cuda() does
  [[nodiscard]] static Device parse(std::string_view text);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_host() const noexcept { return kind_ == Kind::host; }
  /// Number of the GPU; 0 for the host.
  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
  /// Worker threads used on the host; 0 for a GPU.
  [[nodiscard]] int threads() const noexcept { return threads_; }
  /// "host" or "cuda:N", as parse() reads it.
  [[nodiscard]] std::string name() const;

  /// Whether work of both is in order: the same device, and on a GPU the same Context.
  [[nodiscard]] bool shares_context_with(const Device& other) const noexcept {
    return *this == other && context_ == other.context_;
  }
  /// Names the Context; null: none, or the library's own of that GPU.
  [[nodiscard]] const void* context_id() const noexcept { return context_.get(); }

  /// Whether both are the same device; host threads and contexts do not matter.
  friend bool operator==(const Device& a, const Device& b) noexcept {
    return a.kind_ == b.kind_ && a.ordinal_ == b.ordinal_;
  }

 private:
  friend class cuda::Context;
  friend struct detail::RankAccess;

  Device(Kind kind, int ordinal, int threads) : kind_(kind), ordinal_(ordinal), threads_(threads) {}

  Kind kind_;
  int ordinal_;
  int threads_;
  std::shared_ptr<cuda::Context> context_;         ///< null: the library's own of that GPU
  std::shared_ptr<const detail::GroupRank> rank_;  ///< null: works alone (tessera/several_devices.hpp)
};

/// Facts about one GPU, from the CUDA runtime.
struct CudaDeviceInfo {
  int ordinal = 0;
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  std::uint64_t memory_total_bytes = 0;
  std::uint64_t memory_free_bytes = 0;
  std::uint64_t l2_bytes = 0;
  bool has_machine_code = false;  ///< this build was compiled for its architecture
  std::string problem;            ///< why it cannot be used (in exclusive use, out of memory); empty: it can
};

/// Result of survey_cuda(); a machine without a GPU is no error.
struct CudaSurvey {
  bool compiled_in = false;  ///< this build has the CUDA backend
  int runtime_version = 0;   ///< 1000 * major + 10 * minor; 0 when not compiled in
  int driver_version = 0;    ///< newest CUDA version the driver supports; 0 without a driver
  std::string problem;       ///< why there is no usable device; empty when there is one
  std::vector<CudaDeviceInfo> devices;
};

/// Asks driver and runtime for the GPUs. The first call takes up to about a second (driver start).
/// \param ordinal the GPU to examine, which takes some of its memory; -1: all. For the others free memory and machine
/// code stay unknown (0, false)
[[nodiscard]] CudaSurvey survey_cuda(int ordinal = -1);

/// Waits until all work of a device is done. Products and vector operations on a GPU return before they are complete;
/// calls that copy results to the host wait by themselves. Returns at once for the host. \throws CudaError
void synchronize(const Device& device);

/// Bytes of host memory that can be allocated without swapping; 0 when the system does not tell.
[[nodiscard]] std::uint64_t available_host_memory_bytes();

}  // namespace tessera
