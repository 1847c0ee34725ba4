/// \file
/// A thread block of a persistent kernel: its part of the matrix, the state of the loop, sums of all blocks, and
/// elements of vectors that it hands over to the blocks that read them.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/persistent/grid_reduction.cuh"
#include "solvers/persistent/part_in_shared_memory.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// Shared memory of a block; a method adds its vectors. Without memory (null) it counts.
template <class T, class State>
struct PersistentSpace {
  SharedSpace space;
  PartSize most;
  GridReduction::TempStorage* temp_storage;
  State* state;
  SharedPart<T> part;

  TESSERA_HOST_DEVICE PersistentSpace(unsigned char* base, const PartSize& most_of_part)
      : space(base),
        most(most_of_part),
        temp_storage(space.take<GridReduction::TempStorage>(1)),
        state(space.take<State>(1)),
        part(space, most) {}

 protected:
  [[nodiscard]] TESSERA_HOST_DEVICE T* own_rows() { return space.take<T>(static_cast<std::size_t>(most.rows)); }
  [[nodiscard]] TESSERA_HOST_DEVICE T* halo() { return space.take<T>(static_cast<std::size_t>(most.halo)); }
  [[nodiscard]] TESSERA_HOST_DEVICE T* extended() {
    return space.take<T>(static_cast<std::size_t>(most.rows + most.halo));
  }
  /// An extended vector that the matrix is multiplied by: with one element more, which is 0.
  [[nodiscard]] TESSERA_HOST_DEVICE T* multiplied() {
    return space.take<T>(static_cast<std::size_t>(most.rows + most.halo) + 1);
  }
};

/// x[i], if there is an x.
template <class T>
[[nodiscard]] __device__ T element_or(const T* x, index_t i, T otherwise) {
  return x == nullptr ? otherwise : x[i];
}

/// Copies the state of a loop by the threads of a block.
template <class State>
__device__ void copy_state(State* to, const State* from) {
  static_assert(sizeof(State) % sizeof(int) == 0);
  for_each_index(0, static_cast<std::int32_t>(sizeof(State) / sizeof(int)),
                 [&](std::int32_t i) { reinterpret_cast<int*>(to)[i] = reinterpret_cast<const int*>(from)[i]; });
}

/// Base of the blocks. \tparam Space derived from PersistentSpace
template <class T, class State, class Space, int Lanes>
class PersistentBlock {
 protected:
  /// \param more that Space takes
  template <class... More>
  __device__ PersistentBlock(const PersistentTask<T>& task, State* global_state, More... more)
      : task_(task),
        space_(dynamic_shared_memory(), task.most, more...),
        reduction_(task.lines, task.number, *space_.temp_storage),
        global_state_(global_state) {}

  [[nodiscard]] __device__ State& state() const { return *space_.state; }
  [[nodiscard]] __device__ const SharedPart<T>& part() const { return space_.part; }

  /// The part and the state. Before any other.
  __device__ void load_part() {
    space_.part.load(task_);
    copy_state(space_.state, global_state_);
  }
  /// After load_part() and a barrier. \param multiplied vectors of Space::multiplied()
  template <class... Vectors>
  __device__ void load_registers(Vectors*... multiplied) {
    registers_.load(part(), static_cast<std::uint32_t>(part().extended()));
    if (threadIdx.x == 0) ((multiplied[part().extended()] = 0), ...);
  }

  /// Calls each(i, element i of A x), by one thread each.
  template <class Each>
  __device__ void multiply(const T* x, const Each& each) const {
    registers_.multiply(part(), x, each);
  }

  /// For the blocks that read row i of the part, with the reduction that comes next. \param vector 0 or 1
  __device__ void give(std::int32_t i, T value, int vector) const {
    const index_t row = part().first + i;
    if (task_.is_shared[row] == 0) return;
    hand_over(handed(row, vector), static_cast<double>(value), reduction_.next_number());
  }
  /// By whole warps. \param to elements of the halo
  __device__ void take_over_halo(T* to, int vector, std::uint64_t number, const Share& share) const {
    constexpr int ahead = 2;
    take_over<ahead>(
        share, part().halo(), number, [&](int i) { return handed(part().halo_columns[i], vector); },
        [&](int i, double value) { to[i] = static_cast<T>(value); });
  }

  /// Records the iteration that has just ended: by a thread that has few rows, while the others go on.
  __device__ void record_iteration() const { record_iteration(state().iteration - 1); }
  /// The same where it may have broken down. \param before iterations completed before
  __device__ void record_iteration(std::int64_t before) const {
    if (blockIdx.x == 0 && threadIdx.x + 1 == blockDim.x) close_operation(state(), before, *task_.control);
  }
  [[nodiscard]] __device__ bool run_is_over() const { return state().iteration >= task_.control->pause_at; }

  __device__ void store_vector(T* global, const T* shared) const {
    for_each_index(0, part().rows(), [&](std::int32_t i) { global[part().first + i] = shared[i]; });
  }
  __device__ void store_state() const {
    if (blockIdx.x == 0) copy_state(global_state_, space_.state);
  }

  const PersistentTask<T>& task_;
  Space space_;
  GridReduction reduction_;

 private:
  [[nodiscard]] __device__ NumberedWord* handed(index_t row, int vector) const {
    return task_.elements + static_cast<std::int64_t>(vector) * task_.rows + row;
  }

  State* global_state_;
  RowsInRegisters<T, Lanes> registers_;
};

}  // namespace tessera::cuda
