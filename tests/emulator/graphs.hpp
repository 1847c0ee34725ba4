/// \file
/// Streams, and graphs recorded from them.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

struct CUstream_st {
  EmulatedGraph* recorded = nullptr;  ///< receives its work instead of running it
};

namespace tessera::emulator {

/// Does the work now, or records it while the stream is being recorded.
cudaError_t do_or_record(cudaStream_t stream, std::function<cudaError_t()> work);

}  // namespace tessera::emulator
