#include "bench/spgemm_interpolation.hpp"

#include "tessera/spgemm.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

constexpr index_t none = -1;

/// Aggregate of every point, and how many there are.
struct Aggregates {
  std::vector<index_t> of;
  index_t count = 0;
};

std::span<const index_t> neighbours(const Csr<double>& a, std::size_t i) {
  const auto row = static_cast<std::int64_t>(i);
  return a.view().columns.subspan(static_cast<std::size_t>(a.row_offsets()[row]),
                                  static_cast<std::size_t>(a.row_offsets()[row + 1] - a.row_offsets()[row]));
}

Aggregates aggregate(const Csr<double>& a) {
  Aggregates result;
  result.of.assign(static_cast<std::size_t>(a.rows()), none);
  const auto of = [&](index_t j) -> index_t& { return result.of[static_cast<std::size_t>(j)]; };
  for (std::size_t i = 0; i < result.of.size(); ++i) {
    const auto near = neighbours(a, i);
    // A neighbour in an aggregate is a root or next to one.
    if (std::any_of(near.begin(), near.end(), [&](index_t j) { return of(j) != none; })) continue;
    for (const index_t j : near) of(j) = result.count;
    ++result.count;
  }
  const std::vector<index_t> by_roots = result.of;
  for (std::size_t i = 0; i < result.of.size(); ++i) {
    if (by_roots[i] != none) continue;
    for (const index_t j : neighbours(a, i)) {
      if (result.of[i] == none) result.of[i] = by_roots[static_cast<std::size_t>(j)];
    }
  }
  return result;
}

/// Ones, an entry a row.
Csr<double> tentative(const Aggregates& aggregates) {
  const auto rows = static_cast<std::int64_t>(aggregates.of.size());
  Array<offset_t> offsets(rows + 1);
  Array<double> ones(rows, Init::none);
  for (std::int64_t i = 0; i < rows; ++i) offsets[i + 1] = i + 1;
  std::fill(ones.begin(), ones.end(), 1.0);
  return {rows, aggregates.count, std::move(offsets), Array<index_t>::copy_of(aggregates.of), std::move(ones)};
}

double diagonal(const Csr<double>& a, std::int64_t i) {
  for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
    if (a.columns()[k] == i) return a.values()[k];
  }
  return 0.0;
}

}  // namespace

Csr<double> smoothed_interpolation(const Csr<double>& a) {
  const Aggregates aggregates = aggregate(a);
  Csr<double> p = spgemm(a, tentative(aggregates)).matrix;
  Array<double> values(p.nnz(), Init::none);
  for (std::int64_t i = 0; i < p.rows(); ++i) {
    const double scale = 2.0 / 3.0 / diagonal(a, i);
    const index_t own = aggregates.of[static_cast<std::size_t>(i)];
    for (offset_t k = p.row_offsets()[i]; k < p.row_offsets()[i + 1]; ++k) {
      values[k] = (p.columns()[k] == own ? 1.0 : 0.0) - scale * p.values()[k];
    }
  }
  return {p.rows(), p.cols(), p.row_offsets().to(Device{}), p.columns().to(Device{}), std::move(values)};
}

}  // namespace tessera::bench
