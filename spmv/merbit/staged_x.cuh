#pragma once
#include "spmv/merbit/hub_columns.cuh"
namespace tessera::cuda {
template <class T>
struct StagedGather {
  static constexpr bool reads_hubs = true;
  const T* x;
  const T* packed_end;
  index_t cols;
  index_t hot;
  index_t room;
  index_t first = 0;
  unsigned count = 0;
  const T* staged = nullptr;

  __device__ T operator()(index_t code) const {
    T value{0};
    if (static_cast<unsigned>(code - first) >= count) value = __ldg((is_hub_code(code) ? packed_end : x) + code);
    return value;
  }
  __device__ void complete(index_t code, T& value) const {
    const auto at = static_cast<unsigned>(code - first);
    if (at < count) value = staged[at];
  }
  template <int Threads>
  __device__ void stage(T* to, index_t begin_row, index_t end_row) {
    const T* from;
    if (hot > 0) {
      first = -hot;
      count = static_cast<unsigned>(hot);
      from = packed_end + first;
    } else {
      const index_t middle = static_cast<index_t>((std::int64_t{begin_row} + end_row) / 2) - room / 2;
      const index_t last = cols - room > 0 ? cols - room : 0;
      first = middle < 0 ? 0 : middle < last ? middle : last;
      count = static_cast<unsigned>(room < cols ? room : cols);
      from = x + first;
    }
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < count; i += Threads) to[i] = __ldg(from + i);
    staged = to;
    __syncthreads();
  }
};
}  // namespace tessera::cuda
