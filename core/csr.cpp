#include "tessera/csr.hpp"

#include "core/parallel.hpp"
#include "core/structure_passes.hpp"
#include "core/value_passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace tessera {

namespace {

constexpr std::int64_t max_index = std::numeric_limits<index_t>::max();

index_t checked_size(std::int64_t size, const char* name) {
  if (size < 0 || size > max_index) {
    throw InvalidMatrix(fmt::format("number of {} must be in [0, {}], got {}", name, max_index, size));
  }
  return static_cast<index_t>(size);
}

/// Of the 0 x 0 matrix. Never destroyed: static matrices may be moved at exit.
const std::shared_ptr<const detail::CsrStructure>& no_structure() noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): a process without so little memory ends.
  static const auto& structure = *new std::shared_ptr<const detail::CsrStructure>(
      std::make_shared<const detail::CsrStructure>(detail::CsrStructure{Array<offset_t>(1), Array<index_t>{}}));
  return structure;
}

template <class T>
void validate_sizes(const CsrView<T>& a) {
  checked_size(a.rows, "rows");
  checked_size(a.cols, "columns");
  if (a.row_offsets.size() != static_cast<std::size_t>(a.rows) + 1) {
    throw InvalidMatrix(fmt::format("{} x {} matrix needs {} row offsets, got {}", a.rows, a.cols,
                                    static_cast<std::int64_t>(a.rows) + 1, a.row_offsets.size()));
  }
  const std::size_t expected_values = a.is_pattern() ? 0 : a.columns.size();
  if (a.values.size() != expected_values) {
    throw InvalidMatrix(fmt::format("{} matrix with {} columns entries needs {} values, got {}",
                                    a.is_pattern() ? "pattern" : "weighted", a.columns.size(), expected_values,
                                    a.values.size()));
  }
}

template <class T>
void validate_shape(const CsrView<T>& a) {
  validate_sizes(a);
  if (a.row_offsets.front() != 0 || a.row_offsets.back() != a.nnz()) {
    throw InvalidMatrix(fmt::format("row offsets must run from 0 to the {} nonzeros, but run from {} to {}", a.nnz(),
                                    a.row_offsets.front(), a.row_offsets.back()));
  }
}

/// Whether row i is sound, given that 0 <= row_offsets[i] <= nnz.
template <class T>
bool row_is_valid(const CsrView<T>& a, index_t i) noexcept {
  const offset_t begin = a.row_offsets[static_cast<std::size_t>(i)];
  const offset_t end = a.row_offsets[static_cast<std::size_t>(i) + 1];
  if (begin < 0 || begin > end || end > a.nnz()) return false;
  std::int64_t previous = -1;
  for (offset_t k = begin; k < end; ++k) {
    const index_t column = a.columns[static_cast<std::size_t>(k)];
    if (column <= previous || column >= a.cols) return false;
    previous = column;
  }
  return true;
}

/// Whether rows [begin, end) are sound, without a branch per nonzero: columns may descend only at the begin of a row,
/// so descents anywhere and descents at row begins are counted and compared.
template <class T>
bool rows_are_valid(const CsrView<T>& a, std::int64_t begin, std::int64_t end) noexcept {
  const offset_t* offsets = a.row_offsets.data();
  const offset_t first = offsets[begin];
  const offset_t last = offsets[end];
  bool descends = first < 0 || last > a.nnz();
  for (std::int64_t i = begin; i < end; ++i) descends |= offsets[i] > offsets[i + 1];
  if (descends) return false;
  const index_t* columns = a.columns.data();
  const auto cols = static_cast<std::uint32_t>(a.cols);
  bool outside = first < last && static_cast<std::uint32_t>(columns[first]) >= cols;
  offset_t steps_back = 0;
  for (offset_t k = first + 1; k < last; ++k) {
    outside |= static_cast<std::uint32_t>(columns[k]) >= cols;
    steps_back += columns[k] <= columns[k - 1] ? 1 : 0;
  }
  for (std::int64_t i = begin + 1; i < end; ++i) {
    const offset_t k = offsets[i];
    if (first < k && k < offsets[i + 1]) steps_back -= columns[k] <= columns[k - 1] ? 1 : 0;
  }
  return !outside && steps_back == 0;
}

/// Throws the fault of a row that row_is_valid() rejected.
template <class T>
[[noreturn]] void report_invalid_row(const CsrView<T>& a, index_t i) {
  const offset_t begin = a.row_offsets[static_cast<std::size_t>(i)];
  const offset_t end = a.row_offsets[static_cast<std::size_t>(i) + 1];
  if (begin < 0 || begin > end || end > a.nnz()) {
    throw InvalidMatrix(
        fmt::format("row {}: offsets {} ... {} do not ascend within the {} nonzeros", i, begin, end, a.nnz()));
  }
  std::int64_t previous = -1;
  for (offset_t k = begin; k < end; ++k) {
    const index_t column = a.columns[static_cast<std::size_t>(k)];
    if (column < 0 || column >= a.cols) {
      throw InvalidMatrix(fmt::format("row {}, nonzero {}: column {} is outside [0, {})", i, k, column, a.cols));
    }
    if (column <= previous) {
      throw InvalidMatrix(
          fmt::format("row {}, nonzero {}: column {} after column {}: columns must ascend without "
                      "duplicates",
                      i, k, column, previous));
    }
    previous = column;
  }
  throw InvalidMatrix(fmt::format("row {} is invalid", i));
}

}  // namespace

