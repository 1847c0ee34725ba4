/// Matrices on the arrays of other libraries.
#include "tessera/adopt_csr.hpp"

#include "core/cuda/memory.hpp"
#include "core/value_passes.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <string>

namespace tessera {

namespace {

/// \throws InvalidArgument where the array lies elsewhere than on the device
void check_place(const char* name, const void* data, const Device& device) {
  if (data == nullptr) return;
  const bool fits = device.is_host() ? !cuda::lies_on_a_gpu(data) : cuda::is_reachable(device, data);
  if (!fits) throw InvalidArgument(std::string("adopt_csr: the ") + name + " do not lie on " + device.name());
}

/// A Csr never writes its arrays.
template <class U>
Array<U> in_place(const char* name, std::span<const U> array, const AdoptedMemory& memory) {
  check_place(name, array.data(), memory.device);
  return Array<U>::adopt({const_cast<U*>(array.data()), array.size()}, memory.owner, memory.device);
}

Array<offset_t> offsets_of(std::span<const std::int64_t> row_offsets, const AdoptedMemory& memory) {
  return in_place("row offsets", row_offsets, memory);
}

Array<offset_t> offsets_of(std::span<const std::int32_t> row_offsets, const AdoptedMemory& memory) {
  check_place("row offsets", row_offsets.data(), memory.device);
  Array<offset_t> wide(static_cast<std::int64_t>(row_offsets.size()), Init::none, memory.device);
  if (!wide.empty()) detail::convert_values(memory.device, row_offsets, wide.span());
  return wide;
}

}  // namespace

template <class T>
Csr<T> adopt_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_offsets,
                 std::span<const index_t> columns, std::span<const T> values, const AdoptedMemory& memory) {
  return Csr<T>(rows, cols, offsets_of(row_offsets, memory), in_place("columns", columns, memory),
                in_place("values", values, memory), memory.check);
}

template <class T>
Csr<T> adopt_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                 std::span<const index_t> columns, std::span<const T> values, const AdoptedMemory& memory) {
  return Csr<T>(rows, cols, offsets_of(row_offsets, memory), in_place("columns", columns, memory),
                in_place("values", values, memory), memory.check);
}

template <class T>
Csr<T> adopt_pattern(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_offsets,
                     std::span<const index_t> columns, const AdoptedMemory& memory) {
  return Csr<T>::pattern(rows, cols, offsets_of(row_offsets, memory), in_place("columns", columns, memory),
                         memory.check);
}

template <class T>
Csr<T> adopt_pattern(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                     std::span<const index_t> columns, const AdoptedMemory& memory) {
  return Csr<T>::pattern(rows, cols, offsets_of(row_offsets, memory), in_place("columns", columns, memory),
                         memory.check);
}

template Csr<float> adopt_csr(std::int64_t, std::int64_t, std::span<const std::int32_t>, std::span<const index_t>,
                              std::span<const float>, const AdoptedMemory&);
template Csr<double> adopt_csr(std::int64_t, std::int64_t, std::span<const std::int32_t>, std::span<const index_t>,
                               std::span<const double>, const AdoptedMemory&);
template Csr<float> adopt_csr(std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const index_t>,
                              std::span<const float>, const AdoptedMemory&);
template Csr<double> adopt_csr(std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const index_t>,
                               std::span<const double>, const AdoptedMemory&);
template Csr<float> adopt_pattern(std::int64_t, std::int64_t, std::span<const std::int32_t>, std::span<const index_t>,
                                  const AdoptedMemory&);
template Csr<double> adopt_pattern(std::int64_t, std::int64_t, std::span<const std::int32_t>, std::span<const index_t>,
                                   const AdoptedMemory&);
template Csr<float> adopt_pattern(std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const index_t>,
                                  const AdoptedMemory&);
template Csr<double> adopt_pattern(std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const index_t>,
                                   const AdoptedMemory&);

}  // namespace tessera
