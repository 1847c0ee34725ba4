/// \file
/// Values of the rows on lists of a matrix of row patterns, on the host, in the layout of the fewest bytes that holds
/// them. Slices of 16 rows are padded to the longest list: the values of one entry of neighbouring rows follow each
/// other, so that a vector instruction takes several rows, and each row is still summed in the order of its columns.
#pragma once

#include "spmv/common/value_dictionary.hpp"
#include "spmv/patterns/row_patterns.hpp"
#include "spmv/patterns/symmetric_half.hpp"
#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::host {

/// Rows of a slice, and of one list that are summed side by side.
inline constexpr index_t slice_rows = 16;

/// Place of the first entry of a row in slices of `width` entries; the next ones are slice_rows apart.
[[nodiscard]] constexpr std::int64_t place_in_slices(std::int64_t row, int width) noexcept {
  return row / slice_rows * (std::int64_t{slice_rows} * width) + row % slice_rows;
}

/// Chosen once for a matrix; new values that a layout does not hold go to the next larger one, from which there is no
/// way back.
template <class T>
class PatternValueStore {
 public:
  /// \param found its lists and the list of each row \param exception_lengths nonzeros of each exception \param values
  /// in the order of CSR \throws OutOfMemory, whereupon products read the values in CSR
  void keep(const Device& device, const detail::RowPatterns<T>& found, std::span<const offset_t> exception_lengths,
            std::span<const T> values);
  void release() noexcept;

  /// function(values) with what a product reads; not called where it reads CSR. \returns whether it was called
  template <class Function>
  bool show(int width, Function&& function) const;

  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Bytes that a product reads of `nnz` values on lists.
  [[nodiscard]] double bytes_read(double nnz) const noexcept;
  /// Whether products are faster than by CSR: not with values of 8 bytes, nor with values in CSR.
  [[nodiscard]] bool pays() const noexcept {
    return has_codes() || has_half() || !floats_.empty() || (sizeof(T) == 4 && !values_.empty());
  }
  /// As cuda::ValueStore::describe().
  [[nodiscard]] std::string describe() const;

 private:
  struct Rows;

  [[nodiscard]] bool has_codes() const noexcept { return !codes_.empty(); }
  [[nodiscard]] bool has_half() const noexcept { return keeps_half_; }
  [[nodiscard]] bool keep_codes(const Rows& rows, std::span<const T> values);
  template <class V>
  [[nodiscard]] bool keep_half(const Rows& rows, std::span<const T> values, Array<V>& to);
  template <class V>
  void keep_slices(const Rows& rows, std::span<const T> values, Array<V>& to);

  bool may_have_codes_ = true;
  bool may_be_floats_ = sizeof(T) == 8;
  bool may_have_half_ = true;
  bool keeps_half_ = false;
  std::vector<index_t> half_places_;  ///< as HalfOffsets::places
  int half_diagonals_ = 0;
  detail::ValueDictionary<T> dictionary_;
  Array<std::uint8_t> codes_;  ///< by slices, with dictionary_
  Array<T> values_;            ///< by slices, or by diagonals of a half
  Array<float> floats_;        ///< instead of values_
};

