/// \file
/// Streams and the graphs that are recorded from them.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

struct EmulatedStream {
  EmulatedGraph* recorded = nullptr;  ///< where its work goes instead of being done
};

namespace tessera::emulator {

/// Does the work now, or keeps it where the stream is being recorded.
cudaError_t do_or_record(cudaStream_t stream, std::function<cudaError_t()> work);

}  // namespace tessera::emulator
