/// \file
/// Reading what other blocks of the same kernel have written.
#pragma once

#include <cstring>
#include <type_traits>

namespace tessera::cuda {

/// A value that another block wrote before a fence: past the first cache level, which knows nothing of it.
template <class Value>
[[nodiscard]] __device__ Value value_of_other_block(const Value* address) {
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(double) == 0);
  constexpr int words = sizeof(Value) / sizeof(double);
  double word[words];
#pragma unroll
  for (int k = 0; k < words; ++k) word[k] = __ldcg(reinterpret_cast<const double*>(address) + k);
  Value value;
  memcpy(&value, word, sizeof(Value));
  return value;
}

}  // namespace tessera::cuda
