/// \file
/// PageRank's transition matrix.
#include "core/parallel.hpp"
#include "tessera/error.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

/// What one pass over the weights finds.
struct WeightSurvey {
  offset_t zeros = 0;
  offset_t first_invalid = std::numeric_limits<offset_t>::max();
  double smallest = std::numeric_limits<double>::infinity();  ///< of the nonzero weights
  double largest = 0.0;

  WeightSurvey& operator+=(const WeightSurvey& other) {
    zeros += other.zeros;
    first_invalid = std::min(first_invalid, other.first_invalid);
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
    return *this;
  }
};

template <class T>
WeightSurvey survey_weights(const CsrView<T>& a, const Device& device) {
  return host::parallel_sum<WeightSurvey>(device, a.nnz(), [&](host::Range range) {
    WeightSurvey survey;
    for (offset_t k = range.begin; k < range.end; ++k) {
      const auto weight = static_cast<double>(a.value(k));
      if (!(weight >= 0.0) || std::isinf(weight)) {
        survey.first_invalid = std::min(survey.first_invalid, k);
      } else if (weight == 0.0) {
        ++survey.zeros;
      } else {
        survey.smallest = std::min(survey.smallest, weight);
        survey.largest = std::max(survey.largest, weight);
      }
    }
    return survey;
  });
}

template <class T>
[[noreturn]] void report_invalid_weight(const CsrView<T>& a, offset_t k) {
  const auto row = std::upper_bound(a.row_offsets.begin(), a.row_offsets.end(), k) - a.row_offsets.begin() - 1;
  throw InvalidMatrix(fmt::format("link weights must be finite and not negative, but row {}, column {} holds {}",
                                  row + 1, a.columns[static_cast<std::size_t>(k)] + 1, a.value(k)));
}

/// The matrix without its zero entries.
template <class T>
Csr<T> drop_zeros(const CsrView<T>& a, offset_t zeros) {
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::none);
  Array<index_t> columns(a.nnz() - zeros, Init::none);
  Array<T> values(a.nnz() - zeros, Init::none);
  offset_t kept = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    offsets[i] = kept;
    for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < a.row_offsets[static_cast<std::size_t>(i) + 1];
         ++k) {
      if (a.value(k) == T{0}) continue;
      columns[kept] = a.columns[static_cast<std::size_t>(k)];
      values[kept] = a.value(k);
      ++kept;
    }
  }
  offsets[a.rows] = kept;
  return Csr<T>(a.rows, a.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

/// Inverse of a vertex's total out weight; 0 without out-links, NaN when T has no normal number for it or for its
/// product with a rank, which is of the order of 1 / vertices or more.
template <class T>
T inverse_weight(const CsrView<T>& a, std::int64_t vertex) {
  const offset_t begin = a.row_offsets[static_cast<std::size_t>(vertex)];
  const offset_t end = a.row_offsets[static_cast<std::size_t>(vertex) + 1];
  if (begin == end) return T{0};
  double total = 0.0;
  for (offset_t k = begin; k < end; ++k) total += static_cast<double>(a.value(k));
  // Checked before the conversion, in which a number too large for T would be undefined.
  const double inverse = 1.0 / total;
  constexpr double least_rank = 1.0 / 64;  // of the mean rank; (1 - damping) times it for usual dampings
  const bool normal = inverse * least_rank / a.rows >= static_cast<double>(std::numeric_limits<T>::min()) &&
                      inverse <= static_cast<double>(std::numeric_limits<T>::max());
  return normal ? static_cast<T>(inverse) : std::numeric_limits<T>::quiet_NaN();
}

template <class T>
void fill_out_links(const CsrView<T>& a, const Device& device, Array<T>& inverse, Array<index_t>& degree) {
  host::parallel_for(device, a.rows, [&](host::Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      degree[i] = static_cast<index_t>(a.row_offsets[row + 1] - a.row_offsets[row]);
      inverse[i] = inverse_weight(a, i);
    }
  });
  const auto* bad = std::find_if(inverse.begin(), inverse.end(), [](T value) { return std::isnan(value); });
  if (bad == inverse.end()) return;
  throw InvalidMatrix(fmt::format(
      "vertex {}: the sum of its out-link weights is too small or too large to be inverted; scale the weights",
      bad - inverse.begin() + 1));
}

Array<index_t> vertices_without_links(const Array<index_t>& degree) {
  Array<index_t> result(std::count(degree.begin(), degree.end(), 0), Init::none);
  index_t* next = result.begin();
  for (std::int64_t i = 0; i < degree.size(); ++i) {
    if (degree[i] == 0) *next++ = static_cast<index_t>(i);
  }
  return result;
}

}  // namespace

template <class T>
TransitionMatrix<T>::TransitionMatrix(const CsrView<T>& adjacency, const Device& device)
    : inverse_out_weight_(adjacency.rows, Init::none), out_degree_(adjacency.rows, Init::none) {
  if (!adjacency.is_square()) {
    throw InvalidMatrix(
        fmt::format("an adjacency matrix is square, but this one is {} x {}", adjacency.rows, adjacency.cols));
  }
  const WeightSurvey survey = survey_weights(adjacency, device);
  if (survey.first_invalid < adjacency.nnz()) report_invalid_weight(adjacency, survey.first_invalid);

  Csr<T> without_zeros;
  CsrView<T> links = adjacency;
  if (survey.zeros > 0) {
    without_zeros = drop_zeros(adjacency, survey.zeros);
    links = without_zeros.view();
  }
  if (survey.smallest >= survey.largest) {  // all alike, or none
    links.storage = ValueStorage::pattern;
    links.values = {};
  }
  fill_out_links(links, device, inverse_out_weight_, out_degree_);
  dangling_ = vertices_without_links(out_degree_);
  in_links_ = std::make_shared<const Csr<T>>(transpose(links, device));
}

template <class T>
std::uint64_t TransitionMatrix<T>::bytes() const noexcept {
  return in_links_->bytes() + inverse_out_weight_.bytes() + out_degree_.bytes() + dangling_.bytes();
}

template class TransitionMatrix<float>;
template class TransitionMatrix<double>;

}  // namespace tessera
