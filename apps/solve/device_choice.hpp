/// \file
/// What --device auto means for a command that has its matrix: the host or a GPU, and why.
#pragma once

#include "progress.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/spmv.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tessera::cli {

/// Nonzeros from which `auto` takes a GPU: with fewer, starting it takes longer than the host needs for the whole
/// solve. Where a solve by CG with Jacobi of Poisson 2D took as long from start to end of the program on an H200 as on
/// the 16 threads of its host, about .35 s (bench/NOTES.md).
inline constexpr offset_t worth_a_gpu = 1'300'000;

/// Where there is a kernel for the product that was asked for.
struct ProductPlaces {
  std::string product;  ///< in words: "kernel csr"
  bool host = true;
  bool gpu = true;
};

[[nodiscard]] ProductPlaces product_places(const SpmvOptions& options);

/// What a GPU would have to hold and do.
struct Workload {
  std::int64_t rows = 0;
  offset_t nnz = 0;
  std::size_t value_bytes = 0;    ///< of a nonzero's value; 0 for a pattern
  std::size_t element_bytes = 0;  ///< of an element of a vector
  ProductPlaces places;
};

/// Estimate: matrix, descriptors and vectors of a solve on a GPU.
[[nodiscard]] std::uint64_t bytes_on_gpu(const Workload& work);

struct UsableGpu {
  int ordinal = 0;
  std::string name;
  std::uint64_t free_bytes = 0;
};

struct GpuSearch {
  std::optional<UsableGpu> gpu;
  std::string problem;  ///< why there is none
};

/// Of the GPUs that this build has machine code for and that can be used, the one with the lowest number. Starts the
/// driver, and looks into no more GPUs than it has to, since that takes some memory of each.
[[nodiscard]] GpuSearch find_gpu();

struct DeviceChoice {
  std::optional<int> gpu;  ///< its number; nothing: the host
  std::string reason;
};

/// \param search called only where its answer matters
[[nodiscard]] DeviceChoice choose_device(const Workload& work, const std::function<GpuSearch()>& search);

/// Decides an undecided device: device and reason go into the settings. \throws DeviceUnavailable
void decide_device(const Workload& work, MachineSettings& machine, SpmvOptions& spmv);

/// The same once the matrix is known. With --verbose says what was chosen, and why.
template <class T>
void decide_device(const Csr<T>& matrix, MachineSettings& machine, SpmvOptions& spmv, Progress& progress);

}  // namespace tessera::cli
