/// \file
/// The pattern of A + Aᵀ: rows of A merged with those of its transpose.
#include "preprocess/symmetric_pattern.hpp"

#include "core/interruption.hpp"
#include "preprocess/transpose_map.hpp"

namespace tessera::detail {

namespace {

/// visit(j) for the columns in either ascending list but v, ascending.
template <class Visit>
void for_each_of_union(std::span<const index_t> a, std::span<const index_t> b, index_t v, Visit&& visit) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    const index_t next = j == b.end() || (i != a.end() && *i < *j) ? *i : *j;
    if (i != a.end() && *i == next) ++i;
    if (j != b.end() && *j == next) ++j;
    if (next != v) visit(next);
  }
}

[[nodiscard]] std::span<const index_t> row_of(const offset_t* offsets, const index_t* columns, std::int64_t i) {
  return {columns + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
}

}  // namespace

template <class T>
SymmetricPattern::SymmetricPattern(const CsrView<T>& matrix) : offsets_(std::int64_t{matrix.rows} + 1) {
  Array<offset_t> mirrored_offsets(std::int64_t{matrix.cols} + 1, Init::none);
  Array<index_t> mirrored(matrix.nnz(), Init::none);
  host::transpose_into(matrix, Device::host(1),
                       TransposeOutput<T>{.row_offsets = mirrored_offsets.data(), .columns = mirrored.data()});
  const auto for_each_neighbour = [&](index_t v, auto&& visit) {
    for_each_of_union(row_of(matrix.row_offsets.data(), matrix.columns.data(), v),
                      row_of(mirrored_offsets.data(), mirrored.data(), v), v, visit);
  };
  for (index_t v = 0; v < matrix.rows; ++v) {
    offset_t degree = 0;
    for_each_neighbour(v, [&](index_t /*neighbour*/) { ++degree; });
    offsets_[std::int64_t{v} + 1] = offsets_[v] + degree;
    interruption_point(2 * degree);
  }
  neighbours_ = Array<index_t>(offsets_[matrix.rows], Init::none);
  index_t* next = neighbours_.data();
  for (index_t v = 0; v < matrix.rows; ++v) {
    for_each_neighbour(v, [&](index_t neighbour) { *next++ = neighbour; });
  }
}

template SymmetricPattern::SymmetricPattern(const CsrView<float>&);
template SymmetricPattern::SymmetricPattern(const CsrView<double>&);

}  // namespace tessera::detail
