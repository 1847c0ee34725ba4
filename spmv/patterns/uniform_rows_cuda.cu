/// \file
/// The most frequent list on the host, and how many slices are uniform.
#include "core/cuda/reduce.cuh"
#include "spmv/patterns/uniform_rows.hpp"

#include <algorithm>
#include <vector>

namespace tessera::cuda {

using namespace detail;

namespace {

/// Slices whose rows are all on list 0. Their codes are a multiple of 64 bytes.
[[nodiscard]] double count_uniform_slices(const Device& device, const Array<std::uint8_t>& codes, int slice_codes) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(codes.data());
  const int of_slice = slice_codes / static_cast<int>(sizeof(std::uint64_t));
  return fused_sum<1>(device, codes.size() / slice_codes, [=] __device__(std::int64_t slice, double* sums) {
    std::uint64_t any = 0;
    for (int k = 0; k < of_slice; ++k) any |= __ldg(words + slice * of_slice + k);
    if (any == 0) sums[0] += 1.0;
  })[0];
}

}  // namespace

template <class T>
std::optional<FrequentList<T>> find_frequent_list(const Device& device, const RowPatterns<T>& found,
                                                  const SliceShape& shape) {
  if (found.lists == 0 || found.codes.empty()) return std::nullopt;
  std::vector<index_t> list(static_cast<std::size_t>(std::min(found.width, most_uniform_terms)) + 1);
  copy_bytes(Device{}, list.data(), device, found.table.data(), list.size() * sizeof(index_t));
  FrequentList<T> result;
  result.length = list[0];
  if (result.length < 1 || result.length > most_uniform_terms) return std::nullopt;
  for (int k = 0; k < most_uniform_terms; ++k) {
    result.columns[k] = list[static_cast<std::size_t>(std::min(k + 1, result.length))];
  }
  if (found.kind == RowListKind::columns_and_values) {
    copy_bytes(Device{}, result.values, device, found.values.data(),
               static_cast<std::size_t>(result.length) * sizeof(T));
  }
  const int slice_codes = 32 * shape.rows_per_lane;
  const double slices = static_cast<double>(found.codes.size() / slice_codes);
  if (count_uniform_slices(device, found.codes, slice_codes) < least_uniform_share * slices) return std::nullopt;
  return result;
}

template std::optional<FrequentList<float>> find_frequent_list(const Device&, const RowPatterns<float>&,
                                                               const SliceShape&);
template std::optional<FrequentList<double>> find_frequent_list(const Device&, const RowPatterns<double>&,
                                                                const SliceShape&);

}  // namespace tessera::cuda
