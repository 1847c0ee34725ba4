/// \file
/// Default number of threads of the host: as many as there are CPUs that this process may really use.
#pragma once

#include "tessera/device.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tessera::host {

/// What the choice depends on.
struct ThreadFacts {
  int cpus = 1;                                ///< in the affinity mask
  std::optional<double> quota;                 ///< CPUs that the container may use on average
  std::optional<std::string> omp_num_threads;  ///< the variable of the environment
};

/// The smaller of the CPUs and the quota, rounded up; OMP_NUM_THREADS may lower it, and is ignored where it is no
/// number from 1 on.
[[nodiscard]] HostThreads choose_threads(const ThreadFacts& facts);

/// CPUs that a quota allows. \param text the file cpu.max of control groups, version 2: "QUOTA PERIOD" or "max PERIOD"
[[nodiscard]] std::optional<double> quota_of(std::string_view text);

[[nodiscard]] ThreadFacts thread_facts();

/// Threads of Device{}: default_host_threads() without its text, which would allocate for every array.
[[nodiscard]] int default_threads();

}  // namespace tessera::host
