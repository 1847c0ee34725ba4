#include "core/cuda/stream_work.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"

namespace tessera::cuda {

void work_in_stream(const Device& device, const std::function<void(CUstream_st* stream)>& work) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  work(context.stream());
  check(cudaGetLastError(), "launching the kernels of an operator");
}

}  // namespace tessera::cuda
