/// \file
/// Passes of PageRank's transition matrix on a GPU.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/row_warps.cuh"
#include "preprocess/transition.hpp"

#include <cstdint>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

/// Lanes whose entry of a step is not zero. \param k first entry of the step
template <class T>
[[nodiscard]] __device__ unsigned lanes_with_links(const T* weights, offset_t k, offset_t end, int lane) {
  return __ballot_sync(full_warp, k + lane < end && weights[k + lane] != T{0});
}

}  // namespace

template <class T>
WeightSurvey survey_weights(const CsrView<T>& a, const Device& device) {
  const T* const weights = a.values.data();
  return fused_values<WeightSurvey>(device, a.nnz(), [=] __device__(std::int64_t k, WeightSurvey & survey) {
    survey.add(k, static_cast<double>(weights[k]));
  });
}

template <class T>
Csr<T> drop_zeros(const CsrView<T>& a, offset_t zeros, const Device& device) {
  Array<offset_t> offsets(std::int64_t{a.rows} + 1, Init::zero, device);
  Array<index_t> columns(a.nnz() - zeros, Init::none, device);
  Array<T> values(a.nnz() - zeros, Init::none, device);
  const offset_t* const begins = a.row_offsets.data();
  const index_t* const from_columns = a.columns.data();
  const T* const from_values = a.values.data();
  offset_t* const places = offsets.data();
  for_each_row(device, a.rows, [=] __device__(std::int64_t row, int lane) {
    offset_t kept = 0;
    for (offset_t k = begins[row]; k < begins[row + 1]; k += warp_size) {
      kept += __popc(lanes_with_links(from_values, k, begins[row + 1], lane));
    }
    if (lane == 0) places[row] = kept;
  });
  exclusive_sum_on_device(device, offsets.span());
  index_t* const to_columns = columns.data();
  T* const to_values = values.data();
  for_each_row(device, a.rows, [=] __device__(std::int64_t row, int lane) {
    offset_t place = places[row];
    for (offset_t k = begins[row]; k < begins[row + 1]; k += warp_size) {
      const unsigned kept = lanes_with_links(from_values, k, begins[row + 1], lane);
      if ((kept >> lane & 1U) != 0) {
        const offset_t mine = place + __popc(kept & ((1U << lane) - 1));
        to_columns[mine] = from_columns[k + lane];
        to_values[mine] = from_values[k + lane];
      }
      place += __popc(kept);
    }
  });
  return Csr<T>(a.rows, a.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
OutLinks<T> out_links(const CsrView<T>& a, const Device& device) {
  OutLinks<T> links{Array<T>(a.rows, Init::none, device), Array<index_t>(a.rows, Init::none, device), {}};
  const offset_t* const begins = a.row_offsets.data();
  const T* const weights = a.is_pattern() ? nullptr : a.values.data();
  const index_t vertices = a.rows;
  T* const inverse = links.inverse_weight.data();
  index_t* const degree = links.degree.data();
  for_each_row(device, a.rows, [=] __device__(std::int64_t row, int lane) {
    const offset_t begin = begins[row];
    const offset_t end = begins[row + 1];
    const double total = weights == nullptr ? static_cast<double>(end - begin)
                                            : sum_in_order(begin, end, lane,
                                                           [=](offset_t k) { return static_cast<double>(weights[k]); });
    if (lane != 0) return;
    degree[row] = static_cast<index_t>(end - begin);
    inverse[row] = begin == end ? T{0} : inverse_weight<T>(total, vertices);
  });
  links.not_invertible = fused_values<FirstIndex>(device, a.rows, [=] __device__(std::int64_t i, FirstIndex & first) {
    if (std::isnan(inverse[i])) first += FirstIndex{i};
  });
  return links;
}

Array<index_t> vertices_without_links(const Array<index_t>& degree) {
  const Device& device = degree.device();
  if (degree.empty()) return Array<index_t>(0, Init::none, device);
  const index_t* const degrees = degree.data();
  Array<offset_t> places(degree.size(), Init::none, device);
  offset_t* const place = places.data();
  for_each(device, degree.size(), [=] __device__(std::int64_t i) { place[i] = degrees[i] == 0 ? 1 : 0; });
  Array<index_t> result(exclusive_sum(device, places.span()), Init::none, device);
  index_t* const vertices = result.data();
  for_each(device, degree.size(), [=] __device__(std::int64_t i) {
    if (degrees[i] == 0) vertices[place[i]] = static_cast<index_t>(i);
  });
  return result;
}

template WeightSurvey survey_weights(const CsrView<float>&, const Device&);
template WeightSurvey survey_weights(const CsrView<double>&, const Device&);
template Csr<float> drop_zeros(const CsrView<float>&, offset_t, const Device&);
template Csr<double> drop_zeros(const CsrView<double>&, offset_t, const Device&);
template OutLinks<float> out_links(const CsrView<float>&, const Device&);
template OutLinks<double> out_links(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