template <class T>
void validate(const CsrView<T>& matrix) {
  validate_shape(matrix);
  std::atomic<index_t> first_invalid{matrix.rows};
  host::parallel_for(Device{}, matrix.rows, [&](host::Range range) {
    constexpr std::int64_t block = 512;
    for (std::int64_t begin = range.begin; begin < range.end; begin += block) {
      const std::int64_t end = std::min(begin + block, range.end);
      if (rows_are_valid(matrix, begin, end)) continue;
      std::int64_t i = begin;
      while (row_is_valid(matrix, static_cast<index_t>(i))) ++i;
      index_t seen = first_invalid.load();
      while (i < seen && !first_invalid.compare_exchange_weak(seen, static_cast<index_t>(i))) {
      }
      return;
    }
  });
  if (first_invalid < matrix.rows) report_invalid_row(matrix, first_invalid);
}

namespace detail {

void check_values(offset_t nnz, const Device& device, std::int64_t values, const Device& values_device) {
  if (values != nnz) {
    throw InvalidMatrix(fmt::format("a matrix of {} nonzeros needs as many values, got {}", nnz, values));
  }
  if (values > 0 && !(values_device == device)) {
    throw InvalidArgument(
        fmt::format("the values lie on {}, the structure of the matrix on {}", values_device.name(), device.name()));
  }
}

}  // namespace detail

template <class T>
Csr<T>::Csr() : structure_(no_structure()) {}

template <class T>
Csr<T>::Csr(Csr&& other) noexcept
    : rows_(std::exchange(other.rows_, 0)),
      cols_(std::exchange(other.cols_, 0)),
      storage_(std::exchange(other.storage_, ValueStorage::weighted)),
      structure_(std::exchange(other.structure_, no_structure())),
      values_(std::move(other.values_)) {}

template <class T>
Csr<T>& Csr<T>::operator=(Csr&& other) noexcept {
  if (this == &other) return *this;
  rows_ = std::exchange(other.rows_, 0);
  cols_ = std::exchange(other.cols_, 0);
  storage_ = std::exchange(other.storage_, ValueStorage::weighted);
  structure_ = std::exchange(other.structure_, no_structure());
  values_ = std::move(other.values_);
  return *this;
}

template <class T>
Csr<T>::Csr(std::int64_t rows, std::int64_t cols, ValueStorage storage, Array<offset_t> row_offsets,
            Array<index_t> columns, Array<T> values, Check check)
    : rows_(checked_size(rows, "rows")),
      cols_(checked_size(cols, "columns")),
      storage_(storage),
      structure_(std::make_shared<const detail::CsrStructure>(
          detail::CsrStructure{std::move(row_offsets), std::move(columns)})),
      values_(std::move(values)) {
  if (!device().is_host()) {
    validate_sizes(view());
    // The host finds the words for what is wrong.
    if (check == Check::full && !detail::structure_is_sound(device(), view())) {
      validate(structure().to(Device{}).view());
    }
  } else if (check == Check::full) {
    validate(view());
  } else {
    validate_shape(view());
  }
}

template <class T>
Csr<T>::Csr(std::int64_t rows, std::int64_t cols, Array<offset_t> row_offsets, Array<index_t> columns, Array<T> values,
            Check check)
    : Csr(rows, cols, ValueStorage::weighted, std::move(row_offsets), std::move(columns), std::move(values), check) {}

template <class T>
Csr<T> Csr<T>::pattern(std::int64_t rows, std::int64_t cols, Array<offset_t> row_offsets, Array<index_t> columns,
                       Check check) {
  return Csr(rows, cols, ValueStorage::pattern, std::move(row_offsets), std::move(columns), Array<T>{}, check);
}

template <class T>
Csr<T> Csr<T>::copy_of(const CsrView<T>& matrix) {
  return Csr(matrix.rows, matrix.cols, matrix.storage, Array<offset_t>::copy_of(matrix.row_offsets),
             Array<index_t>::copy_of(matrix.columns), Array<T>::copy_of(matrix.values), Check::full);
}

template <class T>
Csr<T> Csr<T>::to(const Device& target) const {
  auto structure = std::make_shared<const detail::CsrStructure>(
      detail::CsrStructure{row_offsets().to(target), columns().to(target)});
  return Csr(rows_, cols_, storage_, std::move(structure), values_.to(target));
}

template <class T>
Csr<T> Csr<T>::structure() const {
  return Csr(rows_, cols_, ValueStorage::pattern, structure_, Array<T>{});
}

template <class T>
template <class U>
Csr<U> Csr<T>::with_value_type() const {
  Array<U> values(values_.size(), Init::none, device());
  detail::convert_values(device(), values_.span(), values.span());
  return Csr<U>(rows_, cols_, storage_, structure_, std::move(values));
}

template class Csr<float>;
template class Csr<double>;
template Csr<float> Csr<float>::with_value_type<float>() const;
template Csr<double> Csr<float>::with_value_type<double>() const;
template Csr<float> Csr<double>::with_value_type<float>() const;
template Csr<double> Csr<double>::with_value_type<double>() const;
template void validate<float>(const CsrView<float>&);
template void validate<double>(const CsrView<double>&);

}  // namespace tessera
