#include "spgemm/host/analysis.hpp"

#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"

#include <limits>

namespace tessera::host {

namespace {

/// Row i of C: its number of products goes to products[i + 1].
template <class T>
void analyse_row(const CsrView<T>& a, const CsrView<T>& b, std::int64_t i, ProductAnalysis& analysis) {
  const auto row = static_cast<std::size_t>(i);
  offset_t products = 0;
  index_t first = std::numeric_limits<index_t>::max();
  index_t last = -1;
  for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
    const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
    const offset_t begin = b.row_offsets[j];
    const offset_t end = b.row_offsets[j + 1];
    if (begin == end) continue;
    // At most 2^31 entries of A and as many in each row of B: below 2^62.
    products += end - begin;
    first = std::min(first, b.columns[static_cast<std::size_t>(begin)]);
    last = std::max(last, b.columns[static_cast<std::size_t>(end - 1)]);
  }
  analysis.products[i + 1] = products;
  analysis.first_columns[i] = products == 0 ? 0 : first;
  analysis.widths[i] = products == 0 ? 0 : last - first + 1;
}

}  // namespace

template <class T>
ProductAnalysis analyse_product(const CsrView<T>& a, const CsrView<T>& b, const Device& device) {
  ProductAnalysis analysis{Array<offset_t>(std::int64_t{a.rows} + 1, Init::none), Array<index_t>(a.rows, Init::none),
                           Array<index_t>(a.rows, Init::none)};
  const offset_t length = path_length(a.rows, a.nnz());
  const std::int64_t parts = length < serial_threshold() ? 1 : std::int64_t{16} * device.threads();
  const auto row_at = [&](std::int64_t part) {
    return merge_search(a.row_offsets.data(), a.rows, a.nnz(), part_of(length, parts, part).begin).y;
  };
  parallel_tasks(device, parts, [&](std::int64_t part) {
    const index_t end = part + 1 == parts ? a.rows : row_at(part + 1);
    for (index_t i = row_at(part); i < end; ++i) analyse_row(a, b, i, analysis);
  });
  analysis.products[0] = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    analysis.bound_total += std::min<offset_t>(analysis.products[i + 1], analysis.widths[i]);
    analysis.products[i + 1] = checked_add(analysis.products[i], analysis.products[i + 1], "products of A B");
  }
  return analysis;
}

template ProductAnalysis analyse_product(const CsrView<float>&, const CsrView<float>&, const Device&);
template ProductAnalysis analyse_product(const CsrView<double>&, const CsrView<double>&, const Device&);

}  // namespace tessera::host
