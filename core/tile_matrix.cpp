// Bitmap tiles: ownership of their arrays and the check of their invariants.
#include "tessera/tile_matrix.hpp"

#include "core/bitmap_tile.hpp"
#include "core/parallel.hpp"

#include <fmt/format.h>

#include <atomic>
#include <limits>
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

void check_length(std::size_t length, std::int64_t needed, const char* name, const std::string& of) {
  if (length == static_cast<std::size_t>(needed)) return;
  throw InvalidMatrix(fmt::format("{} needs {} {}, got {}", of, needed, name, length));
}

/// What the sizes of the arrays tell.
template <class T>
void validate_sizes(const TileView<T>& a) {
  const std::int64_t tiles = a.tiles();
  check_length(a.tile_row_offsets.size(), std::int64_t{a.tile_rows()} + 1, "tile row offsets",
               fmt::format("{} x {} matrix in tiles", a.rows, a.cols));
  const std::string of = fmt::format("a matrix of {} tiles", tiles);
  check_length(a.bitmaps.size(), tiles, "bitmaps", of);
  check_length(a.value_offsets.size(), tiles + 1, "value offsets", of);
  check_length(a.values.size(), a.is_pattern() ? 0 : a.nnz, "values",
               fmt::format("{} matrix of {} nonzeros", a.is_pattern() ? "pattern" : "weighted", a.nnz));
}

template <class T>
void validate_shape(const TileView<T>& a) {
  checked_size(a.rows, "rows");
  checked_size(a.cols, "columns");
  validate_sizes(a);
  const auto run = [](std::span<const offset_t> offsets, offset_t end, const char* name, const char* what) {
    if (offsets.front() == 0 && offsets.back() == end) return;
    throw InvalidMatrix(fmt::format("{} must run from 0 to the {} {}, but run from {} to {}", name, end, what,
                                    offsets.front(), offsets.back()));
  };
  run(a.tile_row_offsets, a.tiles(), "tile row offsets", "tiles");
  run(a.value_offsets, a.nnz, "value offsets", "nonzeros");
}

enum class TileFault { none, offsets, column, order, empty, outside, values };

/// The first fault of a tile row.
struct FaultyTile {
  TileFault fault = TileFault::none;
  offset_t tile = 0;
};

/// Whether value_offsets[t] and the next lie in the values and are as far apart as the tile has entries.
template <class T>
bool values_fit(const TileView<T>& a, std::size_t t) noexcept {
  const offset_t begin = a.value_offsets[t];
  const offset_t end = a.value_offsets[t + 1];
  return begin >= 0 && begin <= a.nnz && end >= 0 && end <= a.nnz && end - begin == detail::count_bits(a.bitmaps[t]);
}

template <class T>
FaultyTile fault_of(const TileView<T>& a, index_t tile_row) noexcept {
  const auto row = static_cast<std::size_t>(tile_row);
  const offset_t begin = a.tile_row_offsets[row];
  const offset_t end = a.tile_row_offsets[row + 1];
  if (begin < 0 || begin > end || end > a.tiles()) return {TileFault::offsets, begin};
  const index_t rows_left = a.rows - tile_row * tile_size;
  const index_t tile_cols = a.tile_cols();
  index_t previous = -1;
  for (offset_t t = begin; t < end; ++t) {
    const auto tile = static_cast<std::size_t>(t);
    const index_t column = a.tile_columns[tile];
    const std::uint64_t bitmap = a.bitmaps[tile];
    if (column < 0 || column >= tile_cols) return {TileFault::column, t};
    if (column <= previous) return {TileFault::order, t};
    if (bitmap == 0) return {TileFault::empty, t};
    if ((bitmap & ~detail::bits_inside(rows_left, a.cols - column * tile_size)) != 0) return {TileFault::outside, t};
    if (!values_fit(a, tile)) return {TileFault::values, t};
    previous = column;
  }
  return {};
}

