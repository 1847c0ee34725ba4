/// \file
/// --device auto: the host or a GPU, and why.
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

/// Nonzeros from which `auto` takes a GPU; below, starting the GPU takes longer than the whole solve on the host.
/// Measured: here CG with Jacobi on Poisson 2D takes .35 s from start to end of the program, on an H200 as on the 16
/// threads of its host (bench/NOTES.md).
inline constexpr offset_t worth_a_gpu = 1'300'000;

/// The backends that have a kernel for the requested product.
struct ProductBackends {
  std::string product;  ///< in words: "kernel csr"
  bool host = true;
  bool gpu = true;
};

[[nodiscard]] ProductBackends product_backends(const SpmvOptions& options);

/// Size of a problem, and its product.
struct Workload {
  std::int64_t rows = 0;
  offset_t nnz = 0;
  std::size_t value_bytes = 0;    ///< of a nonzero's value; 0 for a pattern
  std::size_t element_bytes = 0;  ///< of an element of a vector
  ProductBackends backends;
};

/// Estimated memory of a solve on a GPU: matrix, descriptors and vectors.
[[nodiscard]] std::uint64_t bytes_on_gpu(const Workload& work);

/// Memory of a small matrix in parts on a GPU, at most; 0 where the loop of the method cannot be one kernel
/// (docs/solving.md). \param value_bytes of a nonzero; 0: a pattern \param columns right-hand sides
[[nodiscard]] std::uint64_t bytes_of_parts(const RunSettings& settings, Method method, std::int64_t rows, offset_t nnz,
                                           std::size_t value_bytes, std::int64_t columns);

/// Whether a product may be streamed to the GPU: by its name, or by auto.
[[nodiscard]] bool may_stream(const SpmvOptions& spmv);

/// Bytes that a matrix of the host and its plan may take on a GPU beside the vectors of the run: of the user's limit,
/// else of what the GPU has free. 0 on the host, and for a matrix that surely fits, where nothing is limited.
/// \throws OutOfMemory where the vectors leave nothing
[[nodiscard]] std::uint64_t memory_beside_vectors(const MachineSettings& machine, std::uint64_t matrix_bytes,
                                                  std::uint64_t vectors, const std::string& purpose);

struct UsableGpu {
  int ordinal = 0;
  std::string name;
  std::uint64_t free_bytes = 0;
};

struct GpuSearch {
  std::optional<UsableGpu> gpu;
  std::string problem;  ///< why there is none
};

/// The usable GPU with the lowest number that this build has machine code for. Starts the driver, and queries no more
/// GPUs than necessary, since each query takes some memory of the GPU.
[[nodiscard]] GpuSearch find_gpu();

struct DeviceChoice {
  std::optional<int> gpu;  ///< its number; nothing: the host
  std::string reason;
};

/// \param search called only where its answer matters
[[nodiscard]] DeviceChoice choose_device(const Workload& work, const std::function<GpuSearch()>& search);

/// Decides an undecided device and puts it and the reason into the settings. \throws DeviceUnavailable
void decide_device(const Workload& work, MachineSettings& machine, SpmvOptions& spmv);

/// The same once the matrix is known. With --verbose says what was chosen, and why.
template <class T>
void decide_device(const Csr<T>& matrix, MachineSettings& machine, SpmvOptions& spmv, Progress& progress);

}  // namespace tessera::cli
