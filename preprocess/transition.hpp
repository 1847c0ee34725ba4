/// \file
/// PageRank's transition matrix: its passes over a graph. Decisions are shared, so that both backends give the same
/// bits.
#pragma once

#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::detail {

/// What one pass over the weights finds. The order of additions does not matter.
struct WeightSurvey {
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  offset_t zeros = 0;
  FirstIndex invalid;          ///< negative or not finite
  double smallest = infinity;  ///< of the nonzero weights
  double largest = 0.0;

  TESSERA_HOST_DEVICE void add(offset_t k, double weight) noexcept {
    if (!(weight >= 0.0) || weight == infinity) {
      invalid += FirstIndex{k};
    } else if (weight == 0.0) {
      ++zeros;
    } else {
      if (weight < smallest) smallest = weight;
      if (weight > largest) largest = weight;
    }
  }

  TESSERA_HOST_DEVICE WeightSurvey& operator+=(const WeightSurvey& other) noexcept {
    zeros += other.zeros;
    invalid += other.invalid;
    if (other.smallest < smallest) smallest = other.smallest;
    if (other.largest > largest) largest = other.largest;
    return *this;
  }
};

/// Numbers of an element type, as constants that a GPU may use.
template <class T>
struct NormalRange {
  static constexpr auto least = static_cast<double>(std::numeric_limits<T>::min());
  static constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  static constexpr T none = std::numeric_limits<T>::quiet_NaN();
};

/// Inverse of a vertex's total out weight; NaN when T has no normal number for it or for its product with a rank, which
/// is of the order of 1 / vertices or more.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T inverse_weight(double total, index_t vertices) noexcept {
  // Checked before the conversion, in which a number too large for T would be undefined.
  const double inverse = 1.0 / total;
  constexpr double least_rank = 1.0 / 64;  // of the mean rank; (1 - damping) times it for usual dampings
  const bool normal = inverse * least_rank / vertices >= NormalRange<T>::least && inverse <= NormalRange<T>::most;
  return normal ? static_cast<T>(inverse) : NormalRange<T>::none;
}

/// Per vertex, as in TransitionMatrix.
template <class T>
struct OutLinks {
  Array<T> inverse_weight;
  Array<index_t> degree;
  FirstIndex not_invertible;  ///< vertex
};

/// The survey of a graph that lies on `device`. \param a with values \param by_in_links rows hold in-links
/// \throws InvalidMatrix naming source and target, as row and column, of the first weight that is negative or not
/// finite
template <class T>
[[nodiscard]] WeightSurvey survey_links(const CsrView<T>& a, const Device& device, bool by_in_links = false);

}  // namespace tessera::detail

/// The passes, on a matrix that lies on `device`. Those of a GPU throw OutOfMemory, CudaError.
namespace tessera::host {
/// \param a with values
template <class T>
[[nodiscard]] detail::WeightSurvey survey_weights(const CsrView<T>& a, const Device& device);
/// The matrix without its zero entries. \param zeros their number
template <class T>
[[nodiscard]] Csr<T> drop_zeros(const CsrView<T>& a, offset_t zeros, const Device& device);
/// Weights are added in the order of the row.
template <class T>
[[nodiscard]] detail::OutLinks<T> out_links(const CsrView<T>& a, const Device& device);
/// Vertices of degree 0, ascending.
[[nodiscard]] Array<index_t> vertices_without_links(const Array<index_t>& degree);
}  // namespace tessera::host

namespace tessera::cuda {
template <class T>
[[nodiscard]] detail::WeightSurvey survey_weights(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] Csr<T> drop_zeros(const CsrView<T>& a, offset_t zeros, const Device& device);
template <class T>
[[nodiscard]] detail::OutLinks<T> out_links(const CsrView<T>& a, const Device& device);
[[nodiscard]] Array<index_t> vertices_without_links(const Array<index_t>& degree);
}  // namespace tessera::cuda
