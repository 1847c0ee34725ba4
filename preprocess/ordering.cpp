/// \file
/// Orderings of a square matrix by name.
#include "tessera/ordering.hpp"

#include "preprocess/symmetric_pattern.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <numeric>

namespace tessera {

using namespace detail;

std::string_view to_string(Ordering ordering) {
  switch (ordering) {
    case Ordering::natural:
      return "natural";
    case Ordering::rcm:
      return "rcm";
    case Ordering::amd:
      return "amd";
  }
  return "unknown";
}

template <class T>
std::vector<index_t> ordering(const CsrView<T>& matrix, Ordering kind) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("an ordering needs a square matrix, this one is {} x {}", matrix.rows, matrix.cols));
  }
  if (kind == Ordering::natural) {
    std::vector<index_t> identity(static_cast<std::size_t>(matrix.rows));
    std::iota(identity.begin(), identity.end(), 0);
    return identity;
  }
  const SymmetricPattern graph(matrix);
  return kind == Ordering::rcm ? rcm_ordering(graph) : amd_ordering(graph);
}

template std::vector<index_t> ordering(const CsrView<float>&, Ordering);
template std::vector<index_t> ordering(const CsrView<double>&, Ordering);

}  // namespace tessera
