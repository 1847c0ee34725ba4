#include "bench/primitives_segmented.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"

#include <cub/device/device_segmented_radix_sort.cuh>

#include <cstddef>
#include <utility>

namespace tessera::bench {

void cub_sort_segments(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other,
                       std::span<const offset_t> begins, int begin, int end) {
  cub::DoubleBuffer<std::uint64_t> buffers(keys.data(), other.data());
  const auto sort = [&](void* storage, std::size_t& bytes) {
    return cub::DeviceSegmentedRadixSort::SortKeys(storage, bytes, buffers, static_cast<int>(keys.size()),
                                                   static_cast<int>(begins.size() - 1), begins.data(),
                                                   begins.data() + 1, begin, end, cuda::Context::of(device).stream());
  };
  std::size_t bytes = 0;
  cuda::check(sort(nullptr, bytes), "segmented radix sort");
  Array<std::byte> storage(static_cast<std::int64_t>(bytes), Init::none, device);
  cuda::check(sort(storage.data(), bytes), "segmented radix sort");
  if (buffers.Current() != keys.data()) std::swap(keys, other);
}

}  // namespace tessera::bench
