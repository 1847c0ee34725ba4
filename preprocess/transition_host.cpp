/// \file
/// Passes of PageRank's transition matrix on the host.
#include "core/parallel.hpp"
#include "preprocess/transition.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tessera::host {

using namespace detail;

namespace {

template <class T>
[[nodiscard]] T inverse_of_row(const CsrView<T>& a, std::int64_t vertex) {
  const offset_t begin = a.row_offsets[static_cast<std::size_t>(vertex)];
  const offset_t end = a.row_offsets[static_cast<std::size_t>(vertex) + 1];
  if (begin == end) return T{0};
  if (a.is_pattern()) return inverse_weight<T>(static_cast<double>(end - begin), a.rows);
  double total = 0.0;
  for (offset_t k = begin; k < end; ++k) total += static_cast<double>(a.values[static_cast<std::size_t>(k)]);
  return inverse_weight<T>(total, a.rows);
}

}  // namespace

template <class T>
WeightSurvey survey_weights(const CsrView<T>& a, const Device& device) {
  return parallel_sum<WeightSurvey>(device, a.nnz(), [&](Range range) {
    WeightSurvey survey;
    for (offset_t k = range.begin; k < range.end; ++k) {
      survey.add(k, static_cast<double>(a.values[static_cast<std::size_t>(k)]));
    }
    return survey;
  });
}

template <class T>
Csr<T> drop_zeros(const CsrView<T>& a, offset_t zeros, const Device& /*device*/) {
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

template <class T>
OutLinks<T> out_links(const CsrView<T>& a, const Device& device) {
  OutLinks<T> links{Array<T>(a.rows, Init::none), Array<index_t>(a.rows, Init::none), {}};
  links.not_invertible = parallel_sum<FirstIndex>(device, a.rows, [&](Range range) {
    FirstIndex bad;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      links.degree[i] = static_cast<index_t>(a.row_offsets[row + 1] - a.row_offsets[row]);
      links.inverse_weight[i] = inverse_of_row(a, i);
      if (std::isnan(links.inverse_weight[i])) bad += FirstIndex{i};
    }
    return bad;
  });
  return links;
}

Array<index_t> vertices_without_links(const Array<index_t>& degree) {
  Array<index_t> result(std::count(degree.begin(), degree.end(), 0), Init::none);
  index_t* next = result.begin();
  for (std::int64_t i = 0; i < degree.size(); ++i) {
    if (degree[i] == 0) *next++ = static_cast<index_t>(i);
  }
  return result;
}

template WeightSurvey survey_weights(const CsrView<float>&, const Device&);
template WeightSurvey survey_weights(const CsrView<double>&, const Device&);
template Csr<float> drop_zeros(const CsrView<float>&, offset_t, const Device&);
template Csr<double> drop_zeros(const CsrView<double>&, offset_t, const Device&);
template OutLinks<float> out_links(const CsrView<float>&, const Device&);
template OutLinks<double> out_links(const CsrView<double>&, const Device&);

}  // namespace tessera::host
