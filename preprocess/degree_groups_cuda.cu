/// \file
/// Degree-based grouping on a GPU: columns counted by atomic additions, then one stable radix sort by group.
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/reduce.cuh"
#include "preprocess/degree_groups.hpp"

#include <cstdint>

namespace tessera::cuda {

using namespace detail;

namespace {

/// A key holds the group of a column above its number.
constexpr int number_bits = 32;

/// Sums of integers, whose order does not matter.
template <class T>
Array<index_t> column_degrees(const CsrView<T>& a, const Device& device) {
  Array<index_t> degrees(a.cols, Init::zero, device);
  index_t* const degree = degrees.data();
  const index_t* const columns = a.columns.data();
  for_each(device, a.nnz(), [=] __device__(std::int64_t k) { atomicAdd(degree + columns[k], 1); });
  return degrees;
}

}  // namespace

template <class T>
Array<index_t> degree_ordering(const CsrView<T>& matrix, const Device& device) {
  const Array<index_t> degrees = column_degrees(matrix, device);
  const index_t* const degree = degrees.data();
  const DegreeGroups groups(matrix.cols, matrix.nnz());
  Array<std::uint64_t> keys(matrix.cols, Init::none, device);
  std::uint64_t* const key = keys.data();
  for_each(device, matrix.cols, [=] __device__(std::int64_t j) {
    key[j] = static_cast<std::uint64_t>(groups.group_of(degree[j])) << number_bits | static_cast<std::uint64_t>(j);
  });
  {
    Array<std::uint64_t> other(matrix.cols, Init::none, device);
    enqueue_sort(device, keys, other, one_segment(matrix.cols), number_bits, number_bits + DegreeGroups::bits);
  }
  Array<index_t> order(matrix.cols, Init::none, device);
  index_t* const number = order.data();
  const std::uint64_t* const sorted = keys.data();
  for_each(device, matrix.cols, [=] __device__(std::int64_t k) { number[k] = static_cast<index_t>(sorted[k]); });
  return order;
}

Array<index_t> natural_ordering(index_t n, const Device& device) {
  Array<index_t> order(n, Init::none, device);
  index_t* const number = order.data();
  for_each(device, n, [=] __device__(std::int64_t k) { number[k] = static_cast<index_t>(k); });
  return order;
}

template Array<index_t> degree_ordering(const CsrView<float>&, const Device&);
template Array<index_t> degree_ordering(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
