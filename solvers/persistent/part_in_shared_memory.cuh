/// \file
/// A part of a matrix in shared memory, its product, and what else the blocks of persistent kernels have in
/// common.
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/persistent/grid_reduction.cuh"
#include "solvers/persistent/parts.hpp"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// A matrix and its parts, as kernels see them.
template <class T>
struct PersistentTask {
  const offset_t* row_offsets;
  const T* values;  ///< null: a pattern matrix
  const std::uint16_t* numbers;
  const index_t* first_rows;
  const PartSize* sizes;
  const index_t* halo;
  const std::uint8_t* is_shared;
  PartSize most;
  LoneWord* words;
  NumberedWord* elements;  ///< 2 n, which hand over elements of two vectors
  index_t rows;
  std::uint64_t number;  ///< of the latest reduction before the launch
  LoopControlBlock* control;
};

/// Gives out shared memory, 16 bytes at a time. From a null pointer it counts.
class SharedSpace {
 public:
  TESSERA_HOST_DEVICE explicit SharedSpace(unsigned char* base) : base_(base) {}

  template <class U>
  [[nodiscard]] TESSERA_HOST_DEVICE U* take(std::size_t count) {
    auto* const taken = reinterpret_cast<U*>(base_ + used_);
    used_ += (count * sizeof(U) + 15) / 16 * 16;
    return taken;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE std::size_t used() const { return used_; }

 private:
  unsigned char* base_;
  std::size_t used_ = 0;
};

/// Rows of the block in shared memory.
template <class T>
struct SharedPart {
  T* values;
  std::int32_t* offsets;
  std::uint16_t* numbers;
  index_t first = 0;
  std::int32_t rows = 0;
  std::int32_t halo = 0;
  const index_t* halo_columns = nullptr;

  TESSERA_HOST_DEVICE SharedPart(SharedSpace& space, const PartSize& most)
      : values(space.take<T>(static_cast<std::size_t>(most.entries))),
        offsets(space.take<std::int32_t>(static_cast<std::size_t>(most.rows) + 1)),
        numbers(space.take<std::uint16_t>(static_cast<std::size_t>(most.entries))) {}

  [[nodiscard]] __device__ std::int32_t extended() const { return rows + halo; }
  /// Row of element i of an extended vector.
  [[nodiscard]] __device__ index_t row(std::int32_t i) const { return i < rows ? first + i : halo_columns[i - rows]; }

  __device__ void load(const PersistentTask<T>& task) {
    first = task.first_rows[blockIdx.x];
    rows = task.sizes[blockIdx.x].rows;
    halo = task.sizes[blockIdx.x].halo;
    const offset_t begin = task.row_offsets[first];
    halo_columns = task.halo + begin;
    const auto threads = static_cast<std::int32_t>(blockDim.x);
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t entries = task.sizes[blockIdx.x].entries;
    for (std::int32_t k = thread; k < entries; k += threads) {
      values[k] = task.values == nullptr ? T{1} : task.values[begin + k];
      numbers[k] = task.numbers[begin + k];
    }
    for (std::int32_t i = thread; i <= rows; i += threads) {
      offsets[i] = static_cast<std::int32_t>(task.row_offsets[first + i] - begin);
    }
  }

  /// Calls each(i, element i of A x) in one of the threads of row i. All threads of the block. \tparam Lanes per row
  template <int Lanes, class Each>
  __device__ void multiply(const T* x, const Each& each) const {
    const int lane = static_cast<int>(threadIdx.x) % Lanes;
    const std::int32_t at_once = static_cast<std::int32_t>(blockDim.x) / Lanes;
    for (std::int32_t base = 0; base < rows; base += at_once) {
      const std::int32_t row = base + static_cast<std::int32_t>(threadIdx.x) / Lanes;
      T sum = row < rows ? row_sum<Lanes>(x, row, lane) : T{0};
#pragma unroll
      for (int step = Lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(full_warp, sum, step);
      if (row < rows && lane == 0) each(row, sum);
    }
  }

 private:
  template <int Lanes>
  [[nodiscard]] __device__ T row_sum(const T* x, std::int32_t row, int lane) const {
    constexpr int ahead = 4;  // loads under way
    const std::int32_t end = offsets[row + 1];
    std::int32_t k = offsets[row] + lane;
    T sum{0};
    for (; k + (ahead - 1) * Lanes < end; k += ahead * Lanes) {
      T value[ahead];
      T element[ahead];
#pragma unroll
      for (int j = 0; j < ahead; ++j) {
        value[j] = values[k + j * Lanes];
        element[j] = x[numbers[k + j * Lanes]];
      }
#pragma unroll
      for (int j = 0; j < ahead; ++j) sum += value[j] * element[j];
    }
    for (; k < end; k += Lanes) sum += values[k] * x[numbers[k]];
    return sum;
  }
};

/// x[i], if there is an x.
template <class T>
[[nodiscard]] __device__ T element_or(const T* x, index_t i, T otherwise) {
  return x == nullptr ? otherwise : x[i];
}

/// Calls body(i) for i in [begin, end), by the threads of the block.
template <class Body>
__device__ void for_each_index(std::int32_t begin, std::int32_t end, const Body& body) {
  for (std::int32_t i = begin + static_cast<std::int32_t>(threadIdx.x); i < end;
       i += static_cast<std::int32_t>(blockDim.x)) {
    body(i);
  }
}

/// Copies the state of a loop by the threads of a block.
template <class State>
__device__ void copy_state(State* to, const State* from) {
  static_assert(sizeof(State) % sizeof(int) == 0);
  for_each_index(0, static_cast<std::int32_t>(sizeof(State) / sizeof(int)),
                 [&](std::int32_t i) { reinterpret_cast<int*>(to)[i] = reinterpret_cast<const int*>(from)[i]; });
}

}  // namespace tessera::cuda
