/// \file
/// A part of a matrix in shared memory and, as far as it goes, in registers; its product.
#pragma once

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
  SumLine* lines;
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

/// Calls body(i) for i in [begin, end), by the threads of the block.
template <class Body>
__device__ void for_each_index(std::int32_t begin, std::int32_t end, const Body& body) {
  for (std::int32_t i = begin + static_cast<std::int32_t>(threadIdx.x); i < end;
       i += static_cast<std::int32_t>(blockDim.x)) {
    body(i);
  }
}

/// Rows of the block in shared memory.
template <class T>
struct SharedPart {
  T* values;
  std::int32_t* offsets;
  std::uint16_t* numbers;
  index_t first = 0;
  PartSize size;
  const index_t* halo_columns = nullptr;

  TESSERA_HOST_DEVICE SharedPart(SharedSpace& space, const PartSize& most)
      : values(space.take<T>(static_cast<std::size_t>(most.entries))),
        offsets(space.take<std::int32_t>(static_cast<std::size_t>(most.rows) + 1)),
        numbers(space.take<std::uint16_t>(static_cast<std::size_t>(most.entries))) {}

  [[nodiscard]] __device__ std::int32_t rows() const { return size.rows; }
  [[nodiscard]] __device__ std::int32_t halo() const { return size.halo; }
  [[nodiscard]] __device__ std::int32_t extended() const { return size.rows + size.halo; }
  /// Row of element i of an extended vector.
  [[nodiscard]] __device__ index_t row(std::int32_t i) const {
    return i < size.rows ? first + i : halo_columns[i - size.rows];
  }

  __device__ void load(const PersistentTask<T>& task) {
    first = task.first_rows[blockIdx.x];
    size = task.sizes[blockIdx.x];
    const offset_t begin = task.row_offsets[first];
    halo_columns = task.halo + begin;
    for_each_index(0, size.entries, [&](std::int32_t k) {
      values[k] = task.values == nullptr ? T{1} : task.values[begin + k];
      numbers[k] = task.numbers[begin + k];
    });
    for_each_index(0, size.rows + 1, [&](std::int32_t i) {
      offsets[i] = static_cast<std::int32_t>(task.row_offsets[first + i] - begin);
    });
  }

  /// Calls each(i, element i of A x) in one of the threads of row i, for rows from `from` on. All threads of the block.
  /// \tparam Lanes per row
  template <int Lanes, class Each>
  __device__ void multiply(const T* x, std::int32_t from, const Each& each) const {
    const std::int32_t at_once = static_cast<std::int32_t>(blockDim.x) / Lanes;
    for (std::int32_t base = from; base < size.rows; base += at_once) {
      const std::int32_t row = base + static_cast<std::int32_t>(threadIdx.x) / Lanes;
      give_row<Lanes>(row, row < size.rows ? sum_from<Lanes>(x, row, 0) : T{0}, each);
    }
  }

  /// Sum of every Lanes-th term of a row, from the term `begin` of the lane on.
  template <int Lanes>
  [[nodiscard]] __device__ T sum_from(const T* x, std::int32_t row, std::int32_t begin) const {
    constexpr int ahead = 4;  // loads under way
    const std::int32_t end = offsets[row + 1];
    std::int32_t k = offsets[row] + begin * Lanes + static_cast<std::int32_t>(threadIdx.x) % Lanes;
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

  /// Adds the sums of the lanes of a row.
  template <int Lanes, class Each>
  __device__ void give_row(std::int32_t row, T sum, const Each& each) const {
#pragma unroll
    for (int step = Lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(full_warp, sum, step);
    if (row < size.rows && threadIdx.x % Lanes == 0) each(row, sum);
  }
};

/// The first terms of the rows that a thread multiplies first: the whole part where it is small and its rows are short.
/// Shared memory then serves the elements of x alone.
template <class T, int Lanes>
class RowsInRegisters {
 public:
  static constexpr int rounds = 2;
  static constexpr int terms = 8;

  /// \param zero number of an element of x that is 0
  __device__ void load(const SharedPart<T>& part, std::uint32_t zero) {
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      const std::int32_t row = first_row(round) + static_cast<std::int32_t>(threadIdx.x) / Lanes;
      const bool is_row = row < part.rows();
      const std::int32_t begin = is_row ? part.offsets[row] + static_cast<std::int32_t>(threadIdx.x) % Lanes : 0;
      const std::int32_t end = is_row ? part.offsets[row + 1] : 0;
#pragma unroll
      for (int j = 0; j < terms; ++j) {
        const std::int32_t k = begin + j * Lanes;
        values_[round][j] = k < end ? part.values[k] : T{0};
        const std::uint32_t number = k < end ? part.numbers[k] : zero;
        std::uint32_t& two = numbers_[round][j / 2];
        two = j % 2 == 0 ? number : two | number << 16;
      }
    }
  }

  /// As SharedPart::multiply().
  template <class Each>
  __device__ void multiply(const SharedPart<T>& part, const T* x, const Each& each) const {
    const bool is_whole = part.size.longest <= terms * Lanes;
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      if (first_row(round) >= part.rows()) return;
      const std::int32_t row = first_row(round) + static_cast<std::int32_t>(threadIdx.x) / Lanes;
      T sum{0};
#pragma unroll
      for (int j = 0; j < terms; ++j) {
        const std::uint32_t two = numbers_[round][j / 2];
        sum += values_[round][j] * x[j % 2 == 0 ? two & 0xffffU : two >> 16];
      }
      if (!is_whole && row < part.rows()) sum += part.template sum_from<Lanes>(x, row, terms);
      part.template give_row<Lanes>(row, sum, each);
    }
    part.template multiply<Lanes>(x, first_row(rounds), each);
  }

 private:
  [[nodiscard]] __device__ static std::int32_t first_row(int round) {
    return round * (static_cast<std::int32_t>(blockDim.x) / Lanes);
  }

  T values_[rounds][terms];
  std::uint32_t numbers_[rounds][terms / 2];  ///< two each, 16 bits
};

}  // namespace tessera::cuda
