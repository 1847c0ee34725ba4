#include "core/cuda/reduce.cuh"
#include "core/value_passes.hpp"

#include <cstdint>

namespace tessera::cuda {

template <class From, class To>
void convert_values(const Device& device, std::span<const From> from, std::span<To> to) {
  const From* const source = from.data();
  To* const target = to.data();
  for_each(device, static_cast<std::int64_t>(from.size()),
           [=] __device__(std::int64_t i) { target[i] = static_cast<To>(source[i]); });
}

template <class T>
void gather_values(const Device& device, std::span<const index_t> positions, std::span<const T> from, std::span<T> to) {
  const index_t* const position = positions.data();
  const T* const source = from.data();
  T* const target = to.data();
  for_each(device, static_cast<std::int64_t>(positions.size()),
           [=] __device__(std::int64_t i) { target[i] = source[position[i]]; });
}

template void convert_values(const Device&, std::span<const float>, std::span<float>);
template void convert_values(const Device&, std::span<const float>, std::span<double>);
template void convert_values(const Device&, std::span<const double>, std::span<float>);
template void convert_values(const Device&, std::span<const double>, std::span<double>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const float>, std::span<float>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const double>, std::span<double>);

}  // namespace tessera::cuda
