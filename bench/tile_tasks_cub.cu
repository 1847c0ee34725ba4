#include "bench/tile_tasks_cub.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>

#include <cstddef>
#include <utility>

namespace tessera::bench {

namespace {

/// primitive(storage, bytes), first for the size of its storage.
template <class Primitive>
void run(const Device& device, const char* name, const Primitive& primitive) {
  const cuda::DeviceGuard current(device);
  std::size_t bytes = 0;
  cuda::check(primitive(nullptr, bytes), name);
  Array<std::byte> storage(static_cast<std::int64_t>(bytes), Init::none, device);
  cuda::check(primitive(storage.data(), bytes), name);
}

std::int64_t bring(const Device& device, const Array<int>& count) {
  int result = 0;
  detail::copy_bytes(Device{}, &result, device, count.data(), sizeof(result));
  return result;
}

template <class E>
Array<E> first_of(const Device& device, const Array<E>& from, std::int64_t count, std::int64_t extra = 0) {
  Array<E> result(count + extra, extra > 0 ? Init::zero : Init::none, device);
  detail::copy_bytes(device, result.data(), device, from.data(), static_cast<std::uint64_t>(count) * sizeof(E));
  return result;
}

}  // namespace

void cull(const Device& device, TaskList& list) {
  if (list.count == 0) return;
  const cudaStream_t stream = cuda::Context::of(device).stream();
  Array<int> selected(1, Init::zero, device);
  const auto select = [&](Array<std::uint64_t>& items) {
    Array<std::uint64_t> kept(list.count, Init::none, device);
    run(device, "selecting pairs", [&](void* storage, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(storage, bytes, items.data(), list.meets.data(), kept.data(), selected.data(),
                                        static_cast<int>(list.count), stream);
    });
    items = std::move(kept);
  };
  select(list.keys);
  select(list.pairs);
  list.count = bring(device, selected);
}

void sort_by_key(const Device& device, TaskList& list, int bits) {
  if (list.count == 0) return;
  const cudaStream_t stream = cuda::Context::of(device).stream();
  Array<std::uint64_t> other_keys(list.count, Init::none, device);
  Array<std::uint64_t> other_pairs(list.count, Init::none, device);
  cub::DoubleBuffer<std::uint64_t> keys(list.keys.data(), other_keys.data());
  cub::DoubleBuffer<std::uint64_t> pairs(list.pairs.data(), other_pairs.data());
  run(device, "sorting pairs", [&](void* storage, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(storage, bytes, keys, pairs, static_cast<int>(list.count), 0, bits, stream);
  });
  if (keys.Current() != list.keys.data()) std::swap(list.keys, other_keys);
  if (pairs.Current() != list.pairs.data()) std::swap(list.pairs, other_pairs);
}

void reduce_by_key(const Device& device, const TaskList& list, Array<std::uint64_t>& keys, Array<offset_t>& counts) {
  const cudaStream_t stream = cuda::Context::of(device).stream();
  Array<std::uint64_t> distinct(list.count, Init::none, device);
  Array<offset_t> lengths(list.count, Init::none, device);
  Array<int> runs(1, Init::zero, device);
  if (list.count > 0) {
    run(device, "counting pairs", [&](void* storage, std::size_t& bytes) {
      return cub::DeviceRunLengthEncode::Encode(storage, bytes, list.keys.data(), distinct.data(), lengths.data(),
                                                runs.data(), static_cast<int>(list.count), stream);
    });
  }
  const std::int64_t tiles = bring(device, runs);
  keys = first_of(device, distinct, tiles);
  counts = first_of(device, lengths, tiles, 1);
}

}  // namespace tessera::bench
