/// \file
/// PageRank's transition matrix.
#include "preprocess/transition.hpp"

#include "core/structure_passes.hpp"
#include "core/value_passes.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace tessera {

using namespace detail;

template <class T>
WeightSurvey detail::survey_links(const CsrView<T>& a, const Device& device, bool by_in_links) {
  const WeightSurvey survey = device.is_host() ? host::survey_weights(a, device) : cuda::survey_weights(a, device);
  if (const offset_t k = survey.invalid.index; k >= 0) {
    std::int64_t source = row_of_entry(device, a.row_offsets, k) + 1;
    std::int64_t target = std::int64_t{element(device, a.columns, k)} + 1;
    if (by_in_links) std::swap(source, target);
    throw InvalidMatrix(fmt::format("link weights must be finite and not negative, but row {}, column {} holds {}",
                                    source, target, element(device, a.values, k)));
  }
  return survey;
}

template WeightSurvey detail::survey_links(const CsrView<float>&, const Device&, bool);
template WeightSurvey detail::survey_links(const CsrView<double>&, const Device&, bool);

namespace {

/// The graph of nonzero weights, as a pattern where they are all alike.
template <class T>
[[nodiscard]] CsrView<T> links_of(const CsrView<T>& a, const Device& device, Csr<T>& without_zeros) {
  if (a.is_pattern()) return a;
  const WeightSurvey survey = survey_links(a, device);
  CsrView<T> links = a;
  if (survey.zeros > 0) {
    without_zeros =
        device.is_host() ? host::drop_zeros(a, survey.zeros, device) : cuda::drop_zeros(a, survey.zeros, device);
    links = without_zeros.view();
  }
  if (survey.smallest >= survey.largest) {  // all alike, or none
    links.storage = ValueStorage::pattern;
    links.values = {};
  }
  return links;
}

[[nodiscard]] Array<index_t> vertices_without_links(const Array<index_t>& degree) {
  return degree.device().is_host() ? host::vertices_without_links(degree) : cuda::vertices_without_links(degree);
}

/// element[order[k]] for every k, where `elements` lie.
template <class U>
[[nodiscard]] Array<U> gathered(const Array<U>& elements, std::span<const index_t> order) {
  Array<U> result(elements.size(), Init::none, elements.device());
  gather_values(elements.device(), order, elements.span(), result.span());
  return result;
}

}  // namespace

template <class T>
TransitionMatrix<T>::TransitionMatrix(const CsrView<T>& adjacency, const Device& device) {
  if (!adjacency.is_square()) {
    throw InvalidMatrix(
        fmt::format("an adjacency matrix is square, but this one is {} x {}", adjacency.rows, adjacency.cols));
  }
  Csr<T> without_zeros;
  const CsrView<T> links = links_of(adjacency, device, without_zeros);
  OutLinks<T> out = device.is_host() ? host::out_links(links, device) : cuda::out_links(links, device);
  if (out.not_invertible.index >= 0) {
    throw InvalidMatrix(fmt::format(
        "vertex {}: the sum of its out-link weights is too small or too large to be inverted; scale the weights",
        out.not_invertible.index + 1));
  }
  dangling_ = vertices_without_links(out.degree);
  inverse_out_weight_ = std::move(out.inverse_weight);
  out_degree_ = std::move(out.degree);
  in_links_ = std::make_shared<const Csr<T>>(transpose(links, device));
}

template <class T>
TransitionMatrix<T> TransitionMatrix<T>::permuted(std::span<const index_t> order) const {
  TransitionMatrix result;
  result.in_links_ = std::make_shared<const Csr<T>>(tessera::permuted(in_links_->view(), order, device()));
  result.inverse_out_weight_ = gathered(inverse_out_weight_, order);
  result.out_degree_ = gathered(out_degree_, order);
  result.dangling_ = vertices_without_links(result.out_degree_);
  return result;
}

template <class T>
std::uint64_t TransitionMatrix<T>::bytes() const noexcept {
  return in_links_->bytes() + inverse_out_weight_.bytes() + out_degree_.bytes() + dangling_.bytes();
}

template class TransitionMatrix<float>;
template class TransitionMatrix<double>;

}  // namespace tessera
