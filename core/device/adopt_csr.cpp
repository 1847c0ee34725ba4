/// Matrices on the arrays of other libraries.
#include "tessera/adopt_csr.hpp"

#include "core/cuda/memory.hpp"
#include "core/structure_passes.hpp"
#include "core/value_passes.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace tessera {

namespace {

/// \throws InvalidArgument where the array lies elsewhere than on the device
void check_place(const char* name, const void* data, const Device& device) {
  const bool fits =
      data == nullptr || (device.is_host() ? !cuda::lies_on_a_gpu(data) : cuda::is_reachable(device, data));
  if (!fits) throw InvalidArgument(fmt::format("adopt_csr: the {} do not lie on {}", name, device.name()));
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

Array<index_t> narrow_columns(std::int64_t cols, std::span<const std::int64_t> row_offsets,
                              std::span<const std::int64_t> columns, const AdoptedMemory& memory) {
  check_place("columns", columns.data(), memory.device);
  Array<index_t> narrow(static_cast<std::int64_t>(columns.size()), Init::none, memory.device);
  if (narrow.empty()) return narrow;
  const std::int64_t k = detail::narrow_columns(memory.device, columns, cols, narrow.span());
  if (k < 0) return narrow;
  throw InvalidMatrix(fmt::format("row {}, nonzero {}: column {} is outside [0, {})",
                                  detail::row_of_entry(memory.device, row_offsets, k), k,
                                  detail::element(memory.device, columns, k), cols));
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

template <class T>
Csr<T> adopt_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                 std::span<const std::int64_t> columns, std::span<const T> values, const AdoptedMemory& memory) {
  return Csr<T>(rows, cols, offsets_of(row_offsets, memory), narrow_columns(cols, row_offsets, columns, memory),
                in_place("values", values, memory), memory.check);
}

template <class T>
Csr<T> adopt_pattern(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                     std::span<const std::int64_t> columns, const AdoptedMemory& memory) {
  return Csr<T>::pattern(rows, cols, offsets_of(row_offsets, memory),
                         narrow_columns(cols, row_offsets, columns, memory), memory.check);
}

template <class T>
ReleasedCsr<T> release(Csr<T>&& matrix) {
  auto owner = std::make_shared<const Csr<T>>(std::move(matrix));
  return {owner->view(), owner->device(), owner};
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

template Csr<float> adopt_csr(std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const std::int64_t>,
                              std::span<const float>, const AdoptedMemory&);
template Csr<double> adopt_csr(std::int64_t, std::int64_t, std::span<const std::int64_t>, std::span<const std::int64_t>,
                               std::span<const double>, const AdoptedMemory&);
template Csr<float> adopt_pattern(std::int64_t, std::int64_t, std::span<const std::int64_t>,
                                  std::span<const std::int64_t>, const AdoptedMemory&);
template Csr<double> adopt_pattern(std::int64_t, std::int64_t, std::span<const std::int64_t>,
                                   std::span<const std::int64_t>, const AdoptedMemory&);
template ReleasedCsr<float> release(Csr<float>&&);
template ReleasedCsr<double> release(Csr<double>&&);

}  // namespace tessera
