#include "core/value_passes.hpp"

#include "core/parallel.hpp"
#include "core/sums.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::detail {

template <class From, class To>
void convert_values(const Device& device, std::span<const From> from, std::span<To> to) {
  if (!device.is_host()) return cuda::convert_values(device, from, to);
  host::parallel_for(device, static_cast<std::int64_t>(from.size()), [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      to[i] = static_cast<To>(from[i]);
    }
  });
}

template <class T>
void gather_values(const Device& device, std::span<const index_t> positions, std::span<const T> from, std::span<T> to) {
  if (!device.is_host()) return cuda::gather_values(device, positions, from, to);
  host::parallel_for(device, static_cast<std::int64_t>(positions.size()), [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      to[i] = from[static_cast<std::size_t>(positions[i])];
    }
  });
}

template <class T>
void gather_and_add(const Device& device, std::span<const index_t> positions, std::span<const T> from, T beta,
                    std::span<T> to) {
  if (!device.is_host()) return cuda::gather_and_add(device, positions, from, beta, to);
  host::parallel_for(device, static_cast<std::int64_t>(positions.size()), [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      to[i] = from[static_cast<std::size_t>(positions[i])] + beta * to[i];
    }
  });
}

void round_to_float(const Device& device, std::span<double> values) {
  if (!device.is_host()) return cuda::round_to_float(device, values);
  host::parallel_for(device, static_cast<std::int64_t>(values.size()), [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      values[i] = static_cast<double>(static_cast<float>(values[i]));
    }
  });
}

std::int64_t first_beyond_float(const Device& device, std::span<const double> values) {
  if (!device.is_host()) return cuda::first_beyond_float(device, values);
  return host::parallel_sum<FirstIndex>(device, static_cast<std::int64_t>(values.size()),
                                        [&](host::Range range) {
                                          const auto begin = values.begin() + range.begin;
                                          const auto end = values.begin() + range.end;
                                          const auto found = std::find_if(begin, end, is_beyond_float);
                                          return found == end ? FirstIndex{} : FirstIndex{found - values.begin()};
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

}  // namespace tessera::detail
