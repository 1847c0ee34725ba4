/// \file
/// One product on the threads of the host: what all of its passes share.
#pragma once

#include "core/parallel.hpp"
#include "preprocess/merge_search.hpp"
#include "spgemm/accumulate/row_workspace.hpp"
#include "spgemm/analysis/analysis.hpp"
#include "spgemm/budget.hpp"
#include "tessera/spgemm.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace tessera::host {

/// Factors, analysis, budget and choice of accumulators of a product.
template <class T>
struct ProductJob {
  CsrView<T> a;
  CsrView<T> b;
  Device device;
  SpgemmBudget budget;
  ProductAnalysis analysis;
  AccumulatorPolicy policy;
  WorkspaceSizes sizes;
  int workers = 1;

  [[nodiscard]] std::int64_t rows() const noexcept { return a.rows; }
  [[nodiscard]] RowTask task(std::int64_t i) const noexcept { return analysis.task(a.row_offsets.data(), i); }
};

/// Rows below this many products and rows are done by one thread.
inline constexpr std::int64_t serial_products = 4096;

/// body(worker, Range of rows) over blocks with nearly equal numbers of products, handed out in order. Each worker is
/// one thread at a time. body must not throw.
template <class T, class Body>
void for_product_blocks(const ProductJob<T>& job, Body&& body) {
  const offset_t* products = job.analysis.products.data();
  const offset_t total = job.analysis.total();
  const offset_t length = total + job.rows();
  if (job.workers == 1 || length < serial_products) {
    body(0, Range{0, job.rows()});
    return;
  }
  const std::int64_t blocks = std::min<std::int64_t>(std::int64_t{64} * job.workers, 1 + length / 1024);
  const auto row_at = [&](std::int64_t block) -> std::int64_t {
    if (block == blocks) return job.rows();
    // length * block may overflow; the path needs no exact parts.
    const offset_t diagonal = length / blocks * block;
    return merge_search(products, job.a.rows, total, diagonal).y;
  };
  std::atomic<std::int64_t> next{0};
  parallel_tasks(job.device, job.workers, [&](std::int64_t worker) {
    for (std::int64_t block = next.fetch_add(1); block < blocks; block = next.fetch_add(1)) {
      const Range range{row_at(block), row_at(block + 1)};
      if (range.size() > 0) body(static_cast<std::size_t>(worker), range);
    }
  });
}

/// A workspace for every worker, made before the threads start, so that nothing fails inside them.
template <class V>
[[nodiscard]] std::vector<RowWorkspace<V>> make_workspaces(const WorkspaceSizes& sizes, int workers) {
  std::vector<RowWorkspace<V>> workspaces;
  workspaces.reserve(static_cast<std::size_t>(workers));
  for (int w = 0; w < workers; ++w) workspaces.emplace_back(sizes);
  return workspaces;
}

}  // namespace tessera::host