template <class T>
[[noreturn]] void report(const TileView<T>& a, index_t tile_row) {
  const FaultyTile found = fault_of(a, tile_row);
  if (found.fault == TileFault::offsets) {
    const auto row = static_cast<std::size_t>(tile_row);
    throw InvalidMatrix(fmt::format("tile row {}: offsets {} ... {} do not ascend within the {} tiles", tile_row,
                                    a.tile_row_offsets[row], a.tile_row_offsets[row + 1], a.tiles()));
  }
  const auto t = static_cast<std::size_t>(found.tile);
  const std::string where = fmt::format("tile row {}, tile {}: ", tile_row, t);
  switch (found.fault) {
    case TileFault::column:
      throw InvalidMatrix(fmt::format("{}tile column {} is outside [0, {})", where, a.tile_columns[t], a.tile_cols()));
    case TileFault::order:
      throw InvalidMatrix(
          fmt::format("{}tile column {} after tile column {}: tile columns must ascend without "
                      "duplicates",
                      where, a.tile_columns[t], a.tile_columns[t - 1]));
    case TileFault::empty:
      throw InvalidMatrix(where + "the bitmap is empty");
    case TileFault::outside:
      throw InvalidMatrix(fmt::format("{}the bitmap has entries outside the {} x {} matrix", where, a.rows, a.cols));
    default:
      throw InvalidMatrix(fmt::format("{}value offsets {} ... {} within {} nonzeros for the {} entries of its bitmap",
                                      where, a.value_offsets[t], a.value_offsets[t + 1], a.nnz,
                                      detail::count_bits(a.bitmaps[t])));
  }
}

/// The one offset of a matrix without tiles; never written.
Array<offset_t> one_zero() {
  static offset_t zero = 0;
  return Array<offset_t>::adopt({&zero, 1}, nullptr);
}

}  // namespace

template <class T>
void validate(const TileView<T>& matrix) {
  validate_shape(matrix);
  const index_t tile_rows = matrix.tile_rows();
  std::atomic<index_t> first_faulty{tile_rows};
  host::parallel_for(Device{}, tile_rows, [&](host::Range range) {
    auto i = static_cast<index_t>(range.begin);
    while (i < range.end && fault_of(matrix, i).fault == TileFault::none) ++i;
    if (i == range.end) return;
    index_t seen = first_faulty.load();
    while (i < seen && !first_faulty.compare_exchange_weak(seen, i)) {
    }
  });
  if (first_faulty < tile_rows) report(matrix, first_faulty);
}

template <class T>
TileMatrix<T>::TileMatrix() : tile_row_offsets_(one_zero()), value_offsets_(one_zero()) {}

template <class T>
TileMatrix<T>::TileMatrix(TileMatrix&& other) noexcept : TileMatrix() {
  *this = std::move(other);
}

template <class T>
TileMatrix<T>& TileMatrix<T>::operator=(TileMatrix&& other) noexcept {
  if (this == &other) return *this;
  rows_ = std::exchange(other.rows_, 0);
  cols_ = std::exchange(other.cols_, 0);
  nnz_ = std::exchange(other.nnz_, 0);
  storage_ = std::exchange(other.storage_, ValueStorage::weighted);
  tile_row_offsets_ = std::exchange(other.tile_row_offsets_, one_zero());
  tile_columns_ = std::move(other.tile_columns_);
  bitmaps_ = std::move(other.bitmaps_);
  value_offsets_ = std::exchange(other.value_offsets_, one_zero());
  values_ = std::move(other.values_);
  return *this;
}

template <class T>
TileMatrix<T>::TileMatrix(std::int64_t rows, std::int64_t cols, ValueStorage storage, Array<offset_t> tile_row_offsets,
                          Array<index_t> tile_columns, Array<std::uint64_t> bitmaps, Array<offset_t> value_offsets,
                          Array<T> values, Check check)
    : rows_(checked_size(rows, "rows")),
      cols_(checked_size(cols, "columns")),
      nnz_(values.size()),
      storage_(storage),
      tile_row_offsets_(std::move(tile_row_offsets)),
      tile_columns_(std::move(tile_columns)),
      bitmaps_(std::move(bitmaps)),
      value_offsets_(std::move(value_offsets)),
      values_(std::move(values)) {
  if (is_pattern() && !value_offsets_.empty()) {
    detail::copy_bytes(Device{}, &nnz_, value_offsets_.device(), value_offsets_.data() + value_offsets_.size() - 1,
                       sizeof(nnz_));
  }
  if (!device().is_host()) {
    validate_sizes(view());
    if (check == Check::full) validate(to(Device{}).view());
  } else if (check == Check::full) {
    validate(view());
  } else {
    validate_shape(view());
  }
}

template <class T>
TileMatrix<T> TileMatrix<T>::to(const Device& target) const {
  return TileMatrix(rows_, cols_, storage_, tile_row_offsets_.to(target), tile_columns_.to(target), bitmaps_.to(target),
                    value_offsets_.to(target), values_.to(target), Check::trusted);
}

template class TileMatrix<float>;
template class TileMatrix<double>;
template void validate<float>(const TileView<float>&);
template void validate<double>(const TileView<double>&);

}  // namespace tessera
