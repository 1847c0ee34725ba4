/// \file
/// Other values and another order for the matrices of the benchmarks.
#include "bench/zoo.hpp"
#include "core/parallel.hpp"
#include "tessera/ordering.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera::bench {

namespace {

/// A number drawn by a pair of indices, in either order (Stafford's variant 13 of the finaliser of MurmurHash3).
std::uint64_t draw(index_t i, index_t j) {
  const auto [low, high] = std::minmax(i, j);
  std::uint64_t h = static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint64_t>(high);
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
  return h ^ h >> 31;
}

/// \param old of the family
double value_at(const std::string& values, index_t i, index_t j, double old) {
  if (values == "ones") return 1.0;
  if (values == "few") return static_cast<double>(1 + draw(i, j) % 200) / 64.0;
  if (values == "float") return static_cast<double>(static_cast<float>(old));
  // Both orders of a pair draw the same: the row is mixed in again.
  const std::uint64_t random = values == "any" ? draw(i, static_cast<index_t>(draw(i, j) >> 40)) : draw(i, j);
  return static_cast<double>(random >> 11 | 1) * 0x1p-53;
}

}  // namespace

Csr<double> with_zoo_values(const Csr<double>& matrix, const std::string& values) {
  constexpr std::array known{"any", "few", "float", "ones", "symmetric"};
  if (std::find(known.begin(), known.end(), values) == known.end())
    throw std::runtime_error("unknown values " + values);
  Array<double> changed(matrix.nnz(), Init::none);
  host::parallel_for(Device{}, matrix.rows(), [&](host::Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (offset_t k = matrix.row_offsets()[row]; k < matrix.row_offsets()[row + 1]; ++k) {
        changed[k] = value_at(values, static_cast<index_t>(row), matrix.columns()[k], matrix.values()[k]);
      }
    }
  });
  return Csr<double>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                     std::move(changed), Check::trusted);
}

Csr<double> in_rcm_order(const Csr<double>& matrix) {
  const std::vector<index_t> old_of = ordering(matrix.view(), Ordering::rcm);
  std::vector<index_t> new_of(old_of.size());
  for (std::size_t k = 0; k < old_of.size(); ++k) {
    new_of[static_cast<std::size_t>(old_of[k])] = static_cast<index_t>(k);
  }
  Array<offset_t> offsets(std::int64_t{matrix.rows()} + 1);
  for (index_t row = 0; row < matrix.rows(); ++row) {
    const index_t old = old_of[static_cast<std::size_t>(row)];
    offsets[row + 1] = offsets[row] + matrix.row_offsets()[old + 1] - matrix.row_offsets()[old];
  }
  Array<index_t> columns(matrix.nnz(), Init::none);
  Array<double> values(matrix.nnz(), Init::none);
  host::parallel_for(Device{}, matrix.rows(), [&](host::Range rows) {
    std::vector<std::pair<index_t, double>> entries;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const index_t old = old_of[static_cast<std::size_t>(row)];
      entries.clear();
      for (offset_t k = matrix.row_offsets()[old]; k < matrix.row_offsets()[old + 1]; ++k) {
        entries.emplace_back(new_of[static_cast<std::size_t>(matrix.columns()[k])], matrix.values()[k]);
      }
      std::sort(entries.begin(), entries.end());
      offset_t to = offsets[row];
      for (const auto& [column, value] : entries) {
        columns[to] = column;
        values[to++] = value;
      }
    }
  });
  return Csr<double>(matrix.rows(), matrix.cols(), std::move(offsets), std::move(columns), std::move(values),
                     Check::trusted);
}

}  // namespace tessera::bench
