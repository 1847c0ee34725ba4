/// \file
/// A row of C in a dense array over its column range.
///
/// Every column of the range has a value and a flag, every 64 columns share another flag. A product costs plain
/// stores: no test whether the column was seen, no bit to be set in a word. The flags give the columns in ascending
/// order.
#pragma once

#include "spgemm/common/factors.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace tessera::host {

template <class V>
class DenseAccumulator {
 public:
  /// \param width columns of the widest row
  explicit DenseAccumulator(std::int64_t width)
      : values_(has_values<V> ? padded(width) : 0, Init::none), flags_(padded(width)), blocks_(padded(width) / 64 + 8) {
    if constexpr (has_values<V>) std::fill(values_.begin(), values_.end(), empty_value);
  }

  [[nodiscard]] static std::uint64_t bytes(std::int64_t width) noexcept {
    if (width == 0) return 0;
    const auto columns = static_cast<std::uint64_t>(padded(width));
    return columns * (has_values<V> ? sizeof(V) + 1 : 1) + columns / 64 + 8;
  }

  /// Sums a row. \returns its entries, or row_overflow, which leaves nothing behind
  offset_t accumulate(const Factors<V>& factors, const RowTask& row) noexcept {
    width_ = row.width;
    first_ = row.first_column;
    const offset_t count =
        row.products >= row.width / full_part ? accumulate_full(factors, row) : accumulate_thin(factors, row);
    if (count <= row.limit) return count;
    discard();
    return row_overflow;
  }

  /// Writes the row in ascending order of columns and forgets it. \param columns may be null: values only
  void emit(index_t* columns, [[maybe_unused]] V* values) noexcept {
    offset_t out = 0;
    for_each_block([&](std::int64_t block) {
      for (std::int64_t c = 64 * block; c < 64 * block + 64; c += 8) {
        std::uint64_t word = load_word(&flags_[c]);
        if (word == 0) continue;
        store_word(&flags_[c], 0);
        for (; word != 0; word &= word - 1) {
          const std::int64_t place = c + lowest_byte(word);
          if (columns != nullptr) columns[out] = first_ + static_cast<index_t>(place);
          if constexpr (has_values<V>) {
            values[out] = values_[place];
            values_[place] = empty_value;
          }
          ++out;
        }
      }
    });
  }

  /// Forgets the row.
  void discard() noexcept {
    for_each_block([&](std::int64_t block) {
      std::memset(&flags_[64 * block], 0, 64);
      if constexpr (has_values<V>) std::fill_n(&values_[64 * block], 64, empty_value);
    });
  }

 private:
  /// From one product in so many columns on a row is full: most blocks hold entries, and entries are counted at the
  /// end.
  static constexpr index_t full_part = 2;

  offset_t accumulate_thin(const Factors<V>& factors, const RowTask& row) noexcept {
    V* values = values_.data();
    std::uint8_t* flags = flags_.data();
    std::uint8_t* blocks = blocks_.data();
    const index_t first = first_;
    offset_t fresh = 0;
    for (offset_t k = row.begin; k < row.end; ++k) {
      factors.for_each_product(k, [&](index_t column, [[maybe_unused]] V product) {
        const auto c = static_cast<std::size_t>(column - first);
        fresh += 1 - flags[c];
        flags[c] = 1;
        blocks[c / 64] = 1;
        if constexpr (has_values<V>) values[c] += product;
      });
    }
    return fresh;
  }

  offset_t accumulate_full(const Factors<V>& factors, const RowTask& row) noexcept {
    V* values = values_.data();
    std::uint8_t* flags = flags_.data();
    const index_t first = first_;
    std::memset(blocks_.data(), 1, static_cast<std::size_t>(block_count()));
    for (offset_t k = row.begin; k < row.end; ++k) {
      if (const ContiguousColumns run = factors.contiguous_columns(k); run.length > 0) {
        const auto start = static_cast<std::size_t>(run.first - first);
        std::memset(flags + start, 1, static_cast<std::size_t>(run.length));
        if constexpr (has_values<V>) factors.add_contiguous(k, values + start);
        continue;
      }
      factors.for_each_product(k, [&](index_t column, [[maybe_unused]] V product) {
        const auto c = static_cast<std::size_t>(column - first);
        flags[c] = 1;
        if constexpr (has_values<V>) values[c] += product;
      });
    }
    return count_flags();
  }

  [[nodiscard]] offset_t count_flags() const noexcept {
    offset_t count = 0;
    for (std::int64_t c = 0; c < 64 * block_count(); c += 8) {
      // The upper byte of the product is the sum of all bytes.
      count += static_cast<offset_t>(load_word(&flags_[c]) * 0x0101010101010101U >> 56);
    }
    return count;
  }

  [[nodiscard]] std::int64_t block_count() const noexcept { return (std::int64_t{width_} + 63) / 64; }

  /// -0 + x is x for every x, -0 included; 0 + -0 would be 0.
  static constexpr V empty_value = [] {
    if constexpr (has_values<V>) return -V{0};
    return V{};
  }();

  [[nodiscard]] static constexpr std::int64_t padded(std::int64_t width) noexcept { return (width + 63) / 64 * 64; }

  [[nodiscard]] static std::uint64_t load_word(const std::uint8_t* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
  }
  static void store_word(std::uint8_t* bytes, std::uint64_t word) noexcept { std::memcpy(bytes, &word, sizeof(word)); }

  /// Position in memory of the first byte that is not 0. \param word holds bytes of 0 and 1, not all 0
  [[nodiscard]] static int lowest_byte(std::uint64_t word) noexcept {
    static_assert(std::endian::native == std::endian::little);
    return std::countr_zero(word) / 8;
  }

  /// body(block) for the blocks of the range that hold entries, ascending; clears their flags.
  template <class Body>
  void for_each_block(Body&& body) noexcept {
    const std::int64_t count = block_count();
    for (std::int64_t b = 0; b < count; b += 8) {
      std::uint64_t word = load_word(&blocks_[b]);
      if (word == 0) continue;
      store_word(&blocks_[b], 0);
      for (; word != 0; word &= word - 1) body(b + lowest_byte(word));
    }
  }

  Array<V> values_;             ///< empty_value outside the row; none for NoValue
  Array<std::uint8_t> flags_;   ///< 1 where the row has an entry
  Array<std::uint8_t> blocks_;  ///< 1 where one of 64 columns has
  index_t width_ = 0;
  index_t first_ = 0;
};

}  // namespace tessera::host
