/// \file
/// Launches of others in the stream of the library.
#pragma once

#include "tessera/device.hpp"

#include <functional>

struct CUstream_st;

namespace tessera::cuda {

/// Calls work(stream) with the GPU as the current device of this thread and the stream that the library's own launches
/// of this thread go into, which may be being recorded. Does not wait.
/// \throws what work() throws; CudaError where a launch of it failed; DeviceUnavailable in a build without CUDA
void work_in_stream(const Device& device, const std::function<void(CUstream_st* stream)>& work);

}  // namespace tessera::cuda
