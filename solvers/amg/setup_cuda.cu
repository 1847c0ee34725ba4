/// Kernels of AMG's set-up that are no row operations: filtered rows, lists of undecided rows, the dense inverse of the
/// coarsest level, and the clock of the phases.
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "solvers/amg/aggregation.hpp"
#include "solvers/amg/coarsest.hpp"
#include "solvers/amg/phase_clock.hpp"
#include "solvers/amg/strength.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;

/// A group of lanes per row; the ballot tells where the strong entries of a step go.
template <int Lanes, class T>
__global__ void __launch_bounds__(threads) fill_strong_kernel(RowSet rows, StrongRows<T> strong) {
  const std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int first_lane = static_cast<int>(threadIdx.x) % warp_size - lane;
  const unsigned group = Lanes == warp_size ? full_warp : ((1u << (Lanes % warp_size)) - 1) << first_lane;
  const bool exists = i < rows.rows;
  const auto row = static_cast<index_t>(exists ? rows.first + i : 0);
  const offset_t begin = strong.a.offsets[row];
  const offset_t end = exists ? strong.a.offsets[row + 1] : begin;
  offset_t at = strong.filtered_offsets[row];
  for (offset_t first = begin; __any_sync(full_warp, first < end); first += Lanes) {
    const offset_t k = first + lane;
    const bool keeps = k < end && strong.keeps(row, k);
    const unsigned kept = __ballot_sync(full_warp, keeps) & group;
    if (keeps) strong.store(row, k, at + __popc(kept & ((1u << (first_lane + lane)) - 1)));
    at += __popc(kept);
  }
}

constexpr int listed_per_thread = 8;

/// Every warp takes consecutive rows and keeps their order, so that later passes read neighbouring rows together. Every
/// block takes its part of the list with one atomic addition.
__global__ void __launch_bounds__(threads)
    list_undecided_kernel(const std::uint32_t* words, RowSet from, index_t* to, unsigned long long* found) {
  __shared__ int of_warp[threads / warp_size];
  __shared__ unsigned long long start;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::int64_t first = (std::int64_t{blockIdx.x} * threads + (threadIdx.x - lane)) * listed_per_thread + lane;
  index_t rows[listed_per_thread];
  unsigned undecided[listed_per_thread];
  int own = 0;
#pragma unroll
  for (int j = 0; j < listed_per_thread; ++j) {
    const std::int64_t i = first + j * warp_size;
    rows[j] = i >= from.rows ? 0 : from.list == nullptr ? static_cast<index_t>(from.first + i) : from.list[i];
    undecided[j] = __ballot_sync(full_warp, i < from.rows && mis_state(words[rows[j]]) == MisState::undecided);
    own += __popc(undecided[j]);
  }
  const BlockSum<int> sum = running_sum_in_block<threads>(lane == 0 ? own : 0, of_warp);
  if (threadIdx.x == 0) start = sum.total > 0 ? atomicAdd(found, static_cast<unsigned long long>(sum.total)) : 0;
  __syncthreads();
  std::int64_t at = static_cast<std::int64_t>(start) + __shfl_sync(full_warp, sum.before, 0);
#pragma unroll
  for (int j = 0; j < listed_per_thread; ++j) {
    if ((undecided[j] >> lane & 1) != 0) to[at + __popc(undecided[j] & ((1u << lane) - 1))] = rows[j];
    at += __popc(undecided[j]);
  }
}

constexpr int inverse_threads = 1024;

