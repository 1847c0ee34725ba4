/// \file
/// Stands in for CUB's header of the same name: the calls of the sources, on the emulated device.
#pragma once

#include "tests/emulator/library_call.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace cub {

template <class Value>
struct DoubleBuffer {
  DoubleBuffer(Value* current, Value* alternate) : d_buffers{current, alternate} {}
  [[nodiscard]] Value* Current() { return d_buffers[selector]; }
  [[nodiscard]] Value* Alternate() { return d_buffers[selector ^ 1]; }

  Value* d_buffers[2];
  int selector = 0;
};

struct DeviceRadixSort {
  /// As on a GPU, the result changes buffers in every pass over a digit of 8 bits, and the other buffer is lost.
  template <class Key, class Count>
  static cudaError_t SortKeys(void* storage, std::size_t& bytes, DoubleBuffer<Key>& keys, Count count, int begin_bit,
                              int end_bit, cudaStream_t stream) {
    Key* const current = keys.Current();
    Key* const alternate = keys.Alternate();
    const bool odd = (end_bit - begin_bit + 7) / 8 % 2 != 0;
    if (storage != nullptr && odd) keys.selector ^= 1;
    return tessera::emulator::library_call(storage, bytes, stream, [=] {
      const auto n = static_cast<std::size_t>(count);
      const Key mask = end_bit - begin_bit == std::numeric_limits<Key>::digits
                           ? static_cast<Key>(~Key{0})
                           : static_cast<Key>((Key{1} << (end_bit - begin_bit)) - 1);
      std::stable_sort(current, current + n,
                       [=](Key a, Key b) { return (a >> begin_bit & mask) < (b >> begin_bit & mask); });
      if (odd) std::copy(current, current + n, alternate);
      std::memset(odd ? current : alternate, 0xff, n * sizeof(Key));
    });
  }
};

}  // namespace cub
