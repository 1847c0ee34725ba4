/// \file
/// Orderings of a square matrix by name.
#include "tessera/ordering.hpp"

#include "preprocess/degree_groups.hpp"
#include "preprocess/symmetric_pattern.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

template <class T>
void require_square(const CsrView<T>& matrix) {
  if (matrix.is_square()) return;
  throw DimensionError(fmt::format("an ordering needs a square matrix, this one is {} x {}", matrix.rows, matrix.cols));
}

/// The structure of a matrix on a GPU, as a pattern on the host.
template <class T>
Csr<T> fetched_structure(const CsrView<T>& matrix, const Device& device) {
  Array<offset_t> offsets(std::int64_t{matrix.rows} + 1, Init::zero);
  Array<index_t> columns(matrix.nnz(), Init::none);
  copy_bytes(Device{}, offsets.data(), device, matrix.row_offsets.data(), matrix.row_offsets.size_bytes());
  copy_bytes(Device{}, columns.data(), device, matrix.columns.data(), matrix.columns.size_bytes());
  return Csr<T>::pattern(matrix.rows, matrix.cols, std::move(offsets), std::move(columns), Check::trusted);
}

}  // namespace

std::string_view to_string(Ordering ordering) {
  switch (ordering) {
    case Ordering::natural:
      return "natural";
    case Ordering::rcm:
      return "rcm";
    case Ordering::amd:
      return "amd";
    case Ordering::degree:
      return "degree";
  }
  return "unknown";
}

template <class T>
std::vector<index_t> ordering(const CsrView<T>& matrix, Ordering kind) {
  require_square(matrix);
  if (kind == Ordering::natural) {
    std::vector<index_t> identity(static_cast<std::size_t>(matrix.rows));
    std::iota(identity.begin(), identity.end(), 0);
    return identity;
  }
  if (kind == Ordering::degree) {
    const Array<index_t> order = host::degree_ordering(matrix, Device{});
    return {order.begin(), order.end()};
  }
  const SymmetricPattern graph(matrix);
  return kind == Ordering::rcm ? rcm_ordering(graph) : amd_ordering(graph);
}

template <class T>
Array<index_t> ordering(const CsrView<T>& matrix, Ordering kind, const Device& device) {
  require_square(matrix);
  if (kind == Ordering::degree) {
    return device.is_host() ? host::degree_ordering(matrix, device) : cuda::degree_ordering(matrix, device);
  }
  if (device.is_host()) return Array<index_t>::copy_of(ordering(matrix, kind));
  if (kind == Ordering::natural) return cuda::natural_ordering(matrix.rows, device);
  return Array<index_t>::copy_of(ordering(fetched_structure(matrix, device).view(), kind), device);
}

template std::vector<index_t> ordering(const CsrView<float>&, Ordering);
template std::vector<index_t> ordering(const CsrView<double>&, Ordering);
template Array<index_t> ordering(const CsrView<float>&, Ordering, const Device&);
template Array<index_t> ordering(const CsrView<double>&, Ordering, const Device&);

}  // namespace tessera
