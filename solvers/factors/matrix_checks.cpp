/// Checks of a matrix before it is factorized.
#include "solvers/factors/matrix_checks.hpp"

#include "core/csr_pointers.hpp"
#include "core/parallel.hpp"
#include "core/sums.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera::detail {

namespace {

/// The entries after the diagonal of every row are met in the order of their columns when the rows below are read.
template <class T>
class MirrorWalk {
 public:
  MirrorWalk(const CsrView<T>& a, std::string_view who)
      : a_(&a), who_(who), next_(a.row_offsets.begin(), a.row_offsets.end()) {}

  void read_row(index_t i) {
    offset_t k = begin(i);
    for (; k < end(i) && column(k) < i; ++k) meet(i, k);
    if (k < end(i) && column(k) == i) ++k;
    next_[static_cast<std::size_t>(i)] = k;
  }
  /// After the last row.
  void require_all_met(index_t i) const {
    if (next_[static_cast<std::size_t>(i)] < end(i)) refuse_missing(i, next_[static_cast<std::size_t>(i)]);
  }

 private:
  /// Entry k, (i, j) with j < i, and its mirror image.
  void meet(index_t i, offset_t k) {
    const index_t j = column(k);
    offset_t& mirror = next_[static_cast<std::size_t>(j)];
    if (mirror >= end(j) || column(mirror) > i) refuse_missing(i, k);
    if (column(mirror) < i) refuse_missing(j, mirror);
    if (a_->value(mirror) != a_->value(k)) {
      throw InvalidMatrix(fmt::format("{} a symmetric matrix: entry ({}, {}) is {}, but entry ({}, {}) is {}", who_,
                                      i + 1, j + 1, a_->value(k), j + 1, i + 1, a_->value(mirror)));
    }
    ++mirror;
  }
  [[noreturn]] void refuse_missing(index_t i, offset_t k) const {
    throw InvalidMatrix(fmt::format("{} a symmetric matrix: entry ({}, {}) is {}, but entry ({}, {}) is not stored",
                                    who_, i + 1, column(k) + 1, a_->value(k), column(k) + 1, i + 1));
  }
  [[nodiscard]] offset_t begin(index_t i) const { return a_->row_offsets[static_cast<std::size_t>(i)]; }
  [[nodiscard]] offset_t end(index_t i) const { return a_->row_offsets[static_cast<std::size_t>(i) + 1]; }
  [[nodiscard]] index_t column(offset_t k) const { return a_->columns[static_cast<std::size_t>(k)]; }

  const CsrView<T>* a_;
  std::string_view who_;
  std::vector<offset_t> next_;  ///< by row: its first entry right of the diagonal that was not met
};

template <class T>
bool is_finite_row(const CsrView<T>& a, std::int64_t i) {
  const offset_t end = a.row_offsets[static_cast<std::size_t>(i) + 1];
  for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < end; ++k) {
    if (!std::isfinite(a.values[static_cast<std::size_t>(k)])) return false;
  }
  return true;
}

}  // namespace

template <class T>
void require_finite_values(const CsrView<T>& matrix, const Device& device, std::string_view who) {
  if (matrix.is_pattern()) return;
  const std::int64_t row = host::parallel_sum<FirstIndex>(device, matrix.rows, [&](host::Range rows) {
                             for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                               if (!is_finite_row(matrix, i)) return FirstIndex{i};
                             }
                             return FirstIndex{};
                           }).index;
  if (row < 0) return;
  throw InvalidMatrix(fmt::format("{} finite values: row {} holds NaN or infinity", who, row + 1));
}

template <class T>
void require_symmetric(const CsrView<T>& matrix, std::string_view who) {
  MirrorWalk<T> walk(matrix, who);
  for (index_t i = 0; i < matrix.rows; ++i) walk.read_row(i);
  for (index_t i = 0; i < matrix.rows; ++i) walk.require_all_met(i);
}

template <class T>
void require_positive_diagonal(const CsrView<T>& matrix, std::string_view who) {
  const CsrPointers<T> a = pointers_of(matrix);
  for (index_t i = 0; i < matrix.rows; ++i) {
    const offset_t k = diagonal_position(a, i);
    if (k >= 0 && value_at(a, k) > T{0}) continue;
    const std::string found = k < 0 ? "has no diagonal entry" : fmt::format("holds {}", value_at(a, k));
    throw InvalidMatrix(fmt::format("{} a positive diagonal: row {} {}", who, i + 1, found));
  }
}

template void require_finite_values(const CsrView<float>&, const Device&, std::string_view);
template void require_finite_values(const CsrView<double>&, const Device&, std::string_view);
template void require_symmetric(const CsrView<float>&, std::string_view);
template void require_symmetric(const CsrView<double>&, std::string_view);
template void require_positive_diagonal(const CsrView<float>&, std::string_view);
template void require_positive_diagonal(const CsrView<double>&, std::string_view);

}  // namespace tessera::detail