/// Neighbouring rows of one list in a vector register of 16 bytes, which every processor of 64 bits has. Written as
/// vectors since compilers do not find them in every loop (g++ 12: not for templates in single precision).
template <class T>
struct LanesOfRows {
  static constexpr index_t count = 16 / sizeof(T);
  using Type [[gnu::vector_size(16)]] = T;
};
template <class T>
using Lanes = typename LanesOfRows<T>::Type;
template <class T>
[[nodiscard]] inline Lanes<T> load_lanes(const T* from) noexcept {
  Lanes<T> lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

/// Values of a row, entry by entry: value(r) is that of the row r places on, lanes(r) that of it and the next ones.
template <class T, class V>
struct StoredEntry {
  const V* values;
  [[nodiscard]] T value(index_t r) const noexcept { return static_cast<T>(values[r]); }
  [[nodiscard]] Lanes<T> lanes(index_t r) const noexcept {
    if constexpr (std::is_same_v<T, V>) {
      return load_lanes(values + r);
    } else {
      return Lanes<T>{static_cast<T>(values[r]), static_cast<T>(values[r + 1])};
    }
  }
};
/// value() one by one.
template <class T, class Entry>
[[nodiscard]] inline Lanes<T> gather_lanes(const Entry& entry, index_t r) noexcept {
  if constexpr (LanesOfRows<T>::count == 2) {
    return Lanes<T>{entry.value(r), entry.value(r + 1)};
  } else {
    return Lanes<T>{entry.value(r), entry.value(r + 1), entry.value(r + 2), entry.value(r + 3)};
  }
}
template <class T>
struct CodedEntry {
  const std::uint8_t* codes;
  const T* dictionary;
  [[nodiscard]] T value(index_t r) const noexcept { return dictionary[codes[r]]; }
  [[nodiscard]] Lanes<T> lanes(index_t r) const noexcept { return gather_lanes<T>(*this, r); }
};
template <class T>
struct CommonEntry {
  T common;
  [[nodiscard]] T value(index_t /*r*/) const noexcept { return common; }
  [[nodiscard]] Lanes<T> lanes(index_t /*r*/) const noexcept { return Lanes<T>{} + common; }
};

template <class T, class V>
struct SlicedValues {
  static constexpr bool in_slices = true;
  const V* values;
  int width;
  struct Row {
    const V* first;
    [[nodiscard]] StoredEntry<T, V> entry(index_t k) const noexcept { return {first + std::int64_t{k} * slice_rows}; }
  };
  [[nodiscard]] Row row(std::int64_t row, int /*list*/) const noexcept {
    return {values + place_in_slices(row, width)};
  }
};
template <class T>
struct CodedSlices {
  static constexpr bool in_slices = true;
  const std::uint8_t* codes;
  const T* dictionary;
  int width;
  struct Row {
    const std::uint8_t* first;
    const T* dictionary;
    [[nodiscard]] CodedEntry<T> entry(index_t k) const noexcept {
      return {first + std::int64_t{k} * slice_rows, dictionary};
    }
  };
  [[nodiscard]] Row row(std::int64_t row, int /*list*/) const noexcept {
    return {codes + place_in_slices(row, width), dictionary};
  }
};
template <class T, class V>
struct DiagonalValues {
  static constexpr bool in_slices = false;
  const V* values;
  const index_t* places;
  int width;
  struct Row {
    const V* own;
    const index_t* places;
    [[nodiscard]] StoredEntry<T, V> entry(index_t k) const noexcept { return {own + places[k]}; }
  };
  [[nodiscard]] Row row(std::int64_t row, int list) const noexcept {
    return {values + row, places + std::int64_t{list} * (width + 1) + 1};
  }
};
template <class T>
struct TemplateValues {
  static constexpr bool in_slices = false;
  const T* values;
  int width;
  struct Row {
    const T* values;
    [[nodiscard]] CommonEntry<T> entry(index_t k) const noexcept { return {values[k]}; }
  };
  [[nodiscard]] Row row(std::int64_t /*row*/, int list) const noexcept { return {values + std::int64_t{list} * width}; }
};
/// Of a pattern matrix: 1, by which a product does not multiply.
struct NoStoredValues {
  static constexpr bool in_slices = false;
  struct Row {};
  [[nodiscard]] Row row(std::int64_t /*row*/, int /*list*/) const noexcept { return {}; }
};

template <class T>
template <class Function>
bool PatternValueStore<T>::show(int width, Function&& function) const {
  if (has_codes()) {
    function(CodedSlices<T>{codes_.data(), dictionary_.values.data(), width});
  } else if (has_half() && !floats_.empty()) {
    function(DiagonalValues<T, float>{floats_.data(), half_places_.data(), width});
  } else if (has_half()) {
    function(DiagonalValues<T, T>{values_.data(), half_places_.data(), width});
  } else if (!floats_.empty()) {
    function(SlicedValues<T, float>{floats_.data(), width});
  } else if (!values_.empty()) {
    function(SlicedValues<T, T>{values_.data(), width});
  } else {
    return false;
  }
  return true;
}

}  // namespace tessera::host
