/// \file
/// Checks of X and Y in Y = α A X + β Y.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tessera/multi_vector.hpp"

#include <fmt/format.h>

#include <functional>
#include <span>

namespace tessera::detail {

/// \throws DimensionError, InvalidArgument
template <class T>
void check_multi_vectors(const CsrView<T>& a, const MultiVectorView<const T>& x, const MultiVectorView<T>& y) {
  if (x.rows() != a.cols || y.rows() != a.rows || x.columns() != y.columns()) {
    throw DimensionError(fmt::format("operator is {} x {}: X is {} x {}, Y is {} x {}", a.rows, a.cols, x.rows(),
                                     x.columns(), y.rows(), y.columns()));
  }
  if (x.empty() || y.empty()) return;
  const std::less<const T*> before;
  const std::span<const T> from = x.elements();
  const std::span<const T> to = y.elements();
  if (before(from.data(), to.data() + to.size()) && before(to.data(), from.data() + from.size())) {
    throw InvalidArgument("X and Y of a product must not overlap");
  }
}

}  // namespace tessera::detail
