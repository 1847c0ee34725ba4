#include "core/cuda/cub_primitives.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <cstddef>
#include <string_view>
#include <utility>

namespace tessera::cuda {

namespace {

/// CUB's protocol: the first call asks for the bytes of temporary storage, the second one does the work.
/// \param call (void* storage, std::size_t& bytes, cudaStream_t) -> cudaError_t
template <class Call>
void with_storage(const Device& device, std::string_view name, const Call& call) {
  const cudaStream_t stream = Context::of(device).stream();
  const DeviceGuard current(device);
  std::size_t bytes = 0;
  check(call(nullptr, bytes, stream), name);
  Array<std::byte> storage(static_cast<std::int64_t>(bytes), Init::none, device);
  check(call(storage.data(), bytes, stream), name);
}

}  // namespace

void cub_exclusive_sum(const Device& device, std::span<offset_t> counts) {
  with_storage(device, "exclusive sum", [&](void* storage, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(storage, bytes, counts.data(), counts.data(),
                                         static_cast<std::int64_t>(counts.size()), stream);
  });
}

void cub_sort_keys(const Device& device, Array<std::uint64_t>& keys, Array<std::uint64_t>& other, std::uint32_t count,
                   int begin, int end) {
  cub::DoubleBuffer<std::uint64_t> buffers(keys.data(), other.data());
  with_storage(device, "radix sort", [&](void* storage, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(storage, bytes, buffers, count, begin, end, stream);
  });
  if (buffers.Current() != keys.data()) std::swap(keys, other);
}

}  // namespace tessera::cuda
