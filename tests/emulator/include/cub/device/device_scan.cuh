/// \file
/// Stands in for CUB's header of the same name: the calls of the sources, on the emulated device.
#pragma once

#include "tests/emulator/library_call.hpp"

namespace cub {

struct DeviceScan {
  template <class Value>
  static cudaError_t ExclusiveSum(void* storage, std::size_t& bytes, const Value* from, Value* to, std::int64_t count,
                                  cudaStream_t stream) {
    return tessera::emulator::library_call(storage, bytes, stream, [=] {
      Value sum{};
      for (std::int64_t i = 0; i < count; ++i) {
        const Value value = from[i];
        to[i] = sum;
        sum += value;
      }
    });
  }
};

}  // namespace cub
