/// \file
/// Symmetric permutation P A Pᵀ.
#include "core/parallel.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/ordering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

namespace {

/// position[order[k]] = k. \throws InvalidArgument
std::vector<index_t> inverse_of(std::span<const index_t> order) {
  constexpr index_t none = -1;
  std::vector<index_t> position(order.size(), none);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const bool is_row = order[k] >= 0 && static_cast<std::size_t>(order[k]) < order.size();
    if (!is_row || position[static_cast<std::size_t>(order[k])] != none) {
      throw InvalidArgument(fmt::format("not a permutation of 0 to {}: {} at position {} {}", order.size() - 1,
                                        order[k], k, is_row ? "occurs twice" : "is out of range"));
    }
    position[static_cast<std::size_t>(order[k])] = static_cast<index_t>(k);
  }
  return position;
}

/// Writes a row of the result from the row `row` of the matrix.
template <class T>
class RowWriter {
 public:
  RowWriter(const CsrView<T>& from, std::span<const index_t> position) : from_(from), position_(position) {}

  void write(std::size_t row, index_t* columns, T* values) {
    entries_.clear();
    for (auto k = static_cast<std::size_t>(from_.row_offsets[row]);
         k < static_cast<std::size_t>(from_.row_offsets[row + 1]); ++k) {
      entries_.emplace_back(position_[static_cast<std::size_t>(from_.columns[k])], k);
    }
    std::sort(entries_.begin(), entries_.end());
    for (const auto& [column, k] : entries_) {
      *columns++ = column;
      if (!from_.is_pattern()) *values++ = from_.values[k];
    }
  }

 private:
  const CsrView<T>& from_;
  std::span<const index_t> position_;
  std::vector<std::pair<index_t, std::size_t>> entries_;
};

}  // namespace

template <class T>
Csr<T> permuted(const CsrView<T>& matrix, std::span<const index_t> order) {
  if (!matrix.is_square() || order.size() != static_cast<std::size_t>(matrix.rows)) {
    throw DimensionError(fmt::format("P A P' needs a square matrix and as many numbers as rows, got {} x {} and {}",
                                     matrix.rows, matrix.cols, order.size()));
  }
  const std::vector<index_t> position = inverse_of(order);
  Array<offset_t> offsets(std::int64_t{matrix.rows} + 1, Init::none);
  offsets.data()[0] = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto row = static_cast<std::size_t>(order[k]);
    offsets.data()[k + 1] = offsets.data()[k] + matrix.row_offsets[row + 1] - matrix.row_offsets[row];
  }
  Array<index_t> columns(matrix.nnz(), Init::none);
  Array<T> values(matrix.is_pattern() ? 0 : matrix.nnz(), Init::none);
  host::parallel_for(Device{}, matrix.rows, [&](host::Range rows) {
    RowWriter<T> writer(matrix, position);
    for (auto k = static_cast<std::size_t>(rows.begin); k < static_cast<std::size_t>(rows.end); ++k) {
      const offset_t begin = offsets.data()[k];
      writer.write(static_cast<std::size_t>(order[k]), columns.data() + begin, values.data() + begin);
    }
  });
  if (matrix.is_pattern()) {
    return Csr<T>::pattern(matrix.rows, matrix.cols, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(matrix.rows, matrix.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> permuted(const CsrView<float>&, std::span<const index_t>);
template Csr<double> permuted(const CsrView<double>&, std::span<const index_t>);

}  // namespace tessera
