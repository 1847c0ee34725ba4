/// \file
/// A while loop on a GPU: recorded once into a CUDA graph with a conditional node, it iterates without the host until
/// its state halts. With a driver older than CUDA 12.4, or TESSERA_CUDA_GRAPHS=0 in the environment, the host launches
/// a few iterations at a time instead. Or one kernel is the loop (persistent_kernel.hpp).
#pragma once

#include "core/host_device.hpp"
#include "tessera/device.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace tessera::fused {

/// Reason why the loop returned to the host.
enum class Halt : std::int32_t {
  none,       ///< still iterating
  check,      ///< the recurrence claims convergence, or its residual is below its own rounding errors
  replace,    ///< the true residual is due (SolverOptions::replacement_interval)
  half_step,  ///< BiCGSTAB: check, between its two products
  cycle,      ///< GMRES: all directions of a cycle are used
  breakdown,
  limit,  ///< iterations, divergence, stagnation
  done,   ///< the solve has ended (fused/enqueued_loops.hpp)
  lost,   ///< another GPU of the group did not answer
};

/// What every loop's state begins with. A state is a plain struct derived from it, in the memory of the host or of the
/// GPU.
struct LoopControl {
  Halt halt = Halt::none;
  std::int64_t iteration = 0;  ///< completed
  double norm = 0.0;           ///< for the history
  ProductDots dots;            ///< of the latest product

  [[nodiscard]] TESSERA_HOST_DEVICE bool halted() const noexcept { return halt != Halt::none; }
};

/// History entry of one iteration.
struct LoopEntry {
  std::int64_t iteration = 0;
  double norm = 0.0;
  double seconds = 0.0;  ///< since the loop was made
};

}  // namespace tessera::fused

namespace tessera::cuda {

struct PeerExchange;

/// Where a loop lies in the memory of its GPU.
struct LoopFrame {
  void* state = nullptr;          ///< begins with a fused::LoopControl
  void* control_block = nullptr;  ///< a LoopControlBlock
  PeerExchange* peers = nullptr;  ///< how sums go over all ranks; null where the GPU works alone
};

/// Whether loops can run on the device by themselves: false for the host.
[[nodiscard]] bool has_graph_loops(const Device& device);

/// One loop on one GPU.
class GraphLoop {
 public:
  /// \param iterations_per_check per evaluation of the loop's condition, see iterations_per_check()
  /// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
  GraphLoop(const Device& device, std::uint64_t state_bytes, int iterations_per_check);
  GraphLoop(const GraphLoop&) = delete;
  GraphLoop& operator=(const GraphLoop&) = delete;
  ~GraphLoop();

  [[nodiscard]] const LoopFrame& frame() const noexcept;
  /// Whether a graph iterates; otherwise the host launches every operation.
  [[nodiscard]] bool is_graph() const noexcept;

  /// Records what `iteration` puts into the device's stream on this thread; nothing of it runs yet. `iteration` is
  /// called several times, in run() too, and may neither allocate nor wait.
  void record(std::function<void()> iteration);
  /// Instead of record(): `launch` puts a kernel into the device's stream that iterates until the state halts or the
  /// run of the control block is over.
  void run_by_kernel(std::function<void()> launch);

  /// Runs until the state halts or about `iterations` more are done (a few more are possible).
  /// \param state in, when `enter`: where the loop starts; out: where it ended
  /// \returns one entry per iteration, valid until the next call; seconds count from the beginning of this call
  /// \throws CudaError
  std::span<const fused::LoopEntry> run(std::int64_t iterations, void* state, bool enter);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The kernel of a fused operation (fused/ops.hpp) inside a GraphLoop.
template <class Op>
struct LoopOp {
  /// Records op.scalars_before(state), op.apply() for every index in [0, n), op.scalars_after(state, sums). Does
  /// nothing while the state is halted. \param dot_parts on the device, summed into the state's dots first, if there
  /// are any
  static void record(const Device& device, const LoopFrame& frame, std::int64_t n, const Op& op,
                     std::span<const ProductDots> dot_parts);
};

}  // namespace tessera::cuda
