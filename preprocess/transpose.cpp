#include "preprocess/transpose_map.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace tessera {

namespace {

template <class T>
void transpose_into(const CsrView<T>& matrix, const Device& device, const detail::TransposeOutput<T>& out) {
  device.is_host() ? host::transpose_into(matrix, device, out) : cuda::transpose_into(matrix, device, out);
}

}  // namespace

template <class T>
Csr<T> transpose(const CsrView<T>& matrix, const Device& device) {
  Array<offset_t> offsets(std::int64_t{matrix.cols} + 1, Init::none, device);
  Array<index_t> columns(matrix.nnz(), Init::none, device);
  Array<T> values(matrix.is_pattern() ? 0 : matrix.nnz(), Init::none, device);
  transpose_into(matrix, device, {offsets.data(), columns.data(), values.data(), nullptr});
  if (matrix.is_pattern()) {
    return Csr<T>::pattern(matrix.cols, matrix.rows, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(matrix.cols, matrix.rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> transpose(const CsrView<float>&, const Device&);
template Csr<double> transpose(const CsrView<double>&, const Device&);

namespace detail {

template <class T>
TransposeMap<T> transpose_map(const CsrView<T>& matrix, const Device& device) {
  constexpr offset_t most = std::numeric_limits<index_t>::max();
  if (matrix.nnz() > most) {
    throw NotSupported(fmt::format("the positions of a transposed matrix have 31 bits: at most {} entries, got {}",
                                   most, matrix.nnz()));
  }
  Array<offset_t> offsets(std::int64_t{matrix.cols} + 1, Init::none, device);
  Array<index_t> columns(matrix.nnz(), Init::none, device);
  Array<index_t> positions(matrix.nnz(), Init::none, device);
  transpose_into(matrix, device, {offsets.data(), columns.data(), nullptr, positions.data()});
  return {Csr<T>::pattern(matrix.cols, matrix.rows, std::move(offsets), std::move(columns), Check::trusted),
          std::move(positions)};
}

template TransposeMap<float> transpose_map(const CsrView<float>&, const Device&);
template TransposeMap<double> transpose_map(const CsrView<double>&, const Device&);

}  // namespace detail

}  // namespace tessera
