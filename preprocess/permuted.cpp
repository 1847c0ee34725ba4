/// \file
/// Symmetric permutation P A Pᵀ.
#include "preprocess/permuted.hpp"

#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"

#include <fmt/format.h>

#include <limits>
#include <span>
#include <utility>

namespace tessera {

namespace {

template <class T>
void permute_into(const CsrView<T>& matrix, std::span<const index_t> order, std::span<const index_t> position,
                  const Device& device, const detail::PermutedOutput<T>& out) {
  if (device.is_host()) {
    host::permute_into(matrix, order, position, device, out);
  } else {
    cuda::permute_into(matrix, order, position, device, out);
  }
}

template <class T>
void require_sizes(const CsrView<T>& matrix, std::span<const index_t> order) {
  if (matrix.is_square() && order.size() == static_cast<std::size_t>(matrix.rows)) return;
  throw DimensionError(fmt::format("P A P' needs a square matrix and as many numbers as rows, got {} x {} and {}",
                                   matrix.rows, matrix.cols, order.size()));
}

}  // namespace

template <class T>
Csr<T> permuted(const CsrView<T>& matrix, std::span<const index_t> order, const Device& device) {
  require_sizes(matrix, order);
  const Array<index_t> position = detail::inverse_permutation(order, device);
  return detail::permuted_by<T>(matrix, order, position.span(), device);
}

template <class T>
Csr<T> permuted(const CsrView<T>& matrix, std::span<const index_t> order) {
  return permuted(matrix, order, Device{});
}

template Csr<float> permuted(const CsrView<float>&, std::span<const index_t>, const Device&);
template Csr<double> permuted(const CsrView<double>&, std::span<const index_t>, const Device&);
template Csr<float> permuted(const CsrView<float>&, std::span<const index_t>);
template Csr<double> permuted(const CsrView<double>&, std::span<const index_t>);

namespace detail {

Array<index_t> inverse_permutation(std::span<const index_t> order, const Device& device) {
  if (device.is_host()) return host::inverse_permutation(order);
  Array<index_t> position = cuda::inverse_permutation(order, device);
  if (position.size() == std::ssize(order)) return position;
  Array<index_t> fetched(std::ssize(order), Init::none);
  copy_bytes(Device{}, fetched.data(), device, order.data(), fetched.bytes());
  static_cast<void>(host::inverse_permutation(fetched.span()));  // throws
  return position;
}

template <class T>
Csr<T> permuted_by(const CsrView<T>& matrix, std::span<const index_t> order, std::span<const index_t> position,
                   const Device& device) {
  Array<offset_t> offsets(std::int64_t{matrix.rows} + 1, Init::none, device);
  Array<index_t> columns(matrix.nnz(), Init::none, device);
  Array<T> values(matrix.is_pattern() ? 0 : matrix.nnz(), Init::none, device);
  permute_into(matrix, order, position, device, {offsets.data(), columns.data(), values.data(), nullptr});
  if (matrix.is_pattern()) {
    return Csr<T>::pattern(matrix.rows, matrix.cols, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(matrix.rows, matrix.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> permuted_by(const CsrView<float>&, std::span<const index_t>, std::span<const index_t>,
                                const Device&);
template Csr<double> permuted_by(const CsrView<double>&, std::span<const index_t>, std::span<const index_t>,
                                 const Device&);

template <class T>
Array<index_t> permuted_positions(const CsrView<T>& matrix, std::span<const index_t> order,
                                  std::span<const index_t> position, const Device& device) {
  constexpr offset_t most = std::numeric_limits<index_t>::max();
  if (matrix.nnz() > most) {
    throw NotSupported(
        fmt::format("the positions of a permuted matrix have 31 bits: at most {} entries, got {}", most, matrix.nnz()));
  }
  Array<index_t> positions(matrix.nnz(), Init::none, device);
  Array<offset_t> offsets(std::int64_t{matrix.rows} + 1, Init::none, device);
  permute_into(matrix, order, position, device, {offsets.data(), nullptr, nullptr, positions.data()});
  return positions;
}

template Array<index_t> permuted_positions(const CsrView<float>&, std::span<const index_t>, std::span<const index_t>,
                                           const Device&);
template Array<index_t> permuted_positions(const CsrView<double>&, std::span<const index_t>, std::span<const index_t>,
                                           const Device&);

}  // namespace detail

}  // namespace tessera
