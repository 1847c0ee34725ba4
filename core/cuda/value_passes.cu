#include "core/cuda/reduce.cuh"
#include "core/sums.hpp"
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

template <class T>
void gather_and_add(const Device& device, std::span<const index_t> positions, std::span<const T> from, T beta,
                    std::span<T> to) {
  const index_t* const position = positions.data();
  const T* const source = from.data();
  T* const target = to.data();
  for_each(device, static_cast<std::int64_t>(positions.size()),
           [=] __device__(std::int64_t i) { target[i] = source[position[i]] + beta * target[i]; });
}

void round_to_float(const Device& device, std::span<double> values) {
  double* const value = values.data();
  for_each(device, static_cast<std::int64_t>(values.size()),
           [=] __device__(std::int64_t i) { value[i] = static_cast<double>(static_cast<float>(value[i])); });
}

std::int64_t first_beyond_float(const Device& device, std::span<const double> values) {
  const double* const value = values.data();
  return fused_values<detail::FirstIndex>(device, static_cast<std::int64_t>(values.size()),
                                          [=] __device__(std::int64_t i, detail::FirstIndex & first) {
                                            if (detail::is_beyond_float(value[i])) first += detail::FirstIndex{i};
                                          })
      .index;
}

template void convert_values(const Device&, std::span<const float>, std::span<float>);
template void convert_values(const Device&, std::span<const float>, std::span<double>);
template void convert_values(const Device&, std::span<const double>, std::span<float>);
template void convert_values(const Device&, std::span<const double>, std::span<double>);
template void convert_values(const Device&, std::span<const std::int32_t>, std::span<std::int64_t>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const index_t>, std::span<index_t>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const float>, std::span<float>);
template void gather_values(const Device&, std::span<const index_t>, std::span<const double>, std::span<double>);
template void gather_and_add(const Device&, std::span<const index_t>, std::span<const float>, float, std::span<float>);
template void gather_and_add(const Device&, std::span<const index_t>, std::span<const double>, double,
                             std::span<double>);

}  // namespace tessera::cuda
