/// \file
/// Row lists of the multigrid cycle: found by the search of the kernel `patterns`, kept in the cycle's precision.
#include "solvers/amg/cycle_row_lists.hpp"

#include "core/cuda/reduce.cuh"
#include "solvers/amg/cycle_layout.hpp"
#include "spmv/patterns/patterns.hpp"

#include <optional>
#include <utility>

namespace tessera::cuda {

using namespace detail;

namespace {

/// The table of a matrix's lists with its values in V, and what may be read past it. \param ones whether every value is
/// 1
template <class V, class T>
[[nodiscard]] Array<AmgListEntry<V>> list_entries(const Device& device, const RowPatterns<T>& found, bool ones) {
  Array<AmgListEntry<V>> result(found.table.size() + amg_entries_in_flight, Init::zero, device);
  const int stride = found.stride();
  const index_t* const table = found.table.data();
  const T* const values = found.values.data();
  AmgListEntry<V>* const to = result.data();
  for_each(device, found.table.size(), [=] __device__(std::int64_t i) {
    const std::int64_t list = i / stride;
    const std::int64_t k = i % stride;
    V value{0};
    if (k > 0) value = ones ? V{1} : values != nullptr ? static_cast<V>(values[i - list - 1]) : V{0};
    to[i] = {table[i], value};
  });
  return result;
}

}  // namespace

template <class V, class T>
AmgRowLists<V> find_row_lists(const Csr<T>& a) {
  AmgRowLists<V> result;
  std::optional<RowPatterns<T>> found = look_for_row_patterns(a.view(), a.device());
  if (!found || !found->exceptions.empty() || found->width == 0) return result;
  result.stride = found->stride();
  result.has_values = a.is_pattern() || found->kind == RowListKind::columns_and_values;
  result.entries = list_entries<V>(a.device(), *found, a.is_pattern());
  result.codes = std::move(found->codes);
  return result;
}

template <class V, class T>
bool lists_hold(const AmgRowLists<V>& lists, const Csr<T>& a) {
  if (a.is_pattern()) return true;
  using Source = RowSource<V, true>;
  const int stride = lists.stride;
  const AmgListEntry<V>* const entries = lists.entries.data();
  const std::uint8_t* const codes = lists.codes.data();
  const offset_t* const offsets = a.row_offsets().data();
  const T* const values = a.values().data();
  const auto others = fused_sum<1>(a.device(), a.rows(), [=] __device__(std::int64_t row, double* sums) {
    const AmgListEntry<V>* const list = entries + codes[row] * stride;
    const T* const own = values + offsets[row];
    for (index_t k = 0; k < list[0].column; ++k) {
      if (Source::bits_of(static_cast<V>(own[k])) == Source::bits_of(list[1 + k].value)) continue;
      sums[0] += 1.0;
      return;
    }
  });
  return others[0] == 0.0;
}

template AmgRowLists<float> find_row_lists(const Csr<float>&);
template AmgRowLists<float> find_row_lists(const Csr<double>&);
template AmgRowLists<double> find_row_lists(const Csr<double>&);
template bool lists_hold(const AmgRowLists<float>&, const Csr<float>&);
template bool lists_hold(const AmgRowLists<float>&, const Csr<double>&);
template bool lists_hold(const AmgRowLists<double>&, const Csr<double>&);

}  // namespace tessera::cuda
