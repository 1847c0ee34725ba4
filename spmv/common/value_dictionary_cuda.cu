/// \file
/// Value dictionary on a GPU: one block looks at a sample; then every value is looked up, and new ones enter a hash
/// table by compare-and-swap. The host sorts what was found.
#include "core/cuda/reduce.cuh"
#include "spmv/common/value_dictionary.hpp"

#include <algorithm>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 256;
constexpr int sampled_per_thread = static_cast<int>(sampled_values / threads);
/// Loads of a thread that are under way at once.
constexpr int values_at_once = 8;

/// A key as atomics take it.
using Key = unsigned long long;
static_assert(sizeof(Key) == sizeof(std::uint64_t));

/// \returns whether the key is new. A full table takes none: then there are too many anyway.
__device__ bool insert_key(Key* keys, Key key) {
  unsigned slot = dictionary_slot(key);
  for (unsigned probe = 0; probe < dictionary_slots; ++probe) {
    const Key there = atomicCAS(keys + slot, Key{0}, key);
    if (there == 0) return true;
    if (there == key) return false;
    slot = (slot + 1) % dictionary_slots;
  }
  return false;
}

[[nodiscard]] __device__ bool holds_key(const Key* keys, Key key) {
  unsigned slot = dictionary_slot(key);
  for (unsigned probe = 0; probe < dictionary_slots && keys[slot] != 0; ++probe) {
    if (keys[slot] == key) return true;
    slot = (slot + 1) % dictionary_slots;
  }
  return false;
}

/// Inserts a key and counts it, unless there are too many already. \param key 0 is one too many by itself
__device__ void count_key(Key* keys, int* distinct, Key key) {
  if (*static_cast<volatile int*>(distinct) > most_dictionary_values) return;
  if (key == 0) {
    atomicAdd(distinct, most_dictionary_values + 1);
  } else if (insert_key(keys, key)) {
    atomicAdd(distinct, 1);
  }
}

/// One block. \param keys dictionary_slots in global memory, if they are to be kept
template <class T>
__global__ void __launch_bounds__(threads)
    sample_values_kernel(std::int64_t n, const T* values, ValueSample* to, Key* keys) {
  __shared__ Key found[dictionary_slots];
  __shared__ int distinct;
  __shared__ int not_as_float;
  const auto thread = static_cast<int>(threadIdx.x);
  for (unsigned slot = threadIdx.x; slot < dictionary_slots; slot += threads) found[slot] = 0;
  if (thread == 0) distinct = not_as_float = 0;
  const std::int64_t sampled = n < sampled_values ? n : sampled_values;
  T value[sampled_per_thread];
#pragma unroll
  for (int r = 0; r < sampled_per_thread; ++r) {
    const int number = r * threads + thread;
    value[r] = number < sampled ? __ldg(values + sampled_position(number, sampled, n)) : T{0};
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < sampled_per_thread; ++r) {
    if (r * threads + thread >= sampled) break;
    count_key(found, &distinct, dictionary_key(value[r]));
    if (!is_float(value[r])) atomicAdd(&not_as_float, 1);
  }
  __syncthreads();
  if (thread == 0) *to = {distinct, not_as_float};
  if (keys == nullptr) return;
  for (unsigned slot = threadIdx.x; slot < dictionary_slots; slot += threads) keys[slot] = found[slot];
}

/// Adds what the sample missed. \param keys with those of the sample
template <class T>
__global__ void __launch_bounds__(threads)
    every_value_kernel(std::int64_t n, const T* values, Key* keys, int* distinct) {
  __shared__ Key known[dictionary_slots];
  for (unsigned slot = threadIdx.x; slot < dictionary_slots; slot += threads) known[slot] = keys[slot];
  __syncthreads();
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  Key last = 0;
  for (std::int64_t k = std::int64_t{blockIdx.x} * threads + threadIdx.x; k < n; k += values_at_once * stride) {
    T value[values_at_once];
#pragma unroll
    for (int i = 0; i < values_at_once; ++i) value[i] = k + i * stride < n ? __ldcs(values + k + i * stride) : T{0};
#pragma unroll
    for (int i = 0; i < values_at_once; ++i) {
      if (k + i * stride >= n) break;
      const Key key = dictionary_key(value[i]);
      if ((key == last && key != 0) || (key != 0 && holds_key(known, key))) continue;
      count_key(keys, distinct, key);
      last = key;
    }
    if (*static_cast<volatile int*>(distinct) > most_dictionary_values) return;
  }
}

/// What the kernels write: keys, then the sample.
struct FoundKeys {
  Key keys[dictionary_slots];
  ValueSample sample;
};

}  // namespace

template <class T>
void enqueue_value_sample(const Device& device, std::span<const T> values, ValueSample* to) {
  const DeviceGuard current(device);
  launch("sample of values", Context::of(device), Grid{1, threads}, sample_values_kernel<T>,
         static_cast<std::int64_t>(values.size()), values.data(), to, static_cast<Key*>(nullptr));
}

template <class T>
std::optional<ValueDictionary<T>> find_value_dictionary(const Device& device, std::span<const T> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  if (n == 0) return std::nullopt;
  const Context& context = Context::of(device);
  Array<FoundKeys> on_device(1, Init::none, device);
  FoundKeys* const found = on_device.data();
  {
    const DeviceGuard current(device);
    launch("sample of values", context, Grid{1, threads}, sample_values_kernel<T>, n, values.data(), &found->sample,
           found->keys);
    ValueSample sample;
    copy_bytes(Device{}, &sample, device, &found->sample, sizeof(sample));
    if (!sample.promises_dictionary()) return std::nullopt;
    const unsigned enough = static_cast<unsigned>(context.multiprocessors() * 8);
    launch("distinct values", context, Grid{std::min(enough, blocks_for(n, threads * values_at_once)), threads},
           every_value_kernel<T>, n, values.data(), found->keys, &found->sample.distinct);
  }
  const Array<FoundKeys> here = on_device.to(Device{});
  if (!here[0].sample.promises_dictionary()) return std::nullopt;
  std::vector<std::uint64_t> keys;
  std::copy_if(std::begin(here[0].keys), std::end(here[0].keys), std::back_inserter(keys),
               [](Key key) { return key != 0; });
  return dictionary_of<T>(std::move(keys), device);
}

bool are_floats(const Device& device, std::span<const double> values) {
  const double* const from = values.data();
  const auto others =
      fused_sum<1>(device, static_cast<std::int64_t>(values.size()), [=] __device__(std::int64_t k, double* sums) {
        if (!is_float(from[k])) sums[0] += 1.0;
      });
  return others[0] == 0.0;
}

template void enqueue_value_sample(const Device&, std::span<const float>, ValueSample*);
template void enqueue_value_sample(const Device&, std::span<const double>, ValueSample*);
template std::optional<ValueDictionary<float>> find_value_dictionary(const Device&, std::span<const float>);
template std::optional<ValueDictionary<double>> find_value_dictionary(const Device&, std::span<const double>);

}  // namespace tessera::cuda