/// Gauss-Jordan elimination by one block. \param work n x n elements, where shared memory does not hold them
template <class T>
__global__ void __launch_bounds__(inverse_threads)
    dense_inverse_kernel(int n, CsrPointers<T> a, const T* diagonal, T* work, T* result, bool is_shared) {
  T* const vectors = reinterpret_cast<T*>(dynamic_shared_memory());
  T* const matrix = is_shared ? vectors + 2 * n : work;
  T* const pivot_row = vectors;
  T* const pivot_column = vectors + n;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_size;
  // A warp per row.
  const auto for_each_element = [=](const auto& body) {
    for (int i = thread / warp_size; i < n; i += inverse_threads / warp_size) {
      for (int j = lane; j < n; j += warp_size) body(i, j);
    }
  };
  for_each_element([=](int i, int j) { matrix[i * n + j] = T{0}; });
  __syncthreads();
  for (int row = thread; row < n; row += inverse_threads) {
    for (offset_t k = a.offsets[row]; k < a.offsets[row + 1]; ++k) matrix[row * n + a.columns[k]] = value_at(a, k);
  }
  __syncthreads();
  for (int p = 0; p < n; ++p) {
    const T inverse = inverse_of_pivot(matrix[p * n + p], diagonal[p]);
    for (int j = thread; j < n; j += inverse_threads) {
      pivot_row[j] = fused::rounded_product(matrix[p * n + j], inverse);
      pivot_column[j] = matrix[j * n + p];
    }
    __syncthreads();
    for_each_element([=](int i, int j) {
      T& element = matrix[i * n + j];
      element = eliminated(i, j, p, inverse, element, pivot_column[i], pivot_row[j]);
    });
    __syncthreads();
  }
  for_each_element([=](int i, int j) { result[i * n + j] = matrix[i * n + j]; });
}

}  // namespace

template <class T>
void fill_strong(const Device& device, const RowSet& rows, const detail::StrongRows<T>& strong) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  with_lanes(rows.lanes, [&](auto lanes) {
    launch("filtered rows", context, Grid{blocks_for(rows.rows, threads / lanes()), threads},
           fill_strong_kernel<lanes(), T>, rows, strong);
  });
}

template void fill_strong(const Device&, const RowSet&, const detail::StrongRows<float>&);
template void fill_strong(const Device&, const RowSet&, const detail::StrongRows<double>&);

void list_undecided(const Device& device, const std::uint32_t* words, const RowSet& from, index_t* to,
                    std::int64_t* found) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  zero_bytes(device, found, sizeof(std::int64_t));
  if (from.rows == 0) return;
  launch("list of undecided rows", context, Grid{blocks_for(from.rows, threads * listed_per_thread), threads},
         list_undecided_kernel, words, from, to, reinterpret_cast<unsigned long long*>(found));
}

template <class T>
Array<T> dense_inverse(const Device& device, const CsrView<T>& a, const T* diagonal) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const std::int64_t elements = std::int64_t{a.rows} * a.rows;
  Array<T> result(elements, Init::none, device);
  const std::int64_t vectors = 2 * std::int64_t{a.rows} * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t all = vectors + elements * static_cast<std::int64_t>(sizeof(T));
  const bool is_shared = all <= context.limits().largest_shared_per_block;
  Array<T> work(is_shared ? 0 : elements, Init::none, device);
  const auto bytes = static_cast<std::size_t>(is_shared ? all : vectors);
  check(cudaFuncSetAttribute(dense_inverse_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(context.limits().largest_shared_per_block)),
        "asking for shared memory");
  launch("inverse of the coarsest matrix", context, Grid{1, inverse_threads, bytes}, dense_inverse_kernel<T>,
         static_cast<int>(a.rows), pointers_of(a), diagonal, work.data(), result.data(), is_shared);
  return result;
}

template Array<float> dense_inverse(const Device&, const CsrView<float>&, const float*);
template Array<double> dense_inverse(const Device&, const CsrView<double>&, const double*);

EventClock::EventClock(const Device& device) : device_(device) {}

EventClock::~EventClock() {
  for (void* event : events_) static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(event)));
}

void EventClock::mark() {
  const DeviceGuard current(device_);
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "making an event");
  events_.push_back(event);
  check(cudaEventRecord(event, Context::of(device_).stream()), "recording an event");
}

std::vector<double> EventClock::milliseconds() const {
  std::vector<double> result;
  for (std::size_t i = 0; i + 1 < events_.size(); ++i) {
    float ms = 0;
    check(cudaEventSynchronize(static_cast<cudaEvent_t>(events_[i + 1])), "waiting for an event");
    check(cudaEventElapsedTime(&ms, static_cast<cudaEvent_t>(events_[i]), static_cast<cudaEvent_t>(events_[i + 1])),
          "time between events");
    result.push_back(static_cast<double>(ms));
  }
  return result;
}

}  // namespace tessera::cuda
